/**
 * NXP PN532 on a serial line: bare modules on a board's own UART, and the many USB sticks with a PN532 and a USB-serial
 * converter.
 *
 *   link       115200 baud, 8N1; raised to 460800 if chip and line support it. `?baud=115200` after the path fixes it.
 *   tags       ISO/IEC 14443 type A and FeliCa, one at a time; each kind is in drivers/tags
 *
 *   family                          read              removal   write
 *   NTAG213/215/216                 NDEF, memory      yes       NDEF
 *   Ultralight, C, EV1              NDEF, memory      yes       NDEF, formats
 *   MIFARE Classic, Mini, 1K, 4K    NDEF by MAD       yes       NDEF, formats; public keys only
 *   DESFire, other ISO 14443-4      NDEF of Type 4    yes       NDEF, if it has an NDEF file
 *   FeliCa Lite-S                   NDEF of Type 3    yes       NDEF, formats
 *   amiibo, LEGO Dimensions         which figure      yes       no
 *   payment, transit, phones        UID               yes       no
 *
 * Quirks:
 * - After power-up the chip sleeps until the line toggles, and then refuses RF commands until SAMConfiguration
 *   (UM0701-02, 7.2.11 and 7.2.10).
 * - A chip that loses its power while it waits for a tag stays silent: the driver queries it twice a second.
 * - The chip waits for one kind of target at a time. The driver lets it wait for type A, and looks for a FeliCa twice a
 * second.
 * - Of two tags in the field, each search lists the one that is not active. The driver lists the known one by its UID.
 * - A MIFARE Classic falls silent at a wrong key and must be selected again (MF1S50YYX, 10.1).
 * - A plain Ultralight stops listening at GET_VERSION (MF0ICU1, 7.3) and must be selected again.
 * - An earlier run that was killed leaves the chip at the raised rate: both rates are tried.
 */
