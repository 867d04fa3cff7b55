/**
 * The field of a PN532 on a line, and its targets. The chip itself waits for a tag, and the driver checks that it still
 * waits. A listed target is addressed by InDataExchange for commands that the chip knows, and by InCommunicateThru for the
 * rest.
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { apduBytesMax } from "../../src/core/limits.ts";
import { classicCommands } from "../protocol/classic.ts";
import {
  commandCodes,
  communicateThru,
  dataExchange,
  getFirmwareVersion,
  type ListedTypeA,
  listOneFelica,
  listOneTypeA,
  listThisTypeA,
  parseExchange,
  parseFelicaTarget,
  parseTypeATarget,
  setMaxRetries,
} from "../protocol/pn532-commands.ts";
import { pageBytes, tagCommands } from "../protocol/type2-tag.ts";
import type { Field } from "../tags/field-session.ts";
import { cardAnswerMs, isSameTarget, type TagChannel, type Target, uidOf } from "../tags/tag-channel.ts";
import type { Chip, ChipCaller } from "./chip.ts";

// The longest time until a dead chip is noticed, and until a FeliCa is found, because the chip itself waits for type A only.
const waitMs = 500;
const refusedMs = 100; // The pause between two tries of a chip that does not wait.
const foreverRetries = 0xff;
const oneRound = 0x00;
/** Rounds in which the chip looks for a present tag. One round may miss a tag at the edge of the field. */
export const recheckRetries = 0x02;

/** The field of a chip whose retries are `recheckRetries`. */
export function fieldOf(chip: Chip, clock: Clock): Field {
  let waited = false;
  return {
    async list(signal, like) {
      if (waited) await chip.call(setMaxRetries(recheckRetries), signal);
      waited = false;
      const listed = async (command: Uint8Array) =>
        targetIn(like?.kind ?? "type-a", await chip.call(command, signal));
      const target = await listOneLike(listed, like?.kind ?? "type-a", like);
      return target && channelTo(chip, target);
    },
    async wait(signal) {
      waited = true;
      await chip.call(setMaxRetries(foreverRetries), signal);
      return channelTo(chip, await nextTarget(chip, clock, signal));
    },
  };
}

/** The chip waits for a target of type A. At intervals the driver checks that it still waits, and looks for a FeliCa. */
async function nextTarget(chip: Chip, clock: Clock, signal: AbortSignal): Promise<Target> {
  for (;;) {
    const answer = (await chip.callFor(listOneTypeA, waitMs, signal)) ?? (await stopWaiting(chip, signal));
    const found = answer === undefined ? await lookForFelica(chip, signal) : targetIn("type-a", answer);
    if (found !== undefined) return found;
    // The pause is for a chip that does not wait. Without it, the line and this machine would be busy all the time.
    if (answer !== undefined) await sleep(clock, refusedMs, signal);
  }
}

/** Looks for a FeliCa, because the chip waits for one kind of target at a time. */
async function lookForFelica(chip: Chip, signal: AbortSignal): Promise<Target | undefined> {
  await chip.call(setMaxRetries(oneRound), signal);
  const found = targetIn("felica", await chip.call(listOneFelica, signal));
  if (found === undefined) await chip.call(setMaxRetries(foreverRetries), signal);
  return found;
}

/** Ends the chip's wait and checks that it is alive. Returns the answer of a target that came during the check. */
async function stopWaiting(chip: Chip, signal: AbortSignal): Promise<Uint8Array | undefined> {
  await chip.abort();
  await chip.call(getFirmwareVersion, signal);
  return chip.takeStray(commandCodes.inListPassiveTarget);
}

// The time for a listing. A present target is listed within some 10 ms, and counts as gone after this time.
const relistMs = 100;

/**
 * A target of this kind, preferably `like`; undefined if there is none. `listed` returns the target that a command lists. The
 * chip's search makes the active tag silent, and then lists the tag beside it. That tag must not take its place.
 */
