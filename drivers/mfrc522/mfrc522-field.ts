/**
 * The field of an MFRC522 and the tag in it. The chip only sends and receives: waking, anticollision and selection are the host's
 * (ISO/IEC 14443-3, 6.4). Of several tags it selects one, and stays with it.
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { fifoBytesMax } from "../../src/core/limits.ts";
import { readerGone } from "../io/links.ts";
import { blockBytes, classicCommands } from "../protocol/classic.ts";
import {
  ack,
  allBitsKnown,
  bitsOf,
  bytesOfBits,
  checkedBytes,
  isWholePart,
  parseAts,
  partBytes,
  ratsBytes,
  selectCodes,
  shortFrameBits,
  uidIn,
  uidPartsOf,
  withCheck,
  wupa,
} from "../protocol/type-a-frame.ts";
import { pageBytes, tagCommands } from "../protocol/type2-tag.ts";
import type { Field } from "../tags/field-session.ts";
import {
  isIsoDep,
  isSameTarget,
  type TagChannel,
  type Target,
  type TypeATarget,
} from "../tags/tag-channel.ts";
import { createIsoDep } from "./iso-dep.ts";
import type { Mfrc522 } from "./mfrc522-chip.ts";

const pollMs = 50; // A delay that a person does not notice, even twice.
/** A tag needs 5 ms of field to get ready (14443-3, 5.1), and loses its state in the same time without it. */
const guardMs = 6;
// After this many rounds a pause of the field resets a tag that was left in another state, such as a card of 14443-4
// after a fault.
const roundsToReset = 20;
const activationsMax = 3;

/** The answer to a wake-up or a selection begins after 0.1 ms (14443-3, 6.2.1). */
const selectionWaitMs = 1;
/** A command takes 5 ms to read and 10 ms to write (NTAG21x, 10.1.2; MF1S50YYX, 10.1.2). An authentication takes 1 ms. */
const commandWaitMs = 10;
/** The answer to RATS comes after 4.8 ms at most (14443-4, 5.6.1.2). */
const ratsWaitMs = 5;
const ratsMax = 2;

// Without a repeat, an NTAG whose version is lost once looks like a plain Ultralight. The repeated commands change
// nothing on a tag.
const readRepeats = 1;

const checkBytes = 2;
const uidBits = 32;
const wholeBits = 8 * partBytes;
const roundsMax = 2 * uidBits;

