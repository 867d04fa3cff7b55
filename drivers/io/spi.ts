/**
 * One device on an SPI bus of the kernel, /dev/spidevB.C (docs.kernel.org, "SPI userspace API"; linux/spi/spidev.h), in mode 0.
 * The controller of the Raspberry Pi sends the highest bit of a byte first and knows no other order.
 */

import { ptr } from "bun:ffi";
import { closeSync, constants } from "node:fs";
import { openDevice } from "./fd-stream.ts";
import { ioctl, ioctlFilled } from "./libc.ts";
import { readerGone, type SpiDevice } from "./links.ts";

const message = 0x40206b00; // The request SPI_IOC_MESSAGE(1), with a struct spi_ioc_transfer of 32 bytes.
const writeMode = 0x40016b01; // The request SPI_IOC_WR_MODE, with one byte.
const transferBytes = 32;
const at = { send: 0, receive: 8, length: 16, speed: 20, bits: 27 } as const;
const mode0 = 0;
const bitsPerWord = 8;

/** Opens the device, or throws `ServiceError("reader-gone")`. `hertz` is the clock. The bus is not used. */
export function openSpi(path: string, hertz: number): SpiDevice {
  const fd = openDevice(path, constants.O_RDWR, openReasons);
  if (!ioctl(fd, writeMode, Uint8Array.of(mode0))) {
    closeSync(fd);
    throw readerGone(path, "it is no SPI device: name one such as /dev/spidev0.0");
  }
  return {
    transfer(bytes) {
      // The kernel writes the answer over the bytes that were sent, so they are copied.
      const exchanged = bytes.slice();
      const request = new Uint8Array(transferBytes);
      const view = new DataView(request.buffer);
      view.setBigUint64(at.send, BigInt(ptr(exchanged)), true);
      view.setBigUint64(at.receive, BigInt(ptr(exchanged)), true);
      view.setUint32(at.length, exchanged.length, true);
      view.setUint32(at.speed, hertz, true);
      view.setUint8(at.bits, bitsPerWord);
      if (!ioctlFilled(fd, message, request)) throw new Error("the bus refused a transfer");
      return exchanged;
    },
    close: () => closeSync(fd),
  };
}

const openReasons = {
  ENOENT: "there is no such device: switch SPI on, on a Raspberry Pi by dtparam=spi=on in config.txt",
  EACCES: "this user may not open it: join the group spi and log in again",
  EISDIR: "it is no SPI device: name one such as /dev/spidev0.0",
};