import { type Clock, sleep } from "../src/core/clock.ts";
import { assert } from "../src/core/errors.ts";
import type { Candidate, Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { type ByteLink, readerGone } from "./io/links.ts";
import { openSerial } from "./io/serial.ts";
import { listSerialPorts, type SerialPortInfo } from "./io/serial-list.ts";
import { type Chip, createChip } from "./pn532/chip.ts";
import { fieldOf, recheckRetries } from "./pn532/pn532-field.ts";
import {
  baudRateCodes,
  type FirmwareVersion,
  getFirmwareVersion,
  parseFirmwareVersion,
  samNormalMode,
  setMaxRetries,
  setSerialBaudRate,
} from "./protocol/pn532-commands.ts";
import { ackFrame, wakeUp } from "./protocol/pn532-frame.ts";
import { createFieldSession } from "./tags/field-session.ts";

const firstBaudRate = 115_200; // The rate of the chip after power-up (UM0701-02, 7.2.8).
const raisedBaudRate = 460_800; // The highest rate that FTDI, CP210x, CH340 and the Pi's PL011 all produce without an error.
// The host's ACK must have left the line before the rate changes. Its 6 bytes may be in the converter's own buffer,
// which USB empties every millisecond. After the ACK the chip also needs some time.
const rateChangeMs = 5;

/** USB-serial converters that PN532 sticks are built with. */
const usb: readonly { readonly id: string; readonly example: string }[] = [
  { id: "0403:6001", example: "FTDI FT232R, /dev/serial/by-id/usb-FTDI_FT232R_USB_UART_A10K5J2M-if00-port0" },
  { id: "0403:6015", example: "FTDI FT231X, /dev/serial/by-id/usb-FTDI_FT231X_USB_UART_DN02ABCD-if00-port0" },
  { id: "1a86:7523", example: "CH340, /dev/serial/by-id/usb-1a86_USB_Serial-if00-port0" },
  { id: "1a86:5523", example: "CH341, /dev/serial/by-id/usb-1a86_USB2.0-Ser_-if00-port0" },
  {
    id: "10c4:ea60",
    example: "CP2102, /dev/serial/by-id/usb-Silicon_Labs_CP2102_USB_to_UART_Bridge_0001-if00-port0",
  },
  {
    id: "067b:2303",
    example: "PL2303, /dev/serial/by-id/usb-Prolific_Technology_Inc._USB-Serial_Controller-if00-port0",
  },
];
/** UARTs of the boards themselves, by kernel driver. */
const boardDrivers: readonly string[] = ["uart-pl011", "bcm2835-aux-uart"];

export const pn532Uart = createPn532Uart(listSerialPorts);

/** The driver with a given way to find serial ports. Tests have their own. */
export function createPn532Uart(list: () => Promise<readonly SerialPortInfo[]>) {
  return {
    id: "pn532-uart",
    capabilities: ["read", "write", "removable"],
    async detect() {
      return likelyPorts(await list());
    },
    async open(pathAndOptions, context, signal) {
      const [path = "", query = ""] = pathAndOptions.split("?");
      const fixed = new URLSearchParams(query).get("baud");
      const baudRate = fixed === null ? undefined : Number(fixed);
      // The rate is checked before the port is opened, because a rate of 0 would hang up its line.
      if (baudRate !== undefined && !baudRateCodes.has(baudRate)) {
        const rates = [...baudRateCodes.keys()].join(", ");
        throw readerGone(path, `a PN532 cannot run at "${fixed}" baud: use one of ${rates}`);
      }
      signal.throwIfAborted();
      const link = await openSerial(path, { baudRate: baudRate ?? firstBaudRate });
      return openPn532(link, context, signal, { baudRate });
    },
  } as const satisfies Driver;
}

/**
 * Makes a session on an open link, or closes the link if no PN532 answers. With `baudRate` the line stays at this rate.
 * `advice` names the things to check besides the power.
 */
export async function openPn532(
  link: ByteLink,
  context: DriverContext,
  signal: AbortSignal,
  {
    baudRate,
    advice = serialAdvice,
  }: { readonly baudRate?: number | undefined; readonly advice?: string } = {},
): Promise<ReaderSession> {
  const { clock } = context;
  const chip = createChip(link, clock, context.log);
  try {
    const rates = baudRate === undefined ? [firstBaudRate, raisedBaudRate] : [baudRate];
    const firmware = await wake(chip, context, rates, signal);
    if (firmware === undefined) throw noChip(link.path, advice);
    const raised = baudRate === undefined && (await raiseBaudRate(chip, context, signal));
    await chip.call(setMaxRetries(recheckRetries), signal);
    return createFieldSession(
      {
        info: `PN532 v${firmware.version}.${firmware.revision}`,
        field: fieldOf(chip, clock),
        closedError: () => readerGone(link.path, "it was closed"),
        async close() {
          await chip.abort();
          // Other programs expect the chip at its first rate. A failure is ignored, because the chip may be gone.
          if (raised) await changeBaudRate(chip, clock, firstBaudRate).catch(() => {});
          await link.close();
        },
      },
      context,
    );
  } catch (error) {
    await link.close();
    throw error;
  }
}

const serialAdvice = "its wiring (RX to TX) and that it is switched to HSU";

function noChip(path: string, advice: string): Error {
  return readerGone(path, `no PN532 answers: check its power, ${advice}`);
}

/** Finds the chip at one of these rates, wakes and configures it; undefined if none answers. */
async function wake(
  chip: Chip,
  { clock }: DriverContext,
  rates: readonly number[],
  signal: AbortSignal,
): Promise<FirmwareVersion | undefined> {
  const { link } = chip;
  for (const rate of rates) {
    await link.setBaudRate(rate);
    // The ACK ends a command of an earlier run.
    await link.write(Uint8Array.of(...wakeUp, ...ackFrame));
    await sleep(clock, rateChangeMs, signal);
    const configure = () => chip.probe(samNormalMode, signal);
    if ((await configure()) === undefined && (await configure()) === undefined) continue;
    const answer = await chip.call(getFirmwareVersion, signal);
    const firmware = parseFirmwareVersion(answer);
    if (firmware?.ic !== 0x32) throw readerGone(link.path, "the device that answers there is not a PN532");
    return firmware;
  }
  return undefined;
}

/** Raises the rate of the line. Returns false if chip or line refuse it, and the first rate stays. */
async function raiseBaudRate(chip: Chip, context: DriverContext, signal: AbortSignal): Promise<boolean> {
  try {
    await changeBaudRate(chip, context.clock, raisedBaudRate, signal);
    if ((await chip.probe(getFirmwareVersion, signal)) !== undefined) return true;
  } catch (error) {
    signal.throwIfAborted();
    context.log.debug("pn532", "the line stays at its first rate", {
      path: chip.link.path,
      error: String(error),
    });
  }
  if ((await wake(chip, context, [firstBaudRate, raisedBaudRate], signal)) === undefined)
    throw noChip(chip.link.path, serialAdvice);
  return false;
}

/** Changes the chip's rate and the line's (UM0701-02, 7.2.8). */
async function changeBaudRate(
  chip: Chip,
  clock: Clock,
  baudRate: number,
  signal?: AbortSignal,
): Promise<void> {
  const code = baudRateCodes.get(baudRate);
  assert(code !== undefined, "the chip has a code for the rate");
  await chip.call(setSerialBaudRate(code), signal);
  await chip.abort(); // The ACK to the chip's answer, after which the chip changes its rate.
  await sleep(clock, rateChangeMs, signal);
  await chip.link.setBaudRate(baudRate);
  await sleep(clock, rateChangeMs, signal);
}

/**
 * The ports that may be a PN532. A board's own UART most likely has a module on it, but a USB converter may belong to any
 * device.
 */
export function likelyPorts(ports: readonly SerialPortInfo[]): readonly Candidate[] {
  return ports.map((port) => {
    const { path, stamp, byPath, vendorId } = port;
    const why = ruledOut(port);
    return {
      path,
      stamp,
      stablePath: byPath ?? path,
      ...(vendorId === undefined ? { isOnBoard: true } : { isShared: true }),
      ...(why === undefined ? {} : { ruledOut: why }),
    };
  });
}

// Light guns with one of these converters are excluded, and so are devices that are also a keyboard or a mouse. A stray
// byte would make them shoot or type. The kernel's console is also excluded.
function ruledOut(port: SerialPortInfo): string | undefined {
  const { hasHid, isConsole, vendorId, productId, driver = "none" } = port;
  if (hasHid) return "its device is also a keyboard, a mouse or a light gun";
  if (isConsole) return "the kernel's console is on it, or a shell";
  if (vendorId === undefined)
    return boardDrivers.includes(driver) ? undefined : `its driver, ${driver}, is that of no known board`;
  const id = `${vendorId}:${productId}`;
  return usb.some((known) => known.id === id)
    ? undefined
    : `its USB id, ${id}, is that of no known serial adapter`;
}
