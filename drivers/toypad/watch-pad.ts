/**
 * What lies on a Toy Pad: its own word on each tag that comes or goes, and once a second its list, which finds what a lost
 * word has missed, and a pad that died.
 */
import type { Clock } from "../../src/core/clock.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import type { Report } from "../../src/readers/driver.ts";
import { commands, parseList, parseRead, uidOfPages, type Zone } from "../protocol/toypad-report.ts";
import { readTag } from "../tags/read-tag.ts";
import type { TagChannel } from "../tags/tag-channel.ts";
import type { Lights } from "./lights.ts";
import { type Pad, padGone } from "./pad.ts";

const lookMs = 1000;

interface PadTag {
  readonly zone: Zone;
  readonly index: number;
  readonly uid: Uint8Array;
  /** Absent until it was read. */
  sighting?: Sighting;
}

export interface WatchedPad {
  readonly pad: Pad;
  readonly lights: Lights;
  readonly clock: Clock;
}

/** Reports until `signal` aborts or the pad fails; then it rejects. */
export async function watchPad(
  { pad, lights, clock }: WatchedPad,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const field = new Map<number, PadTag>();
  const changed = createBell(clock);
  // Until all that lies there at first was read, nothing is told: what lay there before a fault has not left.
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
      // It left, and came back before anybody looked.
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

/** A bell that is rung by events and heard by one listener, also where it rang before. */
function createBell(clock: Clock) {
  let rung = Promise.withResolvers<boolean>();
  return {
    ring: () => rung.resolve(true),
    /** True where it rang; false when `ms` have passed. Rejects as soon as `signal` aborts. */
    async within(ms: number, signal: AbortSignal): Promise<boolean> {
      signal.throwIfAborted();
      const timer = clock.after(ms, () => rung.resolve(false));
      const stop = () => rung.resolve(false);
      signal.addEventListener("abort", stop, { once: true });
      const heard = await rung.promise;
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", stop);
      rung = Promise.withResolvers();
      signal.throwIfAborted();
      return heard;
    },
  };
}

/** Brings the field in line with what the pad lists. Throws where the pad answers no more. */
async function look(pad: Pad, field: Map<number, PadTag>, signal: AbortSignal): Promise<void> {
  const ask = () => pad.ask(commands.list, new Uint8Array(), signal);
  const answer = (await ask()) ?? (await ask());
  if (answer === undefined) throw padGone(pad, "the Toy Pad answers no more: plug it in anew");
  const listed = parseList(answer);
  // An answer that makes no sense changes nothing: the next look comes soon.
  if (listed === undefined) return;
  for (const [index, { zone }] of field)
    if (!listed.some((tag) => tag.index === index && tag.zone === zone)) field.delete(index);
  for (const { zone, index } of listed) {
    if (field.has(index)) continue;
    const pages = await readPages(pad, index, 0, signal);
    const uid = pages === undefined ? undefined : uidOfPages(pages);
    // The pad's own word on it may have come meanwhile.
    if (uid !== undefined && !field.has(index)) field.set(index, { zone, index, uid });
  }
}

function channelTo(pad: Pad, tag: PadTag, field: ReadonlyMap<number, PadTag>): TagChannel {
  return {
    // It names no SAK; what it reads it reads as a Type 2 tag.
    target: { kind: "type-a", uid: tag.uid, sak: 0x00 },
    read: (page, signal) => readPages(pad, tag.index, page, signal),
    async write(page, bytes, signal) {
      const answer = await pad.ask(commands.write, Uint8Array.of(tag.index, page, ...bytes), signal);
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
  const answer = await pad.ask(commands.read, Uint8Array.of(index, page), signal);
  return answer === undefined ? undefined : parseRead(answer);
}
