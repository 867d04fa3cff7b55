/*
 * tapdeck-watchdog: restarts the Tapdeck service if it does not answer, and resets the machine if that does not help.
 *
 * It is a separate process, and shares nothing with the service's runtime. Every 2 s it sends the text `ping` over a
 * WebSocket and expects `pong` within 3 s. After three misses, or if the service ends, it restarts the service.
 * After three restarts in five minutes it stops feeding the hardware watchdog, which then resets the machine.
 *
 * It feeds the hardware only in four cases: after a pong; while the service has not answered yet, within the grace time
 * of its start; at a restart; and once when this process is asked to end. The limit of restarts also limits the second
 * and the third case. A fault of this program itself counts as a miss or ends the program, so it never causes a feed. The
 * program is one long file, so a maintainer of another firmware can copy it alone.
 *
 * The state file holds the reason of the last event, and survives the reset. It is one line of at most 255 bytes. Each
 * event replaces it by a new file, fsync and rename:
 *
 *   event=restart time=1700000000 restarts=1 resets=0 why=the service did not answer 3 pings in a row
 *
 *   event     restart     the service was started again
 *             giving-up   feeding has stopped: the machine is about to be reset
 *             reset       `giving-up` was found at the next start: the machine was reset for that reason
 *             unguarded   the watchdog device could not be opened
 *             silent      with --supervise=no: the service does not answer; its supervisor restarts it
 *   time      of the event, in seconds since 1970 by the machine's clock, which may be wrong right after its start
 *   restarts  within the last five minutes
 *   resets    in a row, without a minute of pongs after one. After three the device stays closed until there is such
 *             a minute, because more resets would not help, and would prevent a repair.
 *   why       a sentence; the rest of the line
 *
 * The file has mode 0600. With --user it has mode 0640 and the first group, so the service can read it but cannot change
 * it.
 *
 * With --supervise=no and a program, systemd or another supervisor starts and stops both as one unit. This process stays the
 * main process, and its child is the service. systemd accepts READY and WATCHDOG only from the main process
 * (NotifyAccess=main). A player in the same control group therefore cannot send them. TERM, INT and HUP are passed on to the
 * service. This process ends like the service, by the same exit code or signal.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/watchdog.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  misses_max = 3,         /* The number of pings in a row without a pong, after which the service counts as hung. */
  restarts_max = 3,       /* The number of restarts within the window, after which the feeding stops. */
  resets_max = 3,         /* The number of resets in a row, after which the device stays closed. */
  pause_ms = 60000,       /* The pause between restarts after the third one, if no reset has come. */
  eager_ms = 100,         /* The pause between attempts while a service starts; a refused connection is cheap. */
  players_ms = 5000,      /* The grace time of players that a dead service left, because a game writes its state. */
  killed_ms = 1000,       /* The time after which a process that KILL did not end counts as stuck. */
  ending_poll_ms = 20,    /* The pause between checks for them, because the end of another's child is no event. */
  option_ms_max = 3600000,
  groups_max = 32,        /* In --user. */
  answer_max = 2048,      /* The bytes of the service's HTTP answer, which has some 150. */
  control_max = 125,      /* The payload bytes of a control frame (RFC 6455, 5.5). */
  line_max = 256,         /* The bytes of the state file. */
};

struct options {
  const char *address;    /* IPv4 */
  const char *device;     /* NULL: none */
  const char *state;      /* NULL: none */
  long port, ping_ms, pong_ms, grace_ms, stop_ms, quit_ms, window_ms, healthy_ms, timeout_s;
  bool supervise, as_user;
  uid_t uid;
  gid_t groups[groups_max];
  size_t group_count;
  char **program;         /* NULL: none */
};

/* A WebSocket to the service (RFC 6455), with the parts that a ping needs. Payload is skipped, never stored. */
struct link {
  enum { link_shut, link_connecting, link_greeting, link_open } stage;
  int fd;
  bool asked;                             /* A ping has no pong yet. */
  char answer[answer_max + 1];            /* The HTTP answer so far. */
  size_t answer_length;
  unsigned char out[512];                 /* Bytes that are not sent yet. */
  size_t out_length;
  unsigned char header[10];               /* The header of the frame that is being received. */
  size_t header_length;
  uint64_t payload_length, payload_taken;
  unsigned char payload[control_max];     /* The first bytes of its payload. */
};

enum phase { phase_starting, phase_serving, phase_ending, phase_pausing };

