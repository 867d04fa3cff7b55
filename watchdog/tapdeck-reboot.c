/**
 * tapdeck-reboot [WORD]: stops the system in order and restarts it. An optional word goes to the firmware.
 *
 * BusyBox's `reboot` passes no word, and the Raspberry Pi's firmware needs `0 tryboot` to try another system once. The program
 * returns at once. A child continues, detached from the caller, whose terminal may end with the services. It runs
 * /etc/init.d/rcK for at most half a minute, syncs the disks, and calls reboot(2).
 *
 * Exit codes: 0 the restart has begun, 1 the system refused it, 64 wrong usage.
 */
#define _GNU_SOURCE
#include <linux/reboot.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  stop_ms = 30000, /* The watchdog may take 14 s to end a service and its game. A script that hangs must not prevent the restart. */
  poll_ms = 50,
};

/* Runs the script that stops all services, and continues if it does not end in time. */
static void stop_everything(void) {
  const pid_t script = fork();
  if (script == 0) {
    execl("/etc/init.d/rcK", "rcK", (char *)NULL);
    _exit(1);
  }
  const struct timespec pause = {.tv_nsec = poll_ms * 1000000L};
  for (int waited = 0; script > 0 && waited < stop_ms; waited += poll_ms) {
    if (waitpid(script, NULL, WNOHANG) != 0) return;
    nanosleep(&pause, NULL);
  }
}

static void restart(const char *word) {
  sync();
  if (word != NULL)
    syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART2, word);
  /* A kernel that refuses the word restarts without it, into the kept system. */
  syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART, NULL);
}

int main(int count, char **words) {
  if (count > 2 || (count == 2 && words[1][0] == '-')) {
    fputs("tapdeck-reboot [WORD]: restarts the machine, with a word for its firmware\n", stderr);
    return 64;
  }
  if (geteuid() != 0) {
    fputs("tapdeck-reboot: only root may restart the machine\n", stderr);
    return 1;
  }
  const pid_t child = fork();
  if (child < 0) {
    perror("tapdeck-reboot");
    return 1;
  }
  if (child > 0) return 0;
  setsid();
  /* The shell that started this program is about to end. */
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  stop_everything();
  restart(count == 2 ? words[1] : NULL);
  return 1;
}
