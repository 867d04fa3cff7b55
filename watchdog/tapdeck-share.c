/*
 * tapdeck-share UID PORT FOLDER PROGRAM [WORD]...
 *
 * Runs PROGRAM, the file server of the share, as user UID and as the group of the same number only. The program keeps one
 * capability: to listen at a port below 1024. Landlock (Linux, Documentation/userspace-api/landlock.rst) lets it read
 * the programs and settings of the system, and change files in FOLDER as far as UID may. From Linux 6.7 on it can
 * listen at PORT only, and cannot connect. If memory runs out, the kernel ends it before the service.
 *
 * Exit codes, each with a sentence: 64 wrong usage, 126 the program cannot be confined or started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * From include/uapi/linux/landlock.h, because the headers of a toolchain may be older than the kernel. Bits 4 to 12
 * change the entries of a folder.
 */
enum { run_file = 1 << 0, write_file = 1 << 1, read_file = 1 << 2, read_folder = 1 << 3, change_entries = 0x1ff << 4, refer = 1 << 13,
  cut_file = 1 << 14, bind_tcp = 1 << 0, connect_tcp = 1 << 1, signals = 1 << 1 };
enum { create_ruleset = 444, add_rule = 445, restrict_self = 446, beneath = 1, at_port = 2,
  processes_max = 60, /* Enough for 8 connections, for the programs that answer RPC, and for SFTP of the same user. */
  files_max = 16384 /* The default of Samba's `max open files`. */ };
struct ruleset { uint64_t files, net, scoped; };
struct beneath_rule { uint64_t access; int32_t at; } __attribute__((packed));
struct port_rule { uint64_t access, port; };

static _Noreturn void give_up(int code, const char *what) {
  fprintf(stderr, "tapdeck-share: %s: %s\n", what, code == 64 ? "wrong usage" : strerror(errno));
  _exit(code);
}

/* Allows a folder, or the rights of a file if the path is a file. Ignores a path that does not exist. */
static void allow(int ruleset, const char *path, uint64_t access) {
  const int at = open(path, O_PATH | O_CLOEXEC);
  const struct beneath_rule whole = {access, at}, file = {access & (run_file | write_file | read_file | cut_file), at};
  if (at >= 0 && syscall(add_rule, ruleset, beneath, &whole, 0) != 0) syscall(add_rule, ruleset, beneath, &file, 0);
  close(at);
}

static void confine(uint16_t port, const char *folder) {
  static const char *const read_only[] = {"/usr", "/lib", "/lib64", "/etc", "/proc", NULL};
  static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", NULL};
  const long abi = syscall(create_ruleset, NULL, 0, 1);
  const uint64_t changes = write_file | change_entries | (abi >= 2 ? refer : 0) | (abi >= 3 ? cut_file : 0);
  const uint64_t reads = read_file | read_folder;
  const struct ruleset rules = {run_file | reads | changes, abi >= 4 ? bind_tcp | connect_tcp : 0, abi >= 6 ? signals : 0};
  const struct port_rule listening = {bind_tcp, port};
  const int ruleset = (int)syscall(create_ruleset, &rules, sizeof rules, 0);
  if (ruleset < 0) give_up(126, "Landlock");
  for (const char *const *one = read_only; *one != NULL; one++) allow(ruleset, *one, run_file | reads);
  for (const char *const *one = devices; *one != NULL; one++) allow(ruleset, *one, read_file | write_file);
  allow(ruleset, folder, reads | changes);
  if (abi >= 4 && syscall(add_rule, ruleset, at_port, &listening, 0) != 0) give_up(126, "the port");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(restrict_self, ruleset, 0) != 0) give_up(126, "Landlock");
  close(ruleset);
}

/* Becomes the user, and keeps the capability to listen over execve (capabilities(7), ambient set). */
static void become(uint32_t user) {
  const struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const uint32_t listening = 1 << CAP_NET_BIND_SERVICE;
  const struct __user_cap_data_struct only[2] = {{listening, listening, listening}, {0, 0, 0}};
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
    if (cap != CAP_NET_BIND_SERVICE && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) give_up(126, "capabilities");
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0)
    give_up(126, "its user");
  if (syscall(SYS_capset, &header, only) != 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0) != 0)
    give_up(126, "capabilities");
}

int main(int count, char **words) {
  if (count < 5) give_up(64, "tapdeck-share UID PORT FOLDER PROGRAM [WORD]...");
  const long user = strtol(words[1], NULL, 10), port = strtol(words[2], NULL, 10);
  if (user <= 0 || user > 65533 || port <= 0 || port > 65535) give_up(64, "a user or a port");
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && dprintf(score, "500") > 0) close(score);
  if (setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) != 0 || setrlimit(RLIMIT_NPROC, &(struct rlimit){processes_max, processes_max}) != 0 ||
      setrlimit(RLIMIT_NOFILE, &(struct rlimit){files_max, files_max}) != 0)
    give_up(126, "limits");
  become((uint32_t)user);
  confine((uint16_t)port, words[3]);
  execv(words[4], words + 4);
  give_up(126, words[4]);
}
