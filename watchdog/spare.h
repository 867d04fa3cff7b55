/*
 * For a tapdeck-confine that is started ahead (src/system/spare-player.ts): reads its message, and checks whether its
 * rules are still valid. A change in a listed folder, or of the mounts, makes them invalid.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { listed_max = 64, listed_path_bytes_max = 4096, words_bytes_max = 32768, check_ms = 10000 };
static struct { char path[listed_path_bytes_max]; int64_t moment; } listed[listed_max];
static int listed_count, mounts = -1; /* More entries than `listed_max` count as a change. */

/* The words come from descriptor `from`, which the program does not inherit. Call this before the first folder is listed. */
static bool prepare(int from) {
  mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  return fcntl(from, F_SETFD, FD_CLOEXEC) == 0;
}

/*
 * The time of the last change of the folder's entries, in nanoseconds. 0 if the next change may have the same time. Times of
 * FAT have steps of 2 s, and those of other file systems the kernel's timer, 10 ms at most (include/linux/jiffies.h).
 */
static int64_t moment_of(const char *path) {
  const int64_t second = 1000000000;
  struct timespec now;
  struct stat what;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0 || stat(*path == '\0' ? "/" : path, &what) != 0) return 0;
  const int64_t moment = what.st_ctim.tv_sec * second + what.st_ctim.tv_nsec, age = now.tv_sec * second + now.tv_nsec - moment;
  return age > (what.st_ctim.tv_nsec == 0 ? 2 * second : second / 50) ? moment : 0;
}

/* Call this before the folder is listed. */
static void note(const char *path) {
  if (listed_count < listed_max && strlen(path) < listed_path_bytes_max) {
    strcpy(listed[listed_count].path, path);
    listed[listed_count].moment = moment_of(path);
  }
  listed_count++;
}

/* Whether no entry of the folders has changed since they were listed, and no mount since `prepare` (proc(5), mounts). */
static bool is_unchanged(void) {
  bool is = listed_count <= listed_max && mounts >= 0 && poll(&(struct pollfd){mounts, POLLPRI, 0}, 1, 0) == 0;
  for (int at = 0; is && at < listed_count; at++)
    is = listed[at].moment != 0 && moment_of(listed[at].path) == listed[at].moment;
  return is;
}

/*
 * Returns the message PATH NAME [WORD]..., which arrives as the length of all words, in four bytes of the processor's
 * order, and then the words, each with a zero byte at its end. NULL if the rules are no longer valid.
 */
static char **receive(int from) {
  static struct { uint32_t bytes; char text[words_bytes_max]; } said;
  static char *words[words_bytes_max + 1];
  while (poll(&(struct pollfd){from, POLLIN, 0}, 1, check_ms) == 0)
    if (!is_unchanged()) return NULL;
  const ssize_t got = recv(from, &said, sizeof said, MSG_WAITALL);
  if (got < 5 || said.bytes != (size_t)got - 4 || said.text[said.bytes - 1] != '\0') _exit(0); /* The service has ended. */
  char **word = words;
  for (char *at = said.text; at < said.text + said.bytes; at += strlen(at) + 1) *word++ = at;
  return words;
}
