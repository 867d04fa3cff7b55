/**
 * The Toy Pad of LEGO Dimensions for PlayStation and Wii U: 0e6f:0241. Toy Pads for the Xbox use another protocol, and
 * are not opened.
 *
 *   link     USB HID, reports of 32 bytes, no numbers
 *   tags     seven at once, in three zones, by index
 *
 *   family                  read                       removal   write
 *   LEGO Dimensions         which toy it is            yes       no
 *   NTAG, Ultralight        NDEF, memory               yes       no
 *   others                  UID, if the pad has it     yes       no
 *
 * A zone is white while a tag is on it; all zones are red for a moment if a launch failed. The pad itself
 * knows the passwords of LEGO's own tags, and uses them.
 *
 * Quirks:
 * - The pad sends nothing until it was woken, and then only changes. Tags from before that are listed without their UIDs,
 * which are in their first two pages.
 * - For an unknown tag the pad reports only a UID; the driver tries to read its memory.
 */
import type { Clock } from "../src/core/clock.ts";
import { ServiceError } from "../src/core/errors.ts";
import { toHex } from "../src/core/hex.ts";
import type { Sighting } from "../src/core/token.ts";
import type { Driver, DriverContext, ReaderSession, Report } from "../src/readers/driver.ts";
import { createBell } from "./io/bell.ts";
import { openHid } from "./io/hid.ts";
import { type HidInfo, listHidDevices } from "./io/hid-list.ts";
import { type OpenHid, readerGone } from "./io/links.ts";
import {
  padCommands,
  parseList,
  parsePadRead,
  reportBytes,
  uidOfPages,
  wakeWord,
  type Zone,
} from "./protocol/toypad-report.ts";
import type { TagChannel } from "./tags/tag-channel.ts";
import { readTag } from "./tags/tag-families.ts";
import { createLights, createPad, type Lights, type Pad } from "./toypad/pad.ts";

/** USB ids, with an example path of each. */
const usb: readonly { readonly id: string; readonly example: string }[] = [
  { id: "0e6f:0241", example: "LEGO READER V2.10, /dev/hidraw3" },
];
const wakesMax = 3;

export const toypad = createToypad(openHid);

/** The driver with a given way to open HID links, and to find the pads by their USB ids. Tests have their own. */
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
    if ((await pad.ask(padCommands.wake, wakeWord, signal)) !== undefined) return;
  throw readerGone(pad.link.path, "no Toy Pad answers: plug it in again");
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
        throw error instanceof ServiceError ? error : readerGone(pad.link.path, "it failed");
      }
    },
    signal: (kind) => lights.signal(kind, closing.signal),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort(new Error("the reader was closed"));
      // A failure is ignored, because the pad may be gone, and its lights with it.
      await lights.darken();
      await pad.link.close();
    },
  };
}

const lookMs = 1000;

interface PadTag {
  readonly zone: Zone;
  readonly index: number;
  readonly uid: Uint8Array;
  /** The sighting of the tag; absent until it was read. */
  sighting?: Sighting;
}

interface WatchedPad {
  readonly pad: Pad;
  readonly lights: Lights;
  readonly clock: Clock;
}

/** Reports until `signal` aborts or the pad fails. In the second case it rejects. */
async function watchPad(
  { pad, lights, clock }: WatchedPad,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const field = new Map<number, PadTag>();
  const changed = createBell(clock);
  // Nothing is reported until all present tags are read, because tags from before a fault have not left.
  let isSettled = false;
  const tell = () => {
    if (isSettled) report([...field.values()].flatMap(({ sighting }) => sighting ?? []));
  };
  pad.onTag(({ zone, index, isThere, uid }) => {
    if (signal.aborted) return;
    const known = field.get(index);
    if (isThere && known?.zone === zone && toHex(known.uid) === toHex(uid)) return;
    if (isThere) field.set(index, { zone, index, uid: uid.slice() });
    else field.delete(index);
    if (known?.sighting !== undefined) tell();
    changed.ring();
  });

  await look(pad, field, signal);
  for (;;) {
    const unread = [...field.values()].find(({ sighting }) => sighting === undefined);
    if (unread !== undefined) {
      const sighting = await readTag(channelTo(pad, unread, field), signal);
      if (field.get(unread.index) !== unread) continue;
      // The tag left, and came back before it was read.
      if (sighting === undefined) field.delete(unread.index);
      else unread.sighting = sighting;
      tell();
      continue;
    }
    isSettled = true;
    tell();
    await lights.show(new Set([...field.values()].map(({ zone }) => zone)), signal);
    if (await changed.within(lookMs, signal)) continue;
    await look(pad, field, signal);
  }
}

/** Updates the field from the pad's list of tags. Throws if the pad does not answer. */
async function look(pad: Pad, field: Map<number, PadTag>, signal: AbortSignal): Promise<void> {
  const ask = () => pad.ask(padCommands.list, new Uint8Array(), signal);
  const answer = (await ask()) ?? (await ask());
  if (answer === undefined) throw readerGone(pad.link.path, "the Toy Pad answers no more: plug it in again");
  const listed = parseList(answer);
  // An invalid answer changes nothing, because the next look comes soon.
  if (listed === undefined) return;
  for (const [index, { zone }] of field)
    if (!listed.some((tag) => tag.index === index && tag.zone === zone)) field.delete(index);
  for (const { zone, index } of listed) {
    if (field.has(index)) continue;
    const pages = await readPages(pad, index, 0, signal);
    const uid = pages === undefined ? undefined : uidOfPages(pages);
    // The pad may have sent an event about this tag meanwhile.
    if (uid !== undefined && !field.has(index)) field.set(index, { zone, index, uid });
  }
}

function channelTo(pad: Pad, tag: PadTag, field: ReadonlyMap<number, PadTag>): TagChannel {
  return {
    // The pad reports no SAK, and reads every tag as a Type 2 tag.
    target: { kind: "type-a", uid: tag.uid, sak: 0x00 },
    read: (page, signal) => readPages(pad, tag.index, page, signal),
    async write(page, bytes, signal) {
      const answer = await pad.ask(padCommands.write, Uint8Array.of(tag.index, page, ...bytes), signal);
      return answer?.[0] === 0;
    },
    authenticate: async () => false,
    apdu: async () => undefined,
    reselect: async () => field.get(tag.index) === tag,
  };
}

async function readPages(
  pad: Pad,
  index: number,
  page: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const answer = await pad.ask(padCommands.read, Uint8Array.of(index, page), signal);
  return answer === undefined ? undefined : parsePadRead(answer);
}
