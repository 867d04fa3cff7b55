// SPDX-License-Identifier: MIT
/* Two lights of a case in the kernel's class of LEDs: `tapdeck`, which has one color, and `tapdeck:rgb:status`, which has three. */
#include <linux/led-class-multicolor.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <dt-bindings/leds/common.h>

static struct platform_device *parent;

static int set_brightness(struct led_classdev *led, enum led_brightness brightness)
{
	return 0;
}

static struct led_classdev one_color = {
	.name = "tapdeck",
	.max_brightness = 255,
	.brightness_set_blocking = set_brightness,
};

static struct mc_subled channels[] = {
	{ .color_index = LED_COLOR_ID_GREEN, .channel = 0 },
	{ .color_index = LED_COLOR_ID_RED, .channel = 1 },
	{ .color_index = LED_COLOR_ID_BLUE, .channel = 2 },
};

static struct led_classdev_mc colors = {
	.led_cdev = {
		.name = "tapdeck:rgb:status",
		.max_brightness = 255,
		.brightness_set_blocking = set_brightness,
	},
	.num_colors = ARRAY_SIZE(channels),
	.subled_info = channels,
};

static int __init begin(void)
{
	int error;

	parent = platform_device_register_simple("case-lights", -1, NULL, 0);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	error = devm_led_classdev_register(&parent->dev, &one_color);
	if (!error)
		error = devm_led_classdev_multicolor_register(&parent->dev, &colors);
	if (error)
		platform_device_unregister(parent);
	return error;
}

module_init(begin);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Lights of a case");