struct guard {
  const struct options *options;
  struct link link;
  enum phase phase;
  int64_t phase_since, probe_since, probe_next, healthy_since;
  int64_t restarts[restarts_max + 1]; /* The times of the last restarts, newest first. */
  bool probing, stopping, giving_up, players_asked, said_silent, said_unguarded;
  int misses, device, resets;
  pid_t service;
  int service_status;                 /* The status of the service's last end, as in waitpid(2). */
  char event[16], why[160];
  long long event_time;
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- small helpers ---- */

static int64_t now_ms(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) abort(); /* Without a clock nothing else works. */
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Writes one line to stderr. */
static void say(const char *format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  if (length < 0) return;
  dprintf(STDERR_FILENO, "watchdog: %s\n", line);
}

/* Variables that the service must not inherit. They control its runtime, are systemd's addresses for this process
 * (sd_notify(3), sd_listen_fds(3), systemd.exec(5)), or hold the options of the unit. */
static void clean_environment(void) {
  static const char *const names[] = {"BUN_OPTIONS", "BUN_BE_BUN", "BUN_INSPECT", "BUN_INSPECT_PRELOAD",
                                      "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "WATCHDOG_OPTIONS",
                                      "SYSTEMD_EXEC_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "FDSTORE",
                                      "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"};
  for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) unsetenv(names[n]);
}

/* ---- the WebSocket ---- */

/*
 * The key protects against proxies that do not know the protocol. No proxy is between two programs of one machine. The
 * sample key of RFC 6455 and its answer (1.3) are therefore enough, and no SHA-1 is needed to check it.
 */
