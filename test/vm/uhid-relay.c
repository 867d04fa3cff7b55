/*
 * HID devices that the host emulates, made inside the guest. The program relays events of /dev/uhid (Linux,
 * Documentation/hid/uhid.rst) to and from a port of the virtual machine. Each event follows its length in four bytes,
 * little-endian.
 *
 *   uhid-relay /dev/vport1p1
 *
 * The program knows nothing of the devices. A fault ends the program with a code other than 0, and the kernel removes the
 * device.
 */
#include <fcntl.h>
#include <linux/uhid.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int read_all(int fd, void *to, size_t bytes)
{
	for (size_t have = 0; have < bytes;) {
		ssize_t got = read(fd, (char *)to + have, bytes - have);
		if (got <= 0)
			return -1;
		have += (size_t)got;
	}
	return 0;
}

static int write_all(int fd, const void *from, size_t bytes)
{
	for (size_t sent = 0; sent < bytes;) {
		ssize_t took = write(fd, (const char *)from + sent, bytes - sent);
		if (took <= 0)
			return -1;
		sent += (size_t)took;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct uhid_event event;
	uint32_t bytes;
	int port = argc > 1 ? open(argv[1], O_RDWR) : -1;
	int uhid = open("/dev/uhid", O_RDWR);

	if (port < 0 || uhid < 0) {
		perror("uhid-relay");
		return 1;
	}
	for (;;) {
		struct pollfd ends[] = { { port, POLLIN, 0 }, { uhid, POLLIN, 0 } };

		if (poll(ends, 2, -1) < 0)
			return 1;
		if (ends[0].revents & POLLIN) {
			/* The host has the byte order of the guest: both are little-endian. */
			if (read_all(port, &bytes, sizeof bytes) || bytes > sizeof event)
				return 1;
			if (read_all(port, &event, bytes) || write(uhid, &event, bytes) < 0)
				return 1;
		} else if (ends[0].revents) {
			return 0;
		}
		if (ends[1].revents & POLLIN) {
			ssize_t got = read(uhid, &event, sizeof event);

			if (got < 4)
				return 1;
			bytes = (uint32_t)got;
			if (write_all(port, &bytes, sizeof bytes) || write_all(port, &event, bytes))
				return 1;
		}
	}
}
