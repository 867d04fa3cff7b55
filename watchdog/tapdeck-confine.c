/*
 * tapdeck-confine [--offline] [PLACE]... -- PATH NAME [WORD]...
 *
 * Becomes the program at PATH, with the name NAME and a mark (src/system/player-mark.ts). It cannot read or change hidden files, look
 * into other processes or, from Linux 6.12 on, signal them. Landlock (Linux, Documentation/userspace-api/landlock.rst) has only rules
 * that allow: each entry beside named places and the folders above them gets one. The program cannot make entries in
 * these folders. Links count as their targets.
 *
 *   PLACE         --hide=PATH and other options for an absolute path without links, and all below it (places.h)
 *   --offline     sockets of this machine only; ignores SIGPIPE
 *   --from=N      makes its rules ahead, and waits at the socket N for the words after `--` (spare.h)
 *   --probe       alone: exits with 0 if the kernel supports all of this
 * Exit codes of its own, each with a sentence: 64 wrong usage, 126 cannot confine or start it, 127 no such program.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "places.h"
#include "sockets.h"
#include "spare.h"

/*
 * These values are from include/uapi/linux/landlock.h, because a toolchain may have older headers than the kernel. Bits 4
 * to 12 change a folder's entries.
 */
enum { write_file = 1 << 1, read_file = 1 << 2, change_entries = 0x1ff << 4, refer = 1 << 13, cut_file = 1 << 14 };
enum { create_ruleset = 444, add_rule = 445, restrict_self = 446, path_bytes_max = 4096,
  cap_sys_admin = 21, cap_sys_resource = 24, cap_perfmon = 38, limit_processes = 6, limit_locks = 10 };
struct ruleset { uint64_t files, net, scoped; };
struct rule { uint64_t access; int32_t at; } __attribute__((packed));
static uint64_t on_file = write_file | read_file, on_folder;

static _Noreturn void give_up(int code, const char *what, const char *why) {
  fprintf(stderr, "tapdeck-confine: %s: %s\n", what, why);
  _exit(code);
}

/* Allows the entries of the folder, into which the reach is `above`, and closes it. The path of the root is empty. */
static void allow_within(int ruleset, int folder, const char *path, enum reach above) {
  note(path);
  const struct place *const place = place_at(path);
  DIR *const entries = fdopendir(folder);
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    char child[path_bytes_max];
    struct stat what;
    const int length = snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
    const bool is_self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (is_self || length >= path_bytes_max) continue;
    const int at = openat(folder, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at < 0 || fstat(at, &what) != 0) continue; /* The entry is gone, or this user may not open it. */
    const bool is_folder = S_ISDIR(what.st_mode);
    const struct place *const named = place_at(child);
    const enum reach reach = reach_of(named, place, above, entry->d_name, is_folder);
    const bool is_sorted = named != NULL && (named->kind == own || named->kind == home); /* The names of its entries decide. */
    const struct rule rule = {.access = reach == reach_to_read ? read_file : is_folder ? on_folder : on_file, .at = at};
    if (is_folder && (is_sorted || has_places_below(child)))
      allow_within(ruleset, openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), child, reach);
    else if (!S_ISLNK(what.st_mode) && reach != no_reach)
      syscall(add_rule, ruleset, 1, &rule, 0); /* An entry that cannot be allowed stays hidden. */
    close(at);
  }
  if (entries != NULL) closedir(entries);
}

/*
 * If memory runs out, the kernel ends the player before the service (proc(5), oom_score_adj). A player that starts
 * processes without end leaves room for the service's own: the limit counts all processes of a user, and the limit of the
 * service is twice as high.
 */
static void yield_to_service(void) {
  uint64_t limit[2];
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0 && dprintf(score, "500") > 0) close(score);
  if (syscall(SYS_prlimit64, 0, limit_processes, NULL, limit) != 0) return;
  limit[0] = limit[1] = (limit[0] < limit[1] ? limit[0] : limit[1]) / 2;
  syscall(SYS_prlimit64, 0, limit_processes, limit, NULL);
}

int main(int count, char **words) {
  int is_probe = count == 2 && strcmp(words[1], "--probe") == 0, is_offline = is_probe, at = 1, from = -1;
  for (; !is_probe && at < count && strcmp(words[at], "--") != 0; at++)
    if (strcmp(words[at], "--offline") == 0) is_offline = 1;
    else if (!take_place(words[at]) && (sscanf(words[at], "--from=%d", &from) != 1 || !prepare(from)))
      give_up(64, words[at], "wrong usage");
  char **program = from < 0 ? words + at + 1 : NULL;
  if (!is_probe && from < 0 && at + 2 >= count) give_up(64, "wrong usage", "no program is named");
  const long abi = syscall(create_ruleset, NULL, 0, 1);
  on_file |= abi >= 3 ? cut_file : 0, on_folder = on_file | change_entries | (abi >= 2 ? refer : 0);
  const struct ruleset rules = {on_folder, is_offline && abi >= 4 ? 3 : 0, abi >= 6 ? 2 : 0};
  /* All that does not depend on the rules comes first, because a program that is waited for starts 0.1 ms earlier then. */
  yield_to_service();
  /*
   * These capabilities are dropped: with the first two root could read environments in spite of Landlock (kernel/fork.c,
   * mm_access), and with the third it could remove the mark.
   */
  for (const int *cap = (int[]){cap_sys_admin, cap_perfmon, cap_sys_resource, 0}; *cap != 0; cap++) prctl(PR_CAPBSET_DROP, *cap, 0, 0, 0);
  if (syscall(SYS_prlimit64, 0, limit_locks, (uint64_t[]){0, 0}, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      !(is_offline ? go_offline() : share_no_port()))
    give_up(126, "it cannot be confined", strerror(errno));
  int ruleset = -1;
  do { /* After a change, rules are made again: new files must be playable or hidden, and a rule keeps the space of a deleted file. */
    close(ruleset), listed_count = 0, ruleset = (int)syscall(create_ruleset, &rules, sizeof rules, 0);
    if (ruleset < 0) give_up(126, "Landlock", strerror(errno));
    allow_within(ruleset, open("/", O_RDONLY | O_CLOEXEC), "", whole_reach);
  } while (program == NULL && ((program = receive(from)) == NULL || !is_unchanged()));
  if (syscall(restrict_self, ruleset, 0)) give_up(126, "it cannot be confined", strerror(errno));
  if (is_probe) return 0;
  execv(program[0], program + 1);
  if (errno == ENOENT) give_up(127, program[0], "there is no such program");
  give_up(126, program[0], errno == ENOEXEC ? "it is not a program for this machine" : strerror(errno));
}