static const char key[] = "dGhlIHNhbXBsZSBub25jZQ==", accept_key[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

static void shut_link(struct link *link) {
  if (link->stage != link_shut) close(link->fd);
  link->stage = link_shut;
}

/* Begins to connect. Returns NULL, or the reason why it failed. */
static const char *open_link(struct link *link, const struct options *options) {
  memset(link, 0, sizeof *link);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
  if (inet_pton(AF_INET, options->address, &to.sin_addr) != 1) return "its address is none";
  link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (link->fd < 0) return "no socket can be had";
  link->stage = link_connecting;
  int length = snprintf((char *)link->out, sizeof link->out,
                        "GET /api/v0.1 HTTP/1.1\r\nHost: %s:%ld\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n",
                        options->address, options->port, key);
  if (length < 0 || (size_t)length >= sizeof link->out) return "its address is too long";
  link->out_length = (size_t)length;
  if (connect(link->fd, (const struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS) return NULL;
  return "it does not listen";
}

/* Queues a masked frame (RFC 6455, 5.2) of at most 125 payload bytes. Returns NULL, or the fault. */
static const char *queue_frame(struct link *link, unsigned char opcode, const unsigned char *payload, size_t length) {
  unsigned char mask[4];
  if (link->out_length + 6 + length > sizeof link->out) return "it does not read";
  if (getrandom(mask, sizeof mask, GRND_NONBLOCK) != sizeof mask) return "there are no random bytes for a mask";
  unsigned char *at = link->out + link->out_length;
  at[0] = 0x80 | opcode; /* FIN */
  at[1] = (unsigned char)(0x80 | length);
  memcpy(at + 2, mask, sizeof mask);
  for (size_t n = 0; n < length; n++) at[6 + n] = payload[n] ^ mask[n % 4];
  link->out_length += 6 + length;
  return NULL;
}

static const char *ask(struct link *link) {
  link->asked = true;
  return queue_frame(link, 1, (const unsigned char *)"ping", 4);
}

/* Handles a whole frame, and sets `pong` if it is the expected one. Returns NULL, or the fault. */
static const char *end_frame(struct link *link, bool *pong) {
  const unsigned char opcode = link->header[0] & 0x0f;
  const size_t length = (size_t)link->payload_length;
  link->header_length = 0;
  if (opcode == 8) return "it closed the connection";
  if (opcode == 9) return queue_frame(link, 10, link->payload, length);
  if (link->header[0] == 0x81 && link->payload_length == 4 && memcmp(link->payload, "pong", 4) == 0 && link->asked) {
    link->asked = false;
    *pong = true;
  }
  return NULL;
}

/* The length of the frame's header, from the received bytes. */
static size_t header_size(const struct link *link) {
  if (link->header_length < 2) return 2;
  const unsigned char length = link->header[1] & 0x7f;
  return length == 127 ? 10 : length == 126 ? 4 : 2;
}

/*
 * Reads the length from a whole header. Returns NULL, or a text that names the fault of the header (RFC 6455, 5.2 and
 * 5.5).
 */
static const char *begin_payload(struct link *link) {
  const unsigned char *header = link->header, opcode = header[0] & 0x0f;
  if ((header[0] & 0x70) != 0 || (header[1] & 0x80) != 0 || (opcode & 0x07) > 2) return "it sends broken frames";
  const size_t size = header_size(link);
  uint64_t length = header[1];
  if (size > 2) length = 0;
  for (size_t n = 2; n < size; n++) length = length << 8 | header[n];
  if (length >> 63 != 0) return "it sends broken frames";
  if (opcode >= 8 && (length > control_max || (header[0] & 0x80) == 0)) return "it sends broken frames";
  link->payload_length = length;
  link->payload_taken = 0;
  return NULL;
}

static const char *take_frames(struct link *link, const unsigned char *bytes, size_t count, bool *pong) {
  size_t at = 0;
  while (at < count) {
    if (link->header_length < header_size(link)) {
      link->header[link->header_length++] = bytes[at++];
      if (link->header_length < header_size(link)) continue;
      const char *fault = begin_payload(link);
      if (fault != NULL) return fault;
    } else {
      const uint64_t left = link->payload_length - link->payload_taken;
      const size_t here = left < count - at ? (size_t)left : count - at;
      for (size_t n = 0; n < here && link->payload_taken + n < sizeof link->payload; n++)
        link->payload[link->payload_taken + n] = bytes[at + n];
      link->payload_taken += here;
      at += here;
    }
    if (link->payload_taken < link->payload_length) continue;
    const char *fault = end_frame(link, pong);
    if (fault != NULL) return fault;
  }
  return NULL;
}

/* True if the HTTP answer accepts the upgrade. Header names are compared without regard to case, and values with it. */
static bool upgrade_accepted(const char *answer) {
  static const char name[] = "\r\nsec-websocket-accept:";
  if (strncmp(answer, "HTTP/1.1 101", 12) != 0) return false;
  const char *value = strcasestr(answer, name);
  if (value == NULL) return false;
  value += sizeof name - 1;
  while (*value == ' ' || *value == '\t') value++;
  return strncmp(value, accept_key, sizeof accept_key - 1) == 0;
}

/* Takes bytes of the HTTP answer, and the frames after it. */
static const char *take_answer(struct link *link, const unsigned char *bytes, size_t count, bool *pong) {
  for (size_t n = 0; n < count; n++) {
    if (bytes[n] == 0 || link->answer_length == answer_max) return "it does not speak HTTP";
    link->answer[link->answer_length++] = (char)bytes[n];
    if (link->answer_length < 4 || memcmp(link->answer + link->answer_length - 4, "\r\n\r\n", 4) != 0) continue;
    link->answer[link->answer_length] = 0;
    if (!upgrade_accepted(link->answer)) return "it refused the WebSocket";
    link->stage = link_open;
    const char *fault = ask(link);
    return fault != NULL ? fault : take_frames(link, bytes + n + 1, count - n - 1, pong);
  }
  return NULL;
}

/* Sends and receives what the socket accepts and has, in bounded time. Sets `pong`; returns NULL, or the fault. */
static const char *serve_link(struct link *link, short ready, bool *pong) {
  if (link->stage == link_connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return "it does not listen";
    if ((ready & POLLOUT) == 0) return NULL;
    link->stage = link_greeting;
  }
  if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0) {
    unsigned char bytes[4096];
    const ssize_t count = recv(link->fd, bytes, sizeof bytes, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return "it cut the connection";
    const char *fault = NULL;
    if (count > 0)
      fault = (link->stage == link_open ? take_frames : take_answer)(link, bytes, (size_t)count, pong);
    if (fault != NULL) return fault;
  }
  if (link->out_length > 0) {
    const ssize_t sent = send(link->fd, link->out, link->out_length, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return "it cut the connection";
    if (sent > 0) {
      link->out_length -= (size_t)sent;
      memmove(link->out, link->out + sent, link->out_length);
    }
  }
  return NULL;
}

/* ---- the state file ---- */

/* Lets the service read the file if it runs as another user. An older file may have another mode. */
static bool share_state(const struct options *options, int file) {
  if (!options->as_user) return fchmod(file, 0600) == 0;
  return fchown(file, (uid_t)-1, options->groups[0]) == 0 && fchmod(file, 0640) == 0;
}

static void write_state(struct guard *guard) {
  const char *path = guard->options->state;
  if (path == NULL || guard->event[0] == 0) return;
  int restarts = 0;
  const int64_t now = now_ms();
  while (restarts <= restarts_max && guard->restarts[restarts] > now - guard->options->window_ms) restarts++;
  char line[line_max], fresh[4096], folder[4096];
  int length = snprintf(line, sizeof line - 1, "event=%s time=%lld restarts=%d resets=%d why=%s", guard->event,
                        guard->event_time, restarts, guard->resets, guard->why);
  if (length < 0 || (size_t)snprintf(fresh, sizeof fresh, "%s.new", path) >= sizeof fresh) return;
  if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  /* The service's user may write to the folder, so an entry of this name is neither opened nor followed. */
  unlink(fresh);
  const int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool kept = file >= 0 && share_state(guard->options, file);
  kept = kept && write(file, line, (size_t)length) == length && fsync(file) == 0;
  if (file >= 0) close(file);
  kept = kept && rename(fresh, path) == 0;
  if (!kept) {
    say("the state file cannot be written path=%s error=%s", path, strerror(errno));
    return;
  }
  /* The rename itself must also survive a reset. */
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash != NULL) slash[slash == folder ? 1 : 0] = 0;
  const int parent = open(slash == NULL ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return;
  fsync(parent);
  close(parent);
}

/* Reads the state of the last start. A missing or malformed file counts as no event. */
static void read_state(struct guard *guard) {
  char line[line_max] = "", event[16], why[160];
  long long when;
  int resets;
  const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK; /* A pipe in this place would block the start. */
  const int file = guard->options->state == NULL ? -1 : open(guard->options->state, flags);
  if (file < 0) return;
  const ssize_t length = read(file, line, sizeof line - 1);
  close(file);
  if (length <= 0) return;
  if (sscanf(line, "event=%15[a-z-] time=%18lld restarts=%*3d resets=%6d why=%159[^\n]", event, &when, &resets, why) != 4)
    return;
  if (resets < 0) return;
  const bool was_reset = strcmp(event, "giving-up") == 0;
  guard->resets = resets + was_reset;
  guard->event_time = when;
  snprintf(guard->event, sizeof guard->event, "%s", was_reset ? "reset" : event);
  snprintf(guard->why, sizeof guard->why, "%s", why);
  if (!was_reset) return;
  say("this machine was reset resets=%d why=%s", guard->resets, why);
  write_state(guard);
}

/* Logs the event and writes it to the state file. */
static void trouble(struct guard *guard, const char *event, const char *why) {
  snprintf(guard->event, sizeof guard->event, "%s", event);
  if (why != guard->why) snprintf(guard->why, sizeof guard->why, "%s", why);
  guard->event_time = (long long)time(NULL);
  say("%s: %s", event, guard->why);
  write_state(guard);
}

/* ---- the hardware, and systemd ---- */

static bool device_wanted(const struct guard *guard) {
  return guard->options->device != NULL && !guard->giving_up && guard->resets < resets_max;
}

/* Feeds the hardware watchdog, and opens it first if it is closed (Documentation/watchdog/watchdog-api.rst). */
static void feed(struct guard *guard) {
  if (!device_wanted(guard)) return;
  if (guard->device < 0) {
    /* Without this, the open of a pipe would block until it has a reader. A device ignores the flag. */
    guard->device = open(guard->options->device, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (guard->device < 0) {
      char why[128];
      snprintf(why, sizeof why, "the watchdog device cannot be opened: %s", strerror(errno));
      if (!guard->said_unguarded) trouble(guard, "unguarded", why);
      guard->said_unguarded = true;
      return;
    }
    int seconds = (int)guard->options->timeout_s;
    if (ioctl(guard->device, WDIOC_SETTIMEOUT, &seconds) != 0)
      say("the device keeps its own time-out error=%s", strerror(errno));
    else
      say("the hardware resets this machine seconds=%d", seconds);
  }
  if (write(guard->device, "\n", 1) != 1 && errno != EAGAIN) say("the device was not fed error=%s", strerror(errno));
}

/* A clean end: `V` before the close switches the hardware watchdog off (the same document, "Magic Close feature"). */
static void release_device(struct guard *guard) {
  if (guard->device < 0 || guard->giving_up) return;
  if (write(guard->device, "V", 1) != 1) say("the device could not be switched off error=%s", strerror(errno));
  close(guard->device);
  guard->device = -1;
}

/* Notifies systemd, if it has requested this (sd_notify(3): one datagram; an address that begins with @ is abstract). */
static void notify(const struct guard *guard, const char *text) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (guard->options->supervise || path == NULL || path[0] == 0) return;
  const size_t length = strlen(path);
  if (length >= sizeof to.sun_path) return;
  memcpy(to.sun_path, path, length);
  if (path[0] == '@') to.sun_path[0] = 0;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  if (sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to, size) < 0)
    say("systemd was not told error=%s", strerror(errno));
  close(fd);
}

/* ---- the service as a child ---- */

static void enter(struct guard *guard, enum phase phase) {
  guard->phase = phase;
  guard->phase_since = now_ms();
  guard->misses = 0;
  guard->probing = false;
  guard->probe_next = guard->phase_since;
  guard->players_asked = false;
  shut_link(&guard->link);
}

/* Becomes the program, in the child of `watchdog`. Never returns. */
static void become(const struct options *options, pid_t watchdog) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  clean_environment();
  setsid(); /* Ctrl-C at the terminal reaches only the watchdog, which then stops the service in order. */
  /*
   * The log of the image is in shared memory that every user may read (BusyBox, sysklogd/syslogd.c), and it names cards
   * and clients. If the kernel lacks these namespaces, players can read the log.
   */
  if (options->as_user) (void)unshare(CLONE_NEWIPC);
  if (options->as_user && (setgroups(options->group_count, options->groups) != 0 ||
                           setgid(options->groups[0]) != 0 || setuid(options->uid) != 0)) {
    say("the service cannot run as its user error=%s", strerror(errno));
    _exit(126);
  }
  /*
   * This follows the change of user, which clears this setting. If the watchdog dies, the service ends, and another one
   * can start. A supervisor that kills its main process wants to end the service, and a hung service would ignore TERM.
   */
  const int last = options->supervise ? SIGTERM : SIGKILL;
  if (prctl(PR_SET_PDEATHSIG, last) != 0 || getppid() != watchdog) _exit(126);
  execv(options->program[0], options->program);
  say("%s cannot be started error=%s", options->program[0], strerror(errno));
  _exit(127);
}

static void start_service(struct guard *guard) {
  const pid_t watchdog = getpid();
  enter(guard, phase_starting);
  feed(guard);
  const pid_t pid = fork();
  if (pid == 0) become(guard->options, watchdog);
  guard->service = pid > 0 ? pid : 0;
  if (pid < 0) say("no process can be had error=%s", strerror(errno)); /* The next try is after the grace time. */
  else say("the service was started pid=%d", (int)pid);
}

/* Sends `signal` to every child, and returns their number. After the service's end all its players are our children. */
static int signal_children(int signal) {
  DIR *processes = opendir("/proc");
  int count = 0;
  if (processes == NULL) return 0;
  for (const struct dirent *entry = readdir(processes); entry != NULL; entry = readdir(processes)) {
    char path[sizeof entry->d_name + 16], stat[512];
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    const ssize_t length = read(file, stat, sizeof stat - 1);
    close(file);
    if (length <= 0) continue;
    stat[length] = 0;
    /* The name in brackets may have any character; state and parent follow it (proc(5)). */
    const char *behind = strrchr(stat, ')');
    char state;
    int parent;
    if (behind == NULL || sscanf(behind, ") %c %d", &state, &parent) != 2 || parent != getpid() || state == 'Z') continue;
    kill((pid_t)atol(entry->d_name), signal);
    count++;
  }
  closedir(processes);
  return count;
}

/* Stops the service and its players. The next step (a start, a pause, the end) follows when these processes have ended. */
static void end_service(struct guard *guard) {
  enter(guard, phase_ending);
  if (guard->service > 0) kill(guard->service, SIGTERM);
}

/*
 * The service failed. A supervising watchdog restarts the service. After three restarts in five minutes it stops feeding
 * the hardware watchdog.
 */
static void fail(struct guard *guard, const char *why) {
  const int64_t now = now_ms();
  if (!guard->options->supervise) {
    if (!guard->said_silent) trouble(guard, "silent", why);
    guard->said_silent = true;
    enter(guard, phase_serving);
    guard->probe_next = now + guard->options->ping_ms;
    return;
  }
  memmove(guard->restarts + 1, guard->restarts, sizeof guard->restarts - sizeof guard->restarts[0]);
  guard->restarts[0] = now;
  const bool third = guard->restarts[restarts_max - 1] > now - guard->options->window_ms;
  feed(guard);
  guard->giving_up = guard->giving_up || (third && guard->device >= 0);
  trouble(guard, guard->giving_up ? "giving-up" : "restart", why);
  end_service(guard);
}

/* The service and its players have ended. */
static void go_on(struct guard *guard, bool *done) {
  const bool fourth = guard->restarts[restarts_max] > now_ms() - guard->options->window_ms;
  if (guard->stopping) *done = true;
  else if (fourth) enter(guard, phase_pausing);
  else start_service(guard);
}

static void step_ending(struct guard *guard, int64_t now, bool *done) {
  if (!guard->options->supervise) {
    *done = guard->service == 0; /* The supervisor handles its time-out, and players that are left. */
    return;
  }
  if (guard->service > 0) {
    /* A service that is asked to end lets its player save first. A service that hangs does not react. */
    const long grace_ms = guard->stopping ? guard->options->quit_ms : guard->options->stop_ms;
    if (now - guard->phase_since < grace_ms) return;
    kill(guard->service, SIGKILL);
    return;
  }
  /* Its players have sessions of their own and are our children now. The next service does not know them. */
  if (!guard->players_asked) {
    guard->players_asked = true;
    guard->phase_since = now;
    if (signal_children(SIGTERM) == 0) go_on(guard, done);
    return;
  }
  const int64_t waited = now - guard->phase_since;
  /* A process that KILL does not end waits for a device. The service must not wait for it. */
  const int left = signal_children(waited < players_ms ? 0 : SIGKILL);
  if (left == 0 || waited > players_ms + killed_ms) go_on(guard, done);
}

/* ---- the watch ---- */

static void miss(struct guard *guard, const char *fault) {
  char why[160];
  shut_link(&guard->link);
  guard->probing = false;
  if (guard->phase == phase_starting || ++guard->misses < misses_max) return;
  snprintf(why, sizeof why, "the service did not answer %d pings in a row: %s", misses_max, fault);
  fail(guard, why);
}

static void heard_pong(struct guard *guard) {
  const int64_t now = now_ms();
  const bool is_first = guard->phase == phase_starting || guard->said_silent;
  if (is_first) {
    say("the service answers ms=%lld", (long long)(now - guard->phase_since));
    notify(guard, "READY=1");
  }
  if (is_first || guard->misses > 0) guard->healthy_since = now;
  guard->phase = phase_serving;
  guard->said_silent = false;
  guard->misses = 0;
  guard->probing = false;
  guard->probe_next = guard->probe_since + guard->options->ping_ms;
  feed(guard);
  notify(guard, "WATCHDOG=1");
  if (guard->resets == 0 || now - guard->healthy_since < guard->options->healthy_ms) return;
  guard->resets = 0;
  write_state(guard);
}

/* Sends pings in time, and counts missing pongs. */
static void step_watch(struct guard *guard, int64_t now) {
  const struct options *options = guard->options;
  const bool starting = guard->phase == phase_starting;
  if (starting && now - guard->phase_since >= options->grace_ms) {
    char why[160];
    snprintf(why, sizeof why, "the service did not answer on %s:%ld within %ld ms of its start", options->address,
             options->port, options->grace_ms);
    fail(guard, why);
  } else if (guard->probing) {
    if (now - guard->probe_since >= options->pong_ms) miss(guard, "no pong came in time");
  } else if (now >= guard->probe_next) {
    guard->probing = true;
    guard->probe_since = now;
    guard->probe_next = now + (starting ? eager_ms : options->ping_ms);
    if (starting) feed(guard);
    const char *fault = guard->link.stage == link_open ? ask(&guard->link) : open_link(&guard->link, options);
    if (fault != NULL) miss(guard, fault);
  }
}

/* The time of the next step, if no event comes before it. */
static int64_t due(const struct guard *guard, int64_t now) {
  if (guard->phase == phase_ending) return now + ending_poll_ms;
  if (guard->phase == phase_pausing) return guard->phase_since + pause_ms;
  const int64_t probe = guard->probing ? guard->probe_since + guard->options->pong_ms : guard->probe_next;
  const int64_t grace = guard->phase_since + guard->options->grace_ms;
  return guard->phase == phase_starting && grace < probe ? grace : probe;
}

/* Reaps ended children: the service, or a player that the service left. */
static void reap(struct guard *guard) {
  int status;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
    if (pid != guard->service) continue;
    guard->service = 0;
    guard->service_status = status;
    char why[160];
    if (WIFSIGNALED(status)) snprintf(why, sizeof why, "the service was ended by signal %d", WTERMSIG(status));
    else snprintf(why, sizeof why, "the service ended with exit code %d", WEXITSTATUS(status));
    if (guard->phase == phase_ending) continue;
    if (guard->options->supervise) {
      fail(guard, why);
    } else {
      if (status != 0) say("%s", why);
      enter(guard, phase_ending);
    }
  }
}

static void take_signals(struct guard *guard, int signals, bool *done) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      reap(guard);
    } else if (!guard->options->supervise) {
      if (guard->service > 0) kill(guard->service, (int)info.ssi_signo);
      else *done = true;
      if (guard->phase != phase_ending) enter(guard, phase_ending);
    } else if (!guard->stopping) {
      guard->stopping = true;
      say("stopping the service");
      feed(guard); /* The end takes longer than the time between two pongs. */
      if (guard->phase != phase_ending) end_service(guard);
    }
  }
}

