// SPDX-License-Identifier: MIT
/*
 * Two buses whose devices are outside the virtual machine. The kernel's own spidev and i2c-dev use these buses. A
 * transfer is read and answered at /dev/spi-relay and /dev/i2c-relay.
 *
 *   request  address, 1 if the host reads, count in two bytes, lowest first; then `count` bytes, but none for a read of I2C
 *   answer   1 if the device acknowledged; then `count` bytes, but none for a write of I2C
 *
 * On SPI the address is the chip select, and bytes go both ways. The other side sees neither the mode nor the word
 * length, so only mode 0 and eight bits are accepted here.
 */
#include <linux/fs.h>
#include <linux/i2c.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/spi/spi.h>
#include <linux/uaccess.h>

#define BYTES_MAX 4096
#define HEAD_BYTES 4
#define CHIP_SELECTS 2

struct relay {
	struct miscdevice device;
	/* One transfer at a time. */
	struct mutex busy;
	struct mutex lock;
	wait_queue_head_t changed;
	u8 request[HEAD_BYTES + BYTES_MAX];
	size_t request_bytes, taken_bytes;
	u8 answer[1 + BYTES_MAX];
	size_t wanted_bytes, answered_bytes;
};

static struct relay spi_relay, i2c_relay;
static struct platform_device *parent;
static struct spi_controller *spi_bus;

/*
 * Makes a transfer. If `sent` is missing, zeros are sent. `received` may also be missing. Returns false if the device
 * did not acknowledge.
 */
static bool exchange(struct relay *relay, u8 address, bool reads, const u8 *sent, u8 *received, size_t bytes, bool both)
{
	size_t sent_bytes = both || !reads ? bytes : 0;
	size_t wanted_bytes = 1 + (both || reads ? bytes : 0);
	bool acknowledged;

	mutex_lock(&relay->busy);
	mutex_lock(&relay->lock);
	relay->request[0] = address;
	relay->request[1] = reads;
	relay->request[2] = bytes & 0xff;
	relay->request[3] = bytes >> 8;
	memset(relay->request + HEAD_BYTES, 0, sent_bytes);
	if (sent)
		memcpy(relay->request + HEAD_BYTES, sent, sent_bytes);
	relay->answered_bytes = 0;
	relay->wanted_bytes = wanted_bytes;
	relay->taken_bytes = 0;
	relay->request_bytes = HEAD_BYTES + sent_bytes;
	mutex_unlock(&relay->lock);
	wake_up_all(&relay->changed);
	wait_event(relay->changed, READ_ONCE(relay->answered_bytes) == wanted_bytes);
	mutex_lock(&relay->lock);
	relay->wanted_bytes = 0;
	relay->answered_bytes = 0;
	acknowledged = relay->answer[0] == 1;
	if (received)
		memcpy(received, relay->answer + 1, bytes);
	mutex_unlock(&relay->lock);
	mutex_unlock(&relay->busy);
	return acknowledged;
}

static struct relay *relay_of(struct file *file)
{
	return container_of(file->private_data, struct relay, device);
}

static ssize_t relay_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	struct relay *relay = relay_of(file);
	ssize_t result;

	if (wait_event_interruptible(relay->changed, READ_ONCE(relay->taken_bytes) < READ_ONCE(relay->request_bytes)))
		return -ERESTARTSYS;
	mutex_lock(&relay->lock);
	result = min(count, relay->request_bytes - relay->taken_bytes);
	if (copy_to_user(to, relay->request + relay->taken_bytes, result))
		result = -EFAULT;
	else
		relay->taken_bytes += result;
	mutex_unlock(&relay->lock);
	return result;
}

static ssize_t relay_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	struct relay *relay = relay_of(file);
	ssize_t result = count;

	mutex_lock(&relay->lock);
	if (count > relay->wanted_bytes - relay->answered_bytes)
		result = -EINVAL;
	else if (copy_from_user(relay->answer + relay->answered_bytes, from, count))
		result = -EFAULT;
	else
		relay->answered_bytes += count;
	mutex_unlock(&relay->lock);
	wake_up_all(&relay->changed);
	return result;
}

