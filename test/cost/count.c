/*
 * A plug-in of QEMU's user emulation: counts the instructions that each thread runs, in a file that others can read meanwhile.
 *
 *   qemu-aarch64 -plugin count.so,to=FILE PROGRAM
 *
 * The file has 256 counts of 64 bits, in the byte order of this machine; the first is that of the main thread. The functions and
 * types are those of QEMU's include/qemu/qemu-plugin.h; -DAPI=N is the version of that interface.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
typedef void (*on_translated)(uint64_t id, struct qemu_plugin_tb *block);
typedef void (*on_run)(unsigned int thread, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, on_translated call);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, on_run call, int flags, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);

EXPORT int qemu_plugin_version = API;

enum { threads_max = 256 };
static uint64_t *counts;

/* Each thread writes its own count only. */
static void run(unsigned int thread, void *instructions) { counts[thread % threads_max] += (uintptr_t)instructions; }

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, run, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "to=", 3) != 0) return -1;
  int file = open(argv[0] + 3, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, threads_max * sizeof *counts) != 0) return -1;
  counts = mmap(NULL, threads_max * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (counts == MAP_FAILED) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