static void watch(struct guard *guard, int signals) {
  for (bool done = false; !done;) {
    int64_t now = now_ms();
    if (guard->phase == phase_ending) step_ending(guard, now, &done);
    else if (guard->phase == phase_pausing && now - guard->phase_since >= pause_ms) start_service(guard);
    else if (guard->phase != phase_pausing) step_watch(guard, now);
    struct link *link = &guard->link;
    struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = -1}};
    if (link->stage != link_shut) {
      const bool writes = link->stage == link_connecting || link->out_length > 0;
      fds[1] = (struct pollfd){.fd = link->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    }
    now = now_ms();
    const int64_t wait_ms = due(guard, now) - now;
    if (done || poll(fds, 2, wait_ms > 0 ? (int)wait_ms : 0) <= 0) continue;
    if (fds[1].revents != 0) {
      bool pong = false;
      const char *fault = serve_link(link, fds[1].revents, &pong);
      if (pong) heard_pong(guard);
      /* If a connection ends between two pings, the next ping opens another one. */
      if (fault != NULL && guard->probing) miss(guard, fault);
      else if (fault != NULL) shut_link(link);
    }
    if (fds[0].revents != 0) take_signals(guard, signals, &done);
  }
}

/* ---- the command line ---- */

static const char help[] =
    "tapdeck-watchdog [options] -- /usr/bin/tapdeck [its options]\n"
    "Starts the service, pings it, starts it again when it hangs, and lets the hardware reset what that does not heal.\n\n"
    "  --device=FILE       the hardware watchdog, or none (/dev/watchdog; with --supervise=no: none)\n"
    "  --timeout=SECONDS   until the hardware resets a machine that does not feed it (15)\n"
    "  --address=IPV4      where the service listens (127.0.0.1)\n"
    "  --port=PORT         the same as api.port of its config file (7497)\n"
    "  --state=FILE        keeps the reason of the last restart or reset (none)\n"
    "  --user=UID:GID,...  runs the service so: numbers, the first group is the main one (as the watchdog)\n"
    "  --grace-ms=MS       until a service that was started must answer (30000)\n"
    "  --ping-ms=MS        between pings (2000)\n"
    "  --pong-ms=MS        until a pong counts as missing; three in a row are a hang (3000)\n"
    "  --stop-ms=MS        from TERM to KILL of a service that failed (2000)\n"
    "  --quit-ms=MS        the same where the watchdog itself is asked to end; a game saves in that time (8000)\n"
    "  --window-ms=MS      in which three restarts are too many (300000)\n"
    "  --healthy-ms=MS     of pongs, until earlier resets are forgotten (60000)\n"
    "  --supervise=no      only pings, beside systemd (tells it READY and WATCHDOG) or another supervisor. A program\n"
    "                      behind -- is started once as its child; the watchdog passes TERM, INT and HUP on to it and\n"
    "                      ends as it ends.\n";

