/**
 * One device on an I2C bus of the kernel, /dev/i2c-N (docs.kernel.org, "I2C Device Interface"; linux/i2c-dev.h). Each call is one
 * transfer on the bus.
 */
import { closeSync, constants, read, readSync, writeSync } from "node:fs";
import { openDevice } from "./fd-stream.ts";
import { ioctlValue } from "./libc.ts";
import { type I2cDevice, readerGone } from "./links.ts";

const i2cSlave = 0x0703; // I2C_SLAVE, which a driver of the kernel at this address refuses.

/** Opens the device with this address of seven bits, or throws `ServiceError("reader-gone")`. It does not touch the bus. */
export function openI2c(path: string, address: number): I2cDevice {
  const fd = openDevice(path, constants.O_RDWR, openReasons);
  if (!ioctlValue(fd, i2cSlave, address)) {
    closeSync(fd);
    const hex = address.toString(16);
    throw readerGone(path, `it is no I2C bus, or a driver of the kernel holds the address 0x${hex}`);
  }
  return {
    write(bytes) {
      writeSync(fd, bytes);
    },
    readNow(count) {
      const bytes = new Uint8Array(count);
      readSync(fd, bytes, 0, count, null);
      return bytes;
    },
    read: (count) =>
      new Promise((resolve, reject) => {
        const bytes = new Uint8Array(count);
        read(fd, bytes, 0, count, null, (error) => (error === null ? resolve(bytes) : reject(error)));
      }),
    close: () => closeSync(fd),
  };
}

const openReasons = {
  ENOENT: "there is no such bus: switch I2C on, on a Raspberry Pi by dtparam=i2c_arm=on in config.txt",
  EACCES: "this user may not open it: join the group i2c and log in again",
  EISDIR: "it is no I2C bus: name one such as /dev/i2c-1",
};
