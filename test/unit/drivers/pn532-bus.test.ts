/**
 * A PN532 on I2C or SPI, where it differs from one on a serial line; the conformance suite has the rest.
 *
 * Covers: drivers/pn532-bus.ts, drivers/pn532/polled-link.ts, drivers/io/i2c.ts, drivers/io/spi.ts
 */
import { expect, test } from "bun:test";
import { openI2c } from "../../../drivers/io/i2c.ts";
import { openSpi } from "../../../drivers/io/spi.ts";
import { chipOnI2c, chipOnSpi, polledLink } from "../../../drivers/pn532/polled-link.ts";
import { createPn532I2c, pn532I2c, pn532Spi } from "../../../drivers/pn532-bus.ts";
import { ackFrame, encodeFrame, wakeUp } from "../../../drivers/protocol/pn532-frame.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { createI2cPn532 } from "../../emulators/pn532-bus.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

const context = { clock: systemClock, log: silentLog };
const never = new AbortController().signal;
const getFirmware = encodeFrame(Uint8Array.of(0xd4, 0x02));
const firmware = encodeFrame(Uint8Array.of(0xd5, 0x03, 0x32, 0x01, 0x06, 0x07));

test("frames go over SPI with their lowest bit first, behind a byte that says what follows", async () => {
  const sent: string[] = [];
  const answers = [Uint8Array.of(0, 0x80), new Uint8Array(300)];
  const chip = chipOnSpi({
    transfer(bytes) {
      sent.push(bytes.toHex());
      return answers.shift() ?? new Uint8Array(bytes.length);
    },
    close() {},
  });
  // The status of a frame that is ready is 01. With its bits in reverse order it is 80.
  expect(chip.isReady()).toBe(true);
  await chip.read();
  chip.write(Uint8Array.of(0x00, 0x00, 0xff, 0x02, 0xfe, 0xd4, 0x02, 0x2a, 0x00));
  // 02, 03 and 01 with their bits reversed; then 00 00 ff 02 fe d4 02 2a 00.
  expect(sent.map((one) => one.slice(0, 2))).toEqual(["40", "c0", "80"]);
  expect(sent[2]).toBe("800000ff407f2b405400");
});

test("a frame over I2C follows a status byte, and a chip that is busy has none", async () => {
  let status = 0;
  const chip = chipOnI2c({
    write() {},
    readNow: () => Uint8Array.of(status),
    read: async () => Uint8Array.of(status, ...ackFrame),
    close() {},
  });
  expect(chip.isReady()).toBe(false);
  expect(await chip.read()).toHaveLength(0);
  status = 1;
  expect(chip.isReady()).toBe(true);
  expect(await chip.read()).toEqual(ackFrame);
});

/** A link over a chip that has these frames ready, one after another, each with bytes without a meaning behind it. */
function linkOver(frames: Uint8Array[], writes: (frame: Uint8Array) => void = () => {}) {
  const clock = createManualClock();
  const heard: string[] = [];
  const chip = {
    write: writes,
    isReady: () => frames.length > 0,
    read: async () => Uint8Array.of(...(frames.shift() ?? []), 0x00, 0x00, 0xff, 0x03, 0xfd, 0xa5, 0xa5),
    close() {},
  };
  const link = polledLink("/dev/i2c-1", chip, clock);
  link.onBytes((bytes) => heard.push(bytes.toHex()));
  return { link, clock, heard };
}

test("bytes after the end of a frame, which look like another one, are not heard", async () => {
  const long = encodeFrame(Uint8Array.of(0xd5, 0x41, ...new Uint8Array(260)));
  const { link, clock, heard } = linkOver([ackFrame, firmware, long]);
  for (let round = 0; round < 3; round++) {
    await eventually(() => expect(heard).toHaveLength(round + 1));
    clock.advance(10);
  }
  expect(heard).toEqual([ackFrame, firmware, long].map((frame) => frame.toHex()));
  await link.close();
});

test("a chip that sleeps gets its frame a second time, and without the bytes that wake a serial line", async () => {
  const taken: string[] = [];
  let isAsleep = true;
  const { link, clock } = linkOver([], (frame) => {
    if (isAsleep) {
      isAsleep = false;
      throw new Error("no acknowledgement");
    }
    taken.push(frame.toHex());
  });
  const writing = link.write(Uint8Array.of(...wakeUp, ...getFirmware));
  clock.advance(3);
  await writing;
  expect(taken).toEqual([getFirmware.toHex()]);
  await link.close();
});

test("without a chip the sentence names the switches, and nothing is thrown meanwhile", async () => {
  const { device, open } = createI2cPn532("/dev/i2c-1");
  await device.unplug();
  const opening = createPn532I2c(open).open("/dev/i2c-1", context, never);
  await expect(opening).rejects.toThrow(
    "/dev/i2c-1: no PN532 answers: check its power, its wiring, and that it is switched to I2C",
  );
});

test("a bus that is not there, or is none, is refused in a sentence", async () => {
  await expect(pn532I2c.open("/dev/i2c-99", context, never)).rejects.toThrow("switch I2C on");
  await expect(pn532Spi.open("/dev/spidev9.9", context, never)).rejects.toThrow("switch SPI on");
  expect(() => openI2c("/dev/null", 0x24)).toThrow("it is no I2C bus");
  expect(() => openSpi("/dev/null", 1_000_000)).toThrow("it is no SPI device");
});