static int refuse(const char *word, const char *wanted) {
  fprintf(stderr, "tapdeck-watchdog: %s: %s; --help lists the options\n", word, wanted);
  return 64; /* EX_USAGE */
}

/* Reads an unsigned whole number up to `most`, and moves `from` after it. Returns -1 if there is none. */
static long take_number(const char **from, long most) {
  long number = 0;
  const char *at = *from;
  if (!isdigit((unsigned char)*at)) return -1;
  for (; isdigit((unsigned char)*at); at++) {
    if (number > most / 10) return -1;
    number = number * 10 + (*at - '0');
  }
  *from = at;
  return number <= most ? number : -1;
}

static bool read_user(struct options *options, const char *value) {
  const long ids_max = 0xfffffffe;
  const long uid = take_number(&value, ids_max);
  if (uid < 0 || *value != ':') return false;
  options->as_user = true;
  options->uid = (uid_t)uid;
  do {
    value++;
    const long gid = take_number(&value, ids_max);
    if (gid < 0 || options->group_count == groups_max) return false;
    options->groups[options->group_count++] = (gid_t)gid;
  } while (*value == ',');
  return *value == 0;
}

/* Returns 0. If the word is wrong, prints a sentence and returns the exit code. */
static int read_option(struct options *options, const char *word) {
  const struct {
    const char *name;
    long *into, least, most;
  } numbers[] = {
      {"--port=", &options->port, 1, 65535},
      {"--timeout=", &options->timeout_s, 1, 3600},
      {"--grace-ms=", &options->grace_ms, 1, option_ms_max},
      {"--ping-ms=", &options->ping_ms, 1, option_ms_max},
      {"--pong-ms=", &options->pong_ms, 1, option_ms_max},
      {"--stop-ms=", &options->stop_ms, 1, option_ms_max},
      {"--quit-ms=", &options->quit_ms, 1, option_ms_max},
      {"--window-ms=", &options->window_ms, 1, option_ms_max},
      {"--healthy-ms=", &options->healthy_ms, 1, option_ms_max},
  };
  struct in_addr address;
  const char *value = strchr(word, '=');
  value = value == NULL ? "" : value + 1;
  for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
    if (strncmp(word, numbers[n].name, strlen(numbers[n].name)) != 0) continue;
    const long number = take_number(&value, numbers[n].most);
    if (number < numbers[n].least || *value != 0) return refuse(word, "that is no number it takes");
    *numbers[n].into = number;
    return 0;
  }
  if (strncmp(word, "--address=", 10) == 0)
    return options->address = value, inet_pton(AF_INET, value, &address) == 1 ? 0 : refuse(word, "it takes an IPv4 address");
  if (strncmp(word, "--device=", 9) == 0)
    return options->device = value, *value != 0 ? 0 : refuse(word, "it takes a file, or none");
  if (strncmp(word, "--state=", 8) == 0)
    return options->state = value, *value != 0 ? 0 : refuse(word, "it takes a file");
  if (strncmp(word, "--user=", 7) == 0)
    return read_user(options, value) ? 0 : refuse(word, "it takes numbers: UID:GID,GID,...");
  if (strcmp(word, "--supervise=yes") == 0 || strcmp(word, "--supervise=no") == 0)
    return options->supervise = strcmp(value, "yes") == 0, 0;
  return refuse(word, "there is no such option");
}

