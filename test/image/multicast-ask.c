/*
 * multicast-ask GROUP PORT: sends its standard input as a datagram to a multicast group, again after each second without an answer, and
 * writes the first answer. Exit codes: 0 an answer came, 1 none in a minute, 64 wrong usage.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
  char question[2048], answer[65536];
  struct sockaddr_in group = {.sin_family = AF_INET};
  if (count != 3 || inet_pton(AF_INET, words[1], &group.sin_addr) != 1) return 64;
  group.sin_port = htons((unsigned short)atoi(words[2]));
  const ssize_t length = read(STDIN_FILENO, question, sizeof question);
  const int own = socket(AF_INET, SOCK_DGRAM, 0);
  if (length <= 0 || own < 0) return 64;
  for (int asked = 0; asked < 60; asked++) {
    /* The network may not be up yet. */
    if (sendto(own, question, (size_t)length, 0, (struct sockaddr *)&group, sizeof group) != length) sleep(1);
    if (poll(&(struct pollfd){.fd = own, .events = POLLIN}, 1, 1000) != 1) continue;
    const ssize_t got = recv(own, answer, sizeof answer, 0);
    return got > 0 && write(STDOUT_FILENO, answer, (size_t)got) == got ? 0 : 1;
  }
  return 1;
}