/** The field of a configured chip. `version` is the version that the chip reported. */
export function mfrc522Field(chip: Mfrc522, version: number, clock: Clock): Field {
  let dep: ReturnType<typeof createIsoDep> | undefined;

  const send: Send = async (bytes, waitMs, signal, repeats = 0) => {
    for (let left = repeats; ; left--) {
      const answer = await chip.exchange(withCheck(...bytes), waitMs, signal);
      const isWhole = answer.kind === "frame" && answer.lastBits === 0;
      const checked = isWhole ? checkedBytes(answer.bytes) : undefined;
      const isBroken = isWhole ? checked === undefined : answer.kind === "broken";
      if (!isBroken || left === 0) return checked;
    }
  };
  const ready = (signal: AbortSignal) => {
    signal.throwIfAborted();
    if (!chip.isReady(version))
      throw readerGone(chip.path, "the chip does not answer any more: check its power and its wiring");
  };
  const pauseField = async (signal: AbortSignal) => {
    dep = undefined;
    chip.switchField(false);
    await sleep(clock, guardMs, signal);
    chip.switchField(true);
    await sleep(clock, guardMs, signal);
  };
  /**
   * Wakes and selects a tag, preferably the known one; undefined if none answers. An active tag falls silent when it is woken.
   */
  const activate = async (signal: AbortSignal, like?: TypeATarget): Promise<TypeATarget | undefined> => {
    chip.endEncryption();
    if (dep !== undefined) await dep.deselect(signal);
    dep = undefined;
    // At the first try, a tag that was active falls silent, but another tag beside it answers.
    for (let tries = 0; like !== undefined && tries < 2; tries++) {
      if ((await wake(chip, signal)) === undefined) return undefined;
      const known = await selectKnown(send, like, signal);
      if (known !== undefined) return withAnswer(known, signal);
    }
    const atqa = await wake(chip, signal);
    const found = atqa === undefined ? undefined : await selectAny(chip, send, signal);
    return found && withAnswer(typeof atqa === "number" ? { ...found, atqa } : found, signal);
  };
  /**
   * Asks a card of 14443-4 for its answer to select; undefined if the card left. A card that has no such answer is also
   * a target.
   */
  const withAnswer = async (target: TypeATarget, signal: AbortSignal): Promise<TypeATarget | undefined> => {
    if (!isIsoDep(target)) return target;
    for (let tries = 1; ; tries++) {
      const answer = await send(ratsBytes, ratsWaitMs, signal);
      const ats = answer && parseAts(answer);
      if (ats !== undefined) {
        dep = createIsoDep(send, ats, clock);
        return { ...target, historicalBytes: ats.historicalBytes };
      }
      if (tries === ratsMax) return target;
      // If only the answer was lost, the card now expects blocks, and does not react to a wake-up.
      await pauseField(signal);
      if ((await wake(chip, signal)) === undefined) return undefined;
      if ((await selectKnown(send, target, signal)) === undefined) return undefined;
    }
  };
  const find = async (signal: AbortSignal, like?: TypeATarget): Promise<TypeATarget | undefined> => {
    for (let tries = 1; tries <= activationsMax; tries++) {
      ready(signal);
      if (tries === activationsMax) await pauseField(signal);
      const target = await activate(signal, like);
      if (target !== undefined) return target;
    }
    return undefined;
  };
  const channel = (target: TypeATarget): TagChannel => ({
    ...channelOn(chip, send, target),
    apdu: async (command, signal) => dep?.apdu(command, signal),
    async reselect(signal) {
      const found = await find(signal, target);
      return found !== undefined && isSameTarget(found, target);
    },
  });

  return {
    async list(signal, like) {
      const target = await find(signal, typeAOf(like));
      return target && channel(target);
    },
    async wait(signal) {
      for (let rounds = 1; ; rounds++) {
        ready(signal);
        if (rounds % roundsToReset === 0) await pauseField(signal);
        const target = await activate(signal);
        if (target !== undefined) return channel(target);
        await sleep(clock, pollMs, signal);
      }
    },
  };
}

function typeAOf(target: Target | undefined): TypeATarget | undefined {
  return target?.kind === "type-a" ? target : undefined;
}

/**
 * Sends a frame, and again if its answer is broken. Resolves with the checked answer; undefined if there is none, or
 * one of four bits.
 */
type Send = (
  bytes: readonly number[],
  waitMs: number,
  signal: AbortSignal,
  repeats?: number,
) => Promise<Uint8Array | undefined>;

/** The ATQA of the tags that woke up; undefined if none did. */
async function wake(chip: Mfrc522, signal: AbortSignal): Promise<number | "collided" | undefined> {
  const answer = await chip.exchange(Uint8Array.of(wupa), selectionWaitMs, signal, {
    lastBits: shortFrameBits,
  });
  if (answer.kind === "collision") return "collided";
  if (answer.kind !== "frame" || answer.bytes.length !== 2) return undefined;
  const [low = 0, high = 0] = answer.bytes;
  return high * 256 + low;
}

