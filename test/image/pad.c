/*
 * A controller inside the guest: makes one by /dev/uinput (Linux, Documentation/input/uinput.rst) with the kernel's gamepad
 * protocol (Documentation/input/gamepad.rst). It presses the buttons that its standard input names, one line each:
 *
 *   304 1     the button of this code, in decimal, is pressed; 0 releases it
 *   16 -1     the axis of this code is at this value: no button of a controller has a code below 256
 *
 *   pad VENDOR PRODUCT NAME <COMMANDS     the ids in hex
 */
#include <fcntl.h>
#include <linux/uinput.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void emit(int pad, int type, int code, int value)
{
	struct input_event event = { .type = type, .code = code, .value = value };

	if (write(pad, &event, sizeof event) != sizeof event)
		exit(1);
}

int main(int argc, char **argv)
{
	static const int buttons[] = { BTN_SOUTH, BTN_EAST, BTN_NORTH, BTN_WEST, BTN_TL, BTN_TR, BTN_SELECT,
		BTN_START, BTN_MODE, BTN_THUMBL, BTN_THUMBR };
	static const int axes[] = { ABS_X, ABS_Y, ABS_Z, ABS_RX, ABS_RY, ABS_RZ, ABS_HAT0X, ABS_HAT0Y };
	struct uinput_setup setup = { .id.bustype = BUS_USB, .id.version = 0x110 };
	int pad = open("/dev/uinput", O_WRONLY);
	int code, value;

	if (argc != 4 || pad < 0 || ioctl(pad, UI_SET_EVBIT, EV_KEY) < 0 || ioctl(pad, UI_SET_EVBIT, EV_ABS) < 0) {
		perror("pad");
		return 1;
	}
	setup.id.vendor = strtol(argv[1], NULL, 16);
	setup.id.product = strtol(argv[2], NULL, 16);
	strncpy(setup.name, argv[3], sizeof setup.name - 1);
	for (unsigned i = 0; i < sizeof buttons / sizeof *buttons; i++)
		ioctl(pad, UI_SET_KEYBIT, buttons[i]);
	for (unsigned i = 0; i < sizeof axes / sizeof *axes; i++) {
		int isHat = axes[i] >= ABS_HAT0X, isTrigger = axes[i] == ABS_Z || axes[i] == ABS_RZ;
		struct uinput_abs_setup axis = { .code = axes[i], .absinfo = {
			.minimum = isHat ? -1 : isTrigger ? 0 : -32768, .maximum = isHat ? 1 : isTrigger ? 255 : 32767 } };

		ioctl(pad, UI_ABS_SETUP, &axis);
	}
	if (ioctl(pad, UI_DEV_SETUP, &setup) < 0 || ioctl(pad, UI_DEV_CREATE) < 0) {
		perror("pad");
		return 1;
	}
	while (scanf("%d %d", &code, &value) == 2) {
		emit(pad, code < BTN_MISC ? EV_ABS : EV_KEY, code, value);
		emit(pad, EV_SYN, SYN_REPORT, 0);
	}
	return 0;
}
