/**
 * The radio side of the emulated chip: the tags in the field and the targets among them. It returns the result of an
 * exchange with a target, and its time.
 */
import { crcA, type EmulatedTag, shortFrameBits, type TagAnswer, wupa } from "./type-a.ts";

/** The time that the radio side takes, in milliseconds. */
export interface RadioTiming {
  /** The time of one round of polling without a tag. */
  readonly roundMs: number;
  /** The time of REQA, anticollision at two levels, and SELECT. */
  readonly activationMs: number;
  readonly byteMs: number;
  /** The time of every exchange besides its bytes. */
  readonly exchangeMs: number;
  /** True if the wait for a silent tag, and the programming of a tag, take their real time. */
  readonly waits: boolean;
}

/**
 * byteMs        9 bits of 9.44 us each (ISO/IEC 14443-2, 8.1).
 * exchangeMs    two frame delays of 91 us (14443-3, 6.2.1), start and end of two frames (4 bits), and 0.3 ms for the
 *               chip's own work, which is an assumption.
 * activationMs  five exchanges of 4 to 9 bytes, together 31 bytes: 2.6 ms in the air; 3 ms with the chip's work.
 * roundMs       the guard time that a tag has to get ready in, 5 ms (14443-3, 5.1), and REQA; an assumption as to what
 *               the firmware does.
 */
export const realRadio: RadioTiming = {
  roundMs: 5.1,
  activationMs: 3,
  byteMs: 0.085,
  exchangeMs: 0.52,
  waits: true,
};
export const instantRadio: RadioTiming = {
  roundMs: 0,
  activationMs: 0,
  byteMs: 0,
  exchangeMs: 0,
  waits: false,
};

export interface Heard {
  readonly answer: TagAnswer | undefined;
  readonly afterMs: number;
}

type Technology = "type-a" | "felica";

export interface EmulatedField {
  readonly tags: readonly EmulatedTag[];
  /** Targets by number, from 1 on; a target may have left the field. */
  readonly targets: readonly EmulatedTag[];
  put(tag: EmulatedTag): void;
  take(tag?: EmulatedTag): void;
  /**
   * Looks for tags of this technology in at most `rounds` rounds, activates up to `targetsMax` that `isWanted` accepts, and
   * makes them the targets. The result also has the number of rounds without a tag. From now on the field uses this
   * technology, and tags of other technologies receive nothing.
   */
  list(
    targetsMax: number,
    technology: Technology,
    isWanted: (tag: EmulatedTag) => boolean,
    rounds: number,
  ): { readonly found: readonly EmulatedTag[]; readonly emptyRounds: number };
  /** Halts the present targets, which stay targets. The number 0 means all. */
  halt(number: number): void;
  forgetTargets(): void;
  switchOff(): void;
  /** Sends a frame without its CRC, or `bits` bits of it, to one target, or to all tags that listen. */
  exchange(to: EmulatedTag | undefined, frame: Uint8Array, silenceMs: number, bits?: number): Heard;
}

const tagsMax = 8; // More tags do not fit under one antenna.
const crcBytes = 2;
const roundsThatDiffer = 2;

export function createField(radio: RadioTiming): EmulatedField {
  let tags: readonly EmulatedTag[] = [];
  let targets: readonly EmulatedTag[] = [];
  let technology: Technology = "type-a";

  return {
    get tags() {
      return tags;
    },
    get targets() {
      return targets;
    },
    put(tag) {
      tag.losePower();
      tags = [...tags.filter((other) => other !== tag), tag].slice(-tagsMax);
    },
    take(tag) {
      for (const leaving of tags) if (tag === undefined || leaving === tag) leaving.losePower();
      tags = tag === undefined ? [] : tags.filter((other) => other !== tag);
    },
    list(targetsMax, spoken, isWanted, rounds) {
      technology = spoken;
      const here = tags.filter((tag) => technologyOf(tag) === technology);
      targets = [];
      // After two rounds, each further one has the same result.
      for (let emptyRounds = 0; emptyRounds < Math.min(rounds, roundsThatDiffer); emptyRounds++) {
        // An active tag takes a WUPA for an error. It falls silent, and answers in the next round (14443-3, 6.3).
        const answering = here.filter(({ felica, state }) => felica !== undefined || state !== "active");
        for (const tag of here)
          if (!answering.includes(tag)) tag.receive(Uint8Array.of(wupa), shortFrameBits);
        targets = answering.filter(isWanted).slice(0, targetsMax);
        for (const tag of targets) tag.select();
        if (targets.length > 0) return { found: targets, emptyRounds };
      }
      return { found: [], emptyRounds: rounds };
    },
    halt(number) {
      for (const [index, tag] of targets.entries())
        if (number === 0 || number === index + 1) tag.receive(Uint8Array.of(0x50, 0x00));
    },
    forgetTargets() {
      targets = [];
    },
    switchOff() {
      for (const tag of tags) tag.losePower();
      targets = [];
    },
    exchange(to, frame, silenceMs, bits) {
      const listeners = tags.filter(
        (tag) => technologyOf(tag) === technology && (to === undefined || tag === to),
      );
      // Every tag receives every frame. If two tags answer, the stronger answer is received.
      const [answer] = listeners
        .map((tag) => tag.receive(frame, bits))
        .filter((heard) => heard !== undefined);
      if (answer === undefined) return { answer, afterMs: radio.waits ? silenceMs : 0 };
      const back = answer.kind === "frame" ? answer.bytes.length + crcBytes : 1;
      const workMs = radio.waits ? (answer.workMs ?? 0) : 0;
      const afterMs = radio.exchangeMs + (frame.length + crcBytes + back) * radio.byteMs + workMs;
      return { answer, afterMs };
    },
  };
}

function technologyOf({ felica }: EmulatedTag): Technology {
  return felica === undefined ? "type-a" : "felica";
}

/** The bytes that the chip's receiver passes on, with the CRC if it does not remove that itself. */
export function receivedBytes(answer: TagAnswer, takesCrc: boolean): Uint8Array | undefined {
  // The receiver's check fails for bytes without a CRC. nfcpy also switches the check off to receive the four bits.
  if (answer.kind === "four-bits") return takesCrc ? undefined : Uint8Array.of(answer.value);
  if (takesCrc) return answer.hasCrc ? answer.bytes : undefined;
  return answer.hasCrc ? Uint8Array.of(...answer.bytes, ...crcA(answer.bytes)) : answer.bytes;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