/** Selects the tag with the known UID; undefined if another answer than its SAK came. */
async function selectKnown(
  send: Send,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<TypeATarget | undefined> {
  const parts = uidPartsOf(target.uid);
  for (const [level, part] of parts.entries()) {
    const sak = await selectPart(send, level, part, signal);
    if (sak === undefined) return undefined;
    const isLast = level === parts.length - 1;
    if (isLast !== uidIn(part, sak).isLast || (isLast && sak !== target.sak)) return undefined;
  }
  const { historicalBytes: _, ...plain } = target;
  return plain;
}

/** Selects one of the tags that are awake. */
async function selectAny(chip: Mfrc522, send: Send, signal: AbortSignal): Promise<TypeATarget | undefined> {
  let uid: Uint8Array = new Uint8Array();
  for (const level of selectCodes.keys()) {
    const part = await anticollide(chip, level, signal);
    const sak = part && (await selectPart(send, level, part, signal));
    if (part === undefined || sak === undefined) return undefined;
    const { bytes, isLast } = uidIn(part, sak);
    uid = Uint8Array.of(...uid, ...bytes);
    if (isLast) return { kind: "type-a", uid, sak };
  }
  return undefined;
}

async function selectPart(
  send: Send,
  level: number,
  part: Uint8Array,
  signal: AbortSignal,
): Promise<number | undefined> {
  const answer = await send([selectCodes[level] ?? 0, allBitsKnown, ...part], selectionWaitMs, signal);
  return answer?.length === 1 ? answer[0] : undefined;
}

/**
 * One part of the UID of a tag that is awake (14443-3, 6.4.3). At a collision the tag whose bit is 1 is chosen. The chip
 * reports the position of the first collision. After that position the bits are found one by one, because the data sheet
 * does not say whether the position counts the known bits.
 */
async function anticollide(
  chip: Mfrc522,
  level: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  let known: readonly number[] = [];
  let isGuess = false;
  for (let round = 0; round < roundsMax && known.length <= uidBits; round++) {
    const align = known.length % 8;
    const whole = Math.floor(known.length / 8);
    const frame = Uint8Array.of(selectCodes[level] ?? 0, ((2 + whole) << 4) | align, ...bytesOfBits(known));
    const answer = await chip.exchange(frame, selectionWaitMs, signal, { lastBits: align, align });
    switch (answer.kind) {
      case "frame": {
        const rest = bitsOf(answer.bytes, wholeBits - 8 * whole).slice(align);
        const part = bytesOfBits([...known, ...rest]);
        return answer.bytes.length === partBytes - whole && isWholePart(part) ? part : undefined;
      }
      case "collision":
        if (known.length === 0 && answer.at !== undefined)
          known = [...bitsOf(answer.bytes, answer.at - 1), 1];
        else {
          known = [...known, 1];
          isGuess = true;
          continue;
        }
        break;
      case "silence":
        // No tag has the bit that was guessed.
        if (!isGuess) return undefined;
        known = [...known.slice(0, -1), 0];
        break;
      case "broken":
        return undefined;
    }
    isGuess = false;
  }
  return undefined;
}

/** All functions of a channel except APDUs and the selection. */
function channelOn(chip: Mfrc522, send: Send, target: TypeATarget): Omit<TagChannel, "apdu" | "reselect"> {
  const isTaken = async (bytes: readonly number[], signal: AbortSignal) => {
    const answer = await chip.exchange(withCheck(...bytes), commandWaitMs, signal);
    return answer.kind === "frame" && answer.lastBits === 4 && ((answer.bytes[0] ?? 0) & 0x0f) === ack;
  };
  return {
    target,
    answerBytesMax: fifoBytesMax - checkBytes,
    transceive: (bytes, signal) => send([...bytes], commandWaitMs, signal, readRepeats),
    async read(block, signal) {
      const bytes = await send([tagCommands.read, block], commandWaitMs, signal, readRepeats);
      return bytes?.length === blockBytes ? bytes : undefined;
    },
    async write(block, bytes, signal) {
      if (bytes.length === pageBytes) return isTaken([tagCommands.write, block, ...bytes], signal);
      // The write has two steps (MF1S50YYX, 12.3).
      return (await isTaken([tagCommands.compatibilityWrite, block], signal)) && isTaken([...bytes], signal);
    },
    authenticate(block, key, signal) {
      const code = key.kind === "A" ? classicCommands.authenticateA : classicCommands.authenticateB;
      // The cipher begins with the UID's last four bytes (AN10927, section 4).
      const bytes = Uint8Array.of(code, block, ...key.bytes, ...target.uid.subarray(-4));
      return chip.authenticate(bytes, commandWaitMs, signal);
    },
  };
}