export async function listOneLike(
  listed: (command: Uint8Array) => Promise<Target | undefined>,
  kind: Target["kind"],
  like?: Target,
): Promise<Target | undefined> {
  const found = await listed(listOneOf[kind]);
  if (found === undefined || like?.kind !== "type-a" || isSameTarget(found, like)) return found;
  return (await listed(listThisTypeA(like.uid))) ?? listed(listOneOf[kind]);
}

/** Selects the target again. Resolves with false if the target is gone. */
async function isTargetThere(chip: ChipCaller, target: Target, signal: AbortSignal): Promise<boolean> {
  const listed = async (command: Uint8Array) => {
    const answer = await chip.callFor(command, relistMs, signal);
    if (answer === undefined) await chip.abort();
    return answer && targetIn(target.kind, answer);
  };
  const found = await listOneLike(listed, target.kind, target);
  return found !== undefined && isSameTarget(found, target);
}

/** The target in an answer to a listing of this kind; undefined if there is none. */
export function targetIn(kind: Target["kind"], answer: Uint8Array): Target | undefined {
  if (kind === "felica") {
    const felica = parseFelicaTarget(answer);
    return felica && { kind, ...felica };
  }
  const listed = parseTypeATarget(answer);
  return listed && targetOf(listed);
}

/** The command that lists one target of a kind. */
export const listOneOf: Readonly<Record<Target["kind"], Uint8Array>> = {
  "type-a": listOneTypeA,
  felica: listOneFelica,
};

/** The ATS begins with a format byte, whose bits 10, 20 and 40 announce one more byte each (ISO/IEC 14443-4, 5.2.3). */
function targetOf({ uid, atqa, sak, ats }: ListedTypeA): Target {
  const target = { kind: "type-a", uid, atqa, sak } as const;
  const [format] = ats;
  if (format === undefined) return target;
  const historicalAt = 1 + ((format >> 4) & 1) + ((format >> 5) & 1) + ((format >> 6) & 1);
  return { ...target, historicalBytes: ats.subarray(historicalAt) };
}

/** The channel to `target`, which must be the chip's target 1. */
export function channelTo(chip: ChipCaller, target: Target): TagChannel {
  const exchange = async (command: Uint8Array, signal: AbortSignal) =>
    parseExchange(await chip.call(command, signal));
  const exchangeSlowly = async (command: Uint8Array, signal: AbortSignal) => {
    const answer = await chip.callFor(command, cardAnswerMs, signal);
    if (answer === undefined) await chip.abort();
    return answer && parseExchange(answer);
  };
  return {
    target,
    transceive: async (bytes, signal) => (await exchange(communicateThru(...bytes), signal))?.data,
    read: async (block, signal) => (await exchange(dataExchange(tagCommands.read, block), signal))?.data,
    async write(block, bytes, signal) {
      const code = bytes.length === pageBytes ? tagCommands.write : tagCommands.compatibilityWrite;
      return (await exchange(dataExchange(code, block, ...bytes), signal)) !== undefined;
    },
    async authenticate(block, key, signal) {
      const code = key.kind === "A" ? classicCommands.authenticateA : classicCommands.authenticateB;
      // The cipher begins with the UID's last four bytes (UM0701-02, 7.3.8; AN10927, section 4).
      const command = dataExchange(code, block, ...key.bytes, ...uidOf(target).subarray(-4));
      return (await exchange(command, signal)) !== undefined;
    },
    async apdu(command, signal) {
      let answer = await exchangeSlowly(dataExchange(...command), signal);
      let whole: Uint8Array = new Uint8Array();
      while (answer !== undefined) {
        whole = whole.length === 0 ? answer.data : Uint8Array.of(...whole, ...answer.data);
        if (!answer.hasMore) return whole;
        if (whole.length > apduBytesMax) return undefined;
        answer = await exchangeSlowly(dataExchange(), signal);
      }
      return undefined;
    },
    reselect: (signal) => isTargetThere(chip, target, signal),
  };
}