/* misc_open leaves the miscdevice in private_data. */
static const struct file_operations relay_files = {
	.owner = THIS_MODULE,
	.read = relay_read,
	.write = relay_write,
};

static int relay_register(struct relay *relay, const char *name)
{
	mutex_init(&relay->busy);
	mutex_init(&relay->lock);
	init_waitqueue_head(&relay->changed);
	relay->device = (struct miscdevice){ .minor = MISC_DYNAMIC_MINOR, .name = name, .fops = &relay_files };
	return misc_register(&relay->device);
}

static int spi_transfer(struct spi_controller *controller, struct spi_device *device, struct spi_transfer *transfer)
{
	if (transfer->len == 0 || transfer->len > BYTES_MAX || transfer->bits_per_word != 8 ||
	    (device->mode & SPI_MODE_X_MASK) != 0)
		return -EINVAL;
	exchange(&spi_relay, device->chip_select, true, transfer->tx_buf, transfer->rx_buf, transfer->len, true);
	return 0;
}

static int i2c_transfer_all(struct i2c_adapter *adapter, struct i2c_msg *messages, int count)
{
	int at;

	for (at = 0; at < count; at++) {
		struct i2c_msg *message = &messages[at];
		bool reads = (message->flags & I2C_M_RD) != 0;

		if (message->len == 0 || message->len > BYTES_MAX)
			return -EINVAL;
		if (!exchange(&i2c_relay, message->addr, reads, reads ? NULL : message->buf,
			      reads ? message->buf : NULL, message->len, false))
			return -EREMOTEIO;
	}
	return count;
}

static u32 i2c_functions(struct i2c_adapter *adapter)
{
	return I2C_FUNC_I2C;
}

static const struct i2c_algorithm i2c_algorithm = { .master_xfer = i2c_transfer_all, .functionality = i2c_functions };
/* This number is that of the bus on the header of a Raspberry Pi. */
static struct i2c_adapter i2c_bus = { .owner = THIS_MODULE, .name = "relay", .nr = 1, .algo = &i2c_algorithm };

static int spi_register(void)
{
	/* This is one of the names that spidev accepts. An emulated device has no name of its own. */
	struct spi_board_info device = { .modalias = "dh2228fv", .max_speed_hz = 10000000, .mode = SPI_MODE_0 };
	int result;

	spi_bus = spi_alloc_master(&parent->dev, 0);
	if (!spi_bus)
		return -ENOMEM;
	spi_bus->bus_num = 0;
	spi_bus->num_chipselect = CHIP_SELECTS;
	spi_bus->mode_bits = SPI_MODE_X_MASK;
	spi_bus->bits_per_word_mask = SPI_BPW_MASK(8);
	spi_bus->transfer_one = spi_transfer;
	result = spi_register_controller(spi_bus);
	if (result) {
		spi_controller_put(spi_bus);
		return result;
	}
	for (device.chip_select = 0; device.chip_select < CHIP_SELECTS; device.chip_select++) {
		if (!spi_new_device(spi_bus, &device)) {
			spi_unregister_controller(spi_bus);
			return -ENODEV;
		}
	}
	return 0;
}

static int __init relay_init(void)
{
	int result = relay_register(&spi_relay, "spi-relay");

	if (result)
		return result;
	result = relay_register(&i2c_relay, "i2c-relay");
	if (result)
		goto no_i2c_relay;
	parent = platform_device_register_simple("bus-relay", -1, NULL, 0);
	if (IS_ERR(parent)) {
		result = PTR_ERR(parent);
		goto no_parent;
	}
	i2c_bus.dev.parent = &parent->dev;
	result = i2c_add_numbered_adapter(&i2c_bus);
	if (result)
		goto no_i2c_bus;
	result = spi_register();
	if (!result)
		return 0;
	i2c_del_adapter(&i2c_bus);
no_i2c_bus:
	platform_device_unregister(parent);
no_parent:
	misc_deregister(&i2c_relay.device);
no_i2c_relay:
	misc_deregister(&spi_relay.device);
	return result;
}
module_init(relay_init);

MODULE_DESCRIPTION("Buses whose devices are outside of the virtual machine");
MODULE_LICENSE("Dual MIT/GPL");
