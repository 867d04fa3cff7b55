/*
 * The filters of system calls (Linux, Documentation/userspace-api/seccomp_filter.rst) that keep a program from the network, or
 * from the ports of other programs. They hold in every ABI, because a program can use another one than its own.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The numbers of arch/x86/entry/syscalls/syscall_32.tbl and arch/arm64/tools/syscall_32.tbl, and of include/uapi/linux/net.h. */
enum { io_uring_setup = 425, x32_bit = 0x40000000, i386_socketcall = 102, i386_setsockopt = 366, arm_setsockopt = 294,
  socketcall_setsockopt = 14 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP(relation, value, where, otherwise) BPF_JUMP(BPF_JMP | BPF_K | (relation), value, where, otherwise)
#define END(result) BPF_STMT(BPF_RET | BPF_K, result)

static bool apply(unsigned short count, struct sock_filter *steps) {
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){count, steps}) == 0;
}

/* Landlock covers only TCP, and only from Linux 6.7 on. This filter refuses all other sockets, in every ABI. */
static bool go_offline(void) {
  struct sock_filter steps[] = {
      LOAD(arch), SKIP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0), SKIP(BPF_JEQ, AUDIT_ARCH_AARCH64, 0, 8),
      LOAD(nr), SKIP(BPF_JGE, x32_bit, 6, 0), /* System calls of x32. */
      SKIP(BPF_JEQ, io_uring_setup, 5, 0), SKIP(BPF_JEQ, SYS_socket, 0, 3), /* Both make sockets. */
      LOAD(args[0]), SKIP(BPF_JEQ, AF_UNIX, 1, 0), SKIP(BPF_JEQ, AF_NETLINK, 0, 2), /* udev reports gamepads by it. */
      END(SECCOMP_RET_ALLOW), END(SECCOMP_RET_ERRNO | ENOSYS), END(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
  };
  signal(SIGPIPE, SIG_IGN); /* A player that outlives the reader of its output can still save its game. */
  return apply(sizeof steps / sizeof *steps, steps);
}

/*
 * Two sockets of one user may listen at one port if both have SO_REUSEPORT (socket(7)). The service's own sockets have
 * it, so a player with it would receive calls of the owner. socketcall of i386 takes its options from memory, which no
 * filter reads, so it may set none.
 */
static bool share_no_port(void) {
  struct sock_filter steps[] = {
      LOAD(nr), SKIP(BPF_JEQ, io_uring_setup, 21, 0), LOAD(arch), /* io_uring sets options. */
      SKIP(BPF_JEQ, AUDIT_ARCH_X86_64, 3, 0), SKIP(BPF_JEQ, AUDIT_ARCH_AARCH64, 2, 0),
      SKIP(BPF_JEQ, AUDIT_ARCH_I386, 4, 0), SKIP(BPF_JEQ, AUDIT_ARCH_ARM, 8, 16),
      LOAD(nr), SKIP(BPF_JGE, x32_bit, 14, 0), SKIP(BPF_JEQ, SYS_setsockopt, 7, 11),
      LOAD(nr), SKIP(BPF_JEQ, i386_setsockopt, 5, 0), SKIP(BPF_JEQ, i386_socketcall, 0, 8),
      LOAD(args[0]), SKIP(BPF_JEQ, socketcall_setsockopt, 7, 6),
      LOAD(nr), SKIP(BPF_JEQ, arm_setsockopt, 0, 4),
      LOAD(args[1]), SKIP(BPF_JEQ, SOL_SOCKET, 0, 2), LOAD(args[2]), SKIP(BPF_JEQ, SO_REUSEPORT, 1, 0),
      END(SECCOMP_RET_ALLOW), END(SECCOMP_RET_ERRNO | ENOPROTOOPT), END(SECCOMP_RET_ERRNO | ENOSYS),
  };
  return apply(sizeof steps / sizeof *steps, steps);
}