/* Returns 0, or the exit code. */
static int read_options(struct options *options, int count, char **words) {
  const char *asked = NULL;
  int n = 1;
  for (; n < count && strcmp(words[n], "--") != 0; n++) {
    const int refused = read_option(options, words[n]);
    if (refused != 0) return refused;
  }
  if (n + 1 < count) options->program = words + n + 1;
  asked = options->device;
  if (asked == NULL && options->supervise) options->device = "/dev/watchdog";
  if (asked != NULL && strcmp(asked, "none") == 0) options->device = NULL;
  if (options->program != NULL && options->program[0][0] != '/')
    return refuse(options->program[0], "the program's whole path is wanted");
  if (options->supervise && options->program == NULL) return refuse("--", "the service to start must follow it");
  if (!options->supervise && options->device == NULL && options->state == NULL && getenv("NOTIFY_SOCKET") == NULL)
    return refuse("--supervise=no", "nobody would hear of it: give a --device or a --state, or start it from systemd");
  return 0;
}

/*
 * Ends this process like the service, so that the supervisor sees the same end. If it returns, the result is an exit
 * code.
 */
static int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  sigset_t none;
  sigemptyset(&none);
  signal(WTERMSIG(status), SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  raise(WTERMSIG(status));
  return 128 + WTERMSIG(status); /* The first process of a container survives the signals that it sends to itself. */
}

