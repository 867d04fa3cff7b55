/*
 * A plugin of QEMU (QEMU, "TCG Plugins") that counts the instructions that the guest executes, of each of its processors:
 *
 *   -plugin FILE,counts=COUNTS     a number of 64 bits in the host's byte order for each, in the file COUNTS, at all times
 *
 * A block of instructions counts as a whole, also if a fault ends it early.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { processors_max = 8 };

/* The types of version 1 of the interface (qemu-plugin.h). Debian does not package that header. */
typedef uint64_t plugin_id;
struct block;
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*)(plugin_id, struct block *));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct block *, void (*)(unsigned int, void *), int registers, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct block *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static volatile uint64_t *counts;

/* Each processor has a thread and a number of its own. */
static void executed(unsigned int processor, void *instructions)
{
	if (processor < processors_max)
		counts[processor] += (uintptr_t)instructions;
}

static void translated(plugin_id id, struct block *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *machine, int count, char **words)
{
	static const char name[] = "counts=";
	const size_t bytes = processors_max * sizeof *counts;
	void *map;
	int file;

	(void)machine;
	if (count != 1 || strncmp(words[0], name, sizeof name - 1) != 0)
		return 1;
	file = open(words[0] + sizeof name - 1, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
		return 1;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return 1;
	counts = map;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
