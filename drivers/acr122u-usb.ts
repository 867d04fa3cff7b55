/**
 * ACS ACR122U over USB, and other contactless readers of the smart-card class (CCID 1.1).
 *
 *   link       bulk out, bulk in, interrupt in. The path is that of the USB port, as in /sys/bus/usb/devices: `1-1.4`
 *   chip       PN532 behind the reader's own processor; in other readers unknown
 *   tags       one at a time
 *
 *   ACR122U and clones   every family that a PN532 on a serial line reads and writes, with the same text and data
 *   other readers        by PC/SC part 3: 16 bytes at a time, if the reader has the commands for it; of several slots the
 *                        contactless one, if the table has the reader's ids
 *
 * Quirks that others have reported. None was seen here on a real reader:
 * - The first answer after an opening may come twice, because the ends of the pipe disagree about its toggle bit: an answer
 *   counts only with the sequence number of its command (nfcpy, reports 105 and 200, of firmware 215 and 216).
 * - Without a card IccPowerOn fails, and still returns an answer to reset.
 * - It accepts blocks even without a card, and refuses escapes until a setting allows them: the driver sends only blocks.
 * - The buzzer sounds with each card until the driver switches it off.
 * - The kernel's pn533_usb claims the reader as soon as it is plugged in, so the driver detaches pn533_usb.
 */
import type { Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { acrField, prepareAcr, tunnelTo } from "./ccid/acr-field.ts";
import { likelyReaders, type ReaderFacts, readerFactsOf } from "./ccid/detect.ts";
import { type Ccid, createCcid } from "./ccid/exchange.ts";
import type { Send } from "./ccid/order.ts";
import { pcscField } from "./ccid/pcsc-field.ts";
import { type CcidSlot, watchSlot } from "./ccid/slot.ts";
import { readerGone, type UsbBus, type UsbLink } from "./io/links.ts";
import { machineUsb } from "./io/usb.ts";
import { acrBuzzer, acrFirmware, acrSignal } from "./protocol/apdu.ts";
import { ccidOut } from "./protocol/ccid.ts";
import { getFirmwareVersion, parseFirmwareVersion } from "./protocol/pn532-commands.ts";
import { createFieldSession, type Field } from "./tags/field-session.ts";

// The reader answers after it has blinked for 400 ms. The rest of this time is for a busy machine.
const signalMs = 1000;

export function acr122uOn(bus: UsbBus) {
  return {
    id: "acr122u-usb",
    capabilities: ["read", "write", "removable"],
    async detect() {
      return likelyReaders(await bus.list());
    },
    async open(path, context, signal) {
      signal.throwIfAborted();
      const device = (await bus.list()).find((one) => one.path === path);
      if (device === undefined) throw readerGone(path, "there is no such USB device: is it plugged in?");
      signal.throwIfAborted();
      const link = await bus.open(device);
      try {
        return await openCcid(link, context, signal, { product: device.product, ...readerFactsOf(device) });
      } catch (error) {
        await link.close();
        throw error;
      }
    },
  } as const satisfies Driver;
}

export const acr122uUsb = acr122uOn(machineUsb);

interface OpenFacts extends ReaderFacts {
  readonly product: string | undefined;
}

/** Makes a session on an open link. If this rejects, the link stays open. */
async function openCcid(
  link: UsbLink,
  context: DriverContext,
  signal: AbortSignal,
  { product = "contactless reader", slot: number, isAcrOnly }: OpenFacts,
): Promise<ReaderSession> {
  const { log } = context;
  let isAcr = false;
  let sounds = context.feedback?.() ?? false;
  const prepare = (send: Send) => (isAcr ? prepareAcr(send, sounds) : answers(send));
  const ccid = createCcid({ link, slot: number, log, prepare });
  try {
    await answers(ccid.command, signal);
    const name = await acrName(ccid, signal);
    if (name === undefined) {
      if (isAcrOnly) throw readerGone(link.path, "it is no ACR122U, but a reader of contact cards");
      const slot = watchSlot(link, number, context.clock, log);
      return sessionOf({ link, ccid, slot, field: pcscField(ccid.command, slot), info: product }, context);
    }
    await prepareAcr(ccid.command, sounds, signal);
    isAcr = true;
    const info = `${name} with a ${await chipName(ccid, signal)}`;
    const slot = watchSlot(link, number, context.clock, log);
    const whileIdle = async (watching: AbortSignal) => {
      const wanted = context.feedback?.() ?? false;
      if (wanted === sounds) return;
      await ccid.command({ type: ccidOut.block, data: acrBuzzer(wanted) }, watching);
      sounds = wanted;
    };
    const field = acrField({ send: ccid.command, slot, whileIdle });
    return { ...sessionOf({ link, ccid, slot, field, info }, context), signal: signalBy(ccid) };
  } catch (error) {
    await ccid.close();
    throw error;
  }
}

/** Signals by lights and buzzer. The reader shows by itself that it found a card. */
function signalBy(ccid: Ccid): NonNullable<ReaderSession["signal"]> {
  let isShown = false;
  return (kind) => {
    if (kind === "scanned" || isShown) return;
    isShown = true;
    const order = { type: ccidOut.block, data: acrSignal(kind), timeoutMs: signalMs };
    // The watch notices a reader that fails here.
    void ccid
      .command(order)
      .catch(() => {})
      .finally(() => {
        isShown = false;
      });
  };
}

async function answers(send: Send, signal?: AbortSignal): Promise<void> {
  await send({ type: ccidOut.slotStatus }, signal);
}

/** The name that an ACR122U or a clone reports, such as ACR122U216; undefined for any other reader. */
async function acrName(ccid: Ccid, signal: AbortSignal): Promise<string | undefined> {
  const { data } = await ccid.command({ type: ccidOut.block, data: acrFirmware }, signal);
  const name = String.fromCharCode(...data);
  return /^ACR122[\x20-\x7e]*$/.test(name) ? name.trim() : undefined;
}

async function chipName(ccid: Ccid, signal: AbortSignal): Promise<string> {
  const firmware = parseFirmwareVersion(await tunnelTo(ccid.command).call(getFirmwareVersion, signal));
  return firmware === undefined ? "PN532" : `PN532 v${firmware.version}.${firmware.revision}`;
}

interface Parts {
  readonly link: UsbLink;
  readonly ccid: Ccid;
  readonly slot: CcidSlot;
  readonly field: Field;
  readonly info: string;
}

function sessionOf({ link, ccid, slot, field, info }: Parts, context: DriverContext): ReaderSession {
  const close = async () => {
    await ccid.close();
    await Promise.all([slot.close(), link.close()]);
  };
  return createFieldSession(
    { info, field, closedError: () => readerGone(link.path, "it was closed"), close },
    context,
  );
}
