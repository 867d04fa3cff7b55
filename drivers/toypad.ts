/**
 * The Toy Pad of LEGO Dimensions for PlayStation and Wii U: 0e6f:0241. The Xbox ones speak another protocol, and are left alone.
 *
 *   link     USB HID, reports of 32 bytes, no numbers
 *   tags     seven at once, in three zones, by index
 *
 *   family                  read                       removal   write
 *   LEGO Dimensions         which toy it is            yes       no
 *   NTAG, Ultralight        NDEF, memory               yes       no
 *   others                  UID, where the pad tells   yes       no
 *
 * A zone is white while something lies there; all are red for a moment where what a tag asks for failed. The pad itself knows the passwords of LEGO's own tags, and uses them.
 *
 * Quirks:
 * - It says nothing until it was woken, and then only what changes: tags that lay there before are listed without their
 *   UIDs, which stand in their first two pages.
 * - Of a tag that it does not know it tells a UID and no more: whether its memory can be read is found out by reading it.
 */
import { ServiceError } from "../src/core/errors.ts";
import type { Driver, DriverContext, ReaderSession } from "../src/readers/driver.ts";
import { openHid } from "./io/hid.ts";
import type { OpenHid } from "./io/hid-link.ts";
import { type HidInfo, listHidDevices } from "./io/hid-list.ts";
import { commands, reportBytes, wakeWord } from "./protocol/toypad-report.ts";
import { createLights } from "./toypad/lights.ts";
import { createPad, type Pad, padGone } from "./toypad/pad.ts";
import { watchPad } from "./toypad/watch-pad.ts";

/** USB ids, with an example path of each. */
const usb: readonly { readonly id: string; readonly example: string }[] = [
  { id: "0e6f:0241", example: "LEGO READER V2.10, /dev/hidraw3" },
];
const wakesMax = 3;

export const toypad = createToypad(openHid);

/** The driver over any HID link, and any way to find the pads by their USB ids. */
export function createToypad(
  openLink: OpenHid,
  list: (ids: readonly string[]) => Promise<readonly HidInfo[]> = listHidDevices,
) {
  return {
    id: "toypad",
    capabilities: ["read", "removable"],
    async detect() {
      const found = await list(usb.map(({ id }) => id));
      return found.map(({ path, stamp, port }) => ({ path, stamp, stablePath: port, isCertain: true }));
    },
    async open(path, context, signal) {
      signal.throwIfAborted();
      const link = await openLink(path, { reportBytes });
      const pad = createPad(link, context.clock, context.log);
      try {
        await wake(pad, signal);
      } catch (error) {
        await link.close();
        throw error;
      }
      return createSession(pad, context);
    },
  } as const satisfies Driver;
}

async function wake(pad: Pad, signal: AbortSignal): Promise<void> {
  for (let tries = 1; tries <= wakesMax; tries++)
    if ((await pad.ask(commands.wake, wakeWord, signal)) !== undefined) return;
  throw padGone(pad, "no Toy Pad answers: plug it in anew");
}

function createSession(pad: Pad, { clock }: DriverContext): ReaderSession {
  const closing = new AbortController();
  const lights = createLights(pad, clock);
  return {
    info: "LEGO Dimensions Toy Pad",
    async watch(report, signal) {
      const ending = AbortSignal.any([signal, closing.signal]);
      try {
        await watchPad({ pad, lights, clock }, report, ending);
      } catch (error) {
        if (ending.aborted) return;
        throw error instanceof ServiceError ? error : padGone(pad, "it failed");
      }
    },
    signal: (kind) => lights.signal(kind, closing.signal),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort(new Error("the reader was closed"));
      // Best effort: a pad that is gone needs no darkness.
      await lights.darken();
      await pad.link.close();
    },
  };
}
