/* Requests SO_REUSEPORT in each way that this machine has, and prints one answer a line: 0, or the error number. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *what, long result) {
  printf("%s %ld\n", what, result < 0 ? -result : result);
}

static long ask(int socket, int level, int option) {
  return setsockopt(socket, level, option, &(int){1}, sizeof(int)) == 0 ? 0 : errno;
}

#ifdef __x86_64__
/* A system call of i386 with arguments that fit into 32 bits. */
static long call_i386(long number, long first, long second, long third) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third), "S"(0L), "D"(0L) : "r8", "r9", "r10", "r11", "memory");
  return (int)result;
}
#endif

int main(void) {
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  say("SO_REUSEADDR", ask(line, SOL_SOCKET, SO_REUSEADDR));
  say("TCP_KEEPCNT", ask(line, IPPROTO_TCP, TCP_KEEPCNT));
  say("SO_REUSEPORT", ask(line, SOL_SOCKET, SO_REUSEPORT));
  say("io_uring", syscall(425, 0, NULL) == 0 ? 0 : errno);
#ifdef __x86_64__
  say("x32", syscall(0x40000000 + 541, line, SOL_SOCKET, SO_REUSEPORT, NULL, 0) == 0 ? 0 : errno);
  say("i386 setsockopt", call_i386(366, line, SOL_SOCKET, SO_REUSEPORT));
  say("i386 socketcall", call_i386(102, 14, 0, 0));
#endif
}