/* systemd recommends half of its interval (sd_watchdog_enabled(3)). */
static void heed_systemd(struct options *options) {
  const char *text = getenv("WATCHDOG_USEC");
  if (text == NULL) return;
  const long half_ms = take_number(&text, 1000L * option_ms_max) / 2000;
  if (half_ms > 0 && half_ms < options->ping_ms) options->ping_ms = half_ms;
}

int main(int count, char **words) {
  static struct guard guard;
  struct options options = {.address = "127.0.0.1", .port = 7497, .ping_ms = 2000, .pong_ms = 3000, .grace_ms = 30000,
                            .stop_ms = 2000, .quit_ms = 8000, .window_ms = 300000, .healthy_ms = 60000, .timeout_s = 15,
                            .supervise = true};
  if (count > 1 && strcmp(words[1], "--help") == 0) return fputs(help, stdout) < 0;
  const int refused = read_options(&options, count, words);
  if (refused != 0) return refused;

  sigset_t heard;
  sigemptyset(&heard);
  const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  for (size_t n = 0; n < sizeof wanted / sizeof wanted[0]; n++) sigaddset(&heard, wanted[n]);
  prctl(PR_SET_DUMPABLE, 0); /* Players of the same user cannot trace this process, and `end_as` leaves no second core dump. */
  if (!options.supervise) heed_systemd(&options);
  sigprocmask(SIG_BLOCK, &heard, NULL);
  signal(SIGPIPE, SIG_IGN);
  const int signals = signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return say("no signals can be heard error=%s", strerror(errno)), 70; /* EX_SOFTWARE */

  guard.options = &options;
  guard.device = -1;
  for (size_t n = 0; n <= restarts_max; n++) guard.restarts[n] = INT64_MIN / 2;
  read_state(&guard);
  enter(&guard, phase_starting);
  if (options.supervise) prctl(PR_SET_CHILD_SUBREAPER, 1); /* Processes that the service leaves become our children. */
  if (options.program != NULL) start_service(&guard);
  if (!options.supervise && options.program != NULL && guard.service == 0) return 71; /* EX_OSERR */
  watch(&guard, signals);
  release_device(&guard);
  return options.supervise ? 0 : end_as(guard.service_status);
}
