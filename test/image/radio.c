/*
 * radio PHY PROGRAM...: runs a program in a network of its own, which has the radio phyPHY and nothing else, as a router or a
 * phone has. Static, for emulated boards. Requests: linux/nl80211.h, NL80211_CMD_SET_WIPHY_NETNS, by generic netlink
 * (linux/genetlink.h).
 */
#define _GNU_SOURCE
#include <err.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/nl80211.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  struct nlmsghdr head;
  struct genlmsghdr generic;
  char rest[512];
} message;

static void begin(uint16_t family, uint8_t command) {
  memset(&message, 0, sizeof message);
  message.head.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
  message.head.nlmsg_type = family;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  message.generic.cmd = command;
  message.generic.version = 1;
}

static void add(uint16_t type, const void *value, size_t length) {
  struct nlattr *attribute = (void *)((char *)&message + NLMSG_ALIGN(message.head.nlmsg_len));
  attribute->nla_type = type;
  attribute->nla_len = (uint16_t)(NLA_HDRLEN + length);
  memcpy((char *)attribute + NLA_HDRLEN, value, length);
  message.head.nlmsg_len = NLMSG_ALIGN(message.head.nlmsg_len) + NLA_ALIGN(attribute->nla_len);
}

/* Sends the request; the first answer is in `message`. Returns the error of the kernel, which is negative, or 0. */
static int ask(int line) {
  if (send(line, &message, message.head.nlmsg_len, 0) < 0) err(1, "send");
  if (recv(line, &message, sizeof message, 0) < 0) err(1, "recv");
  return message.head.nlmsg_type == NLMSG_ERROR ? *(int *)NLMSG_DATA(&message.head) : 0;
}

static uint16_t family_of(int line) {
  begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
  add(CTRL_ATTR_FAMILY_NAME, NL80211_GENL_NAME, sizeof NL80211_GENL_NAME);
  ask(line);
  char *at = message.rest, *end = (char *)&message + message.head.nlmsg_len;
  while (at < end) {
    struct nlattr *attribute = (void *)at;
    if (attribute->nla_type == CTRL_ATTR_FAMILY_ID) return *(uint16_t *)(at + NLA_HDRLEN);
    at += NLA_ALIGN(attribute->nla_len);
  }
  errx(1, "the kernel has no nl80211");
}

int main(int count, char **words) {
  if (count < 3) errx(2, "radio PHY PROGRAM...");
  uint32_t phy = (uint32_t)atoi(words[1]);
  int line = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), to_child[2], to_parent[2];
  if (line < 0 || pipe(to_child) != 0 || pipe(to_parent) != 0) err(1, "socket or pipe");
  pid_t child = fork();
  char ready;
  if (child == 0) {
    if (unshare(CLONE_NEWNET) != 0) err(1, "unshare");
    if (write(to_parent[1], "", 1) != 1 || read(to_child[0], &ready, 1) != 1) errx(1, "no radio");
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &loopback) != 0) err(1, "lo");
    for (int each = 0; each < 2; each++) close(to_child[each]), close(to_parent[each]);
    execvp(words[2], words + 2);
    err(1, "%s", words[2]);
  }
  if (read(to_parent[0], &ready, 1) != 1) errx(1, "the program did not start");
  uint16_t family = family_of(line);
  recv(line, &message, sizeof message, 0); /* This is the acknowledgement of the first request. */
  uint32_t pid = (uint32_t)child;
  int error = -1;
  /* A radio leaves the network of an earlier program a moment after the program's end. */
  for (int tries = 0; error != 0 && tries < 100; tries++, usleep(50000)) {
    begin(family, NL80211_CMD_SET_WIPHY_NETNS);
    add(NL80211_ATTR_WIPHY, &phy, sizeof phy);
    add(NL80211_ATTR_PID, &pid, sizeof pid);
    error = ask(line);
  }
  if (error != 0) errx(1, "the kernel refuses it: %s", strerror(-error));
  if (write(to_child[1], "", 1) != 1) err(1, "write");
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
