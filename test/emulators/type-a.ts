/**
 * The lower half of every emulated tag of ISO/IEC 14443 type A: wake-up, anticollision and selection (14443-3, section
 * 6). The tag's own file supplies the commands of the active state.
 *
 *   IDLE   -- REQA, WUPA --> READY          HALT -- WUPA --> READY
 *   READY  -- anticollision, SELECT of each UID part --> ACTIVE
 *   ACTIVE -- HLTA --> HALT
 *   anything unexpected: back to the last state of IDLE and HALT
 */

/**
 * The answer of a tag: a frame, with or without CRC_A behind it, or four bits without anything. The reader itself has
 * sent the first `bitsLeftOut` bits of an answer at anticollision.
 */
export type TagAnswer =
  | {
      readonly kind: "frame";
      readonly bytes: Uint8Array;
      readonly hasCrc: boolean;
      readonly workMs?: number;
      readonly bitsLeftOut?: number;
    }
  | { readonly kind: "four-bits"; readonly value: number; readonly workMs?: number };

type TagState = "idle" | "ready" | "active" | "halt";

export interface TypeAIdentity {
  /** The UID of 4, 7 or 10 bytes. */
  readonly uid: Uint8Array;
  /** The SENS_RES as the PN532 reports it, high byte first: 0x0044. */
  readonly atqa: number;
  readonly sak: number;
  /** The ATS without its length byte; empty if the tag has none. */
  readonly ats: Uint8Array;
}

/** The answer of a FeliCa to a polling (JIS X 6319-4). */
interface FelicaIdentity {
  readonly pmm: Uint8Array;
  /** The code of the tag itself comes first. */
  readonly systemCodes: readonly number[];
}

/** A tag of either technology. For a FeliCa, `uid` is the IDm, and ATQA, SAK and ATS are empty. */
export interface EmulatedTag extends TypeAIdentity {
  readonly felica?: FelicaIdentity;
  /** The present content of all pages; empty for tags that are known by UID only. */
  readonly memory: Uint8Array;
  readonly state: TagState;
  /** Selects the tag as the chip does: WUPA, anticollision, SELECT. */
  select(): void;
  /** Called when the field went off, or the tag left it: the tag keeps only its memory. */
  losePower(): void;
  /** The answer to a frame without its CRC, or of `bits` bits if it is a short one; undefined for silence. */
  receive(frame: Uint8Array, bits?: number): TagAnswer | undefined;
}

/** A tag that can be removed during a write. The next write stores only this many bytes, and the tag loses its power. */
export interface TearableTag extends EmulatedTag {
  readonly tearNextWrite: (bytes: number) => void;
}

/** The reaction of an active tag to a command. After `fall` it must be selected again. */
export interface Understood {
  readonly answer: TagAnswer | undefined;
  readonly fall: boolean;
}

interface TypeAOptions extends TypeAIdentity {
  readonly memory: Uint8Array;
  readonly understand: (command: Uint8Array) => Understood;
  /** Called when the tag lost its power or was selected again. It drops the state of a half-done command. */
  readonly forget?: () => void;
}

const cascadeTag = 0x88;
const reqa = 0x26;
export const wupa = 0x52;
export const shortFrameBits = 7;
const hlta = 0x50;
const sakUidNotComplete = 0x04;
const levels: readonly number[] = [0x93, 0x95, 0x97];
const allBits = 40;

export function createTypeATag(options: TypeAOptions): EmulatedTag {
  const { uid, atqa, sak, ats, memory, understand, forget = () => {} } = options;
  const parts = uidParts(uid);
  let state: TagState = "idle";
  let wokenFrom: "idle" | "halt" = "idle";
  let level = 0;

  const become = (next: TagState) => {
    state = next;
    level = 0;
    forget();
  };
  const fall = () => {
    become(wokenFrom);
    return undefined;
  };
  const wake = (): TagAnswer => {
    wokenFrom = state === "halt" ? "halt" : "idle";
    become("ready");
    return { kind: "frame", bytes: Uint8Array.of(atqa & 0xff, atqa >> 8), hasCrc: false };
  };
  const hearShort = (code: number): TagAnswer | undefined => {
    const wakes =
      (state === "idle" && (code === reqa || code === wupa)) || (state === "halt" && code === wupa);
    return wakes ? wake() : fall();
  };
  const hearSelection = (frame: Uint8Array): TagAnswer | undefined => {
    const part = parts[level];
    if (part === undefined || frame[0] !== levels[level]) return fall();
    const known = 8 * ((frame[1] ?? 0) >> 4) + ((frame[1] ?? 0) & 0x07) - 16;
    if (known < 0 || known > allBits) return fall();
    const agrees = Array.from({ length: known }, (_, at) => at).every(
      (at) => bitAt(frame.subarray(2), at) === bitAt(part, at),
    );
    // The frame is for another tag. This tag continues to listen, and the SELECT of the other one ends that.
    if (known < allBits && !agrees) return undefined;
    if (known === 0) return { kind: "frame", bytes: part, hasCrc: false };
    if (known < allBits) return { kind: "frame", bytes: part, hasCrc: false, bitsLeftOut: known };
    if (!agrees) return fall();
    level += 1;
    const isWhole = level === parts.length;
    if (isWhole) become("active");
    return { kind: "frame", bytes: Uint8Array.of(isWhole ? sak : sakUidNotComplete), hasCrc: true };
  };

  return {
    uid,
    atqa,
    sak,
    ats,
    memory,
    get state() {
      return state;
    },
    select() {
      if (state === "halt") wokenFrom = "halt";
      become("active");
    },
    losePower() {
      wokenFrom = "idle";
      become("idle");
    },
    receive(frame, bits) {
      if (bits === shortFrameBits) return hearShort(frame[0] ?? 0);
      if (state === "ready") return hearSelection(frame);
      if (state !== "active") return undefined;
      if (frame[0] === hlta && frame[1] === 0x00 && frame.length === 2) {
        become("halt");
        return undefined;
      }
      const understood = understand(frame);
      if (understood.fall) fall();
      return understood.answer;
    },
  };
}

/**
 * The parts of a UID, with four bytes and their check byte for each cascade level. A cascade tag comes first while more
 * parts follow.
 */
function uidParts(uid: Uint8Array): readonly Uint8Array[] {
  const withCheck = (part: Uint8Array) =>
    Uint8Array.of(
      ...part,
      part.reduce((sum, byte) => sum ^ byte, 0),
    );
  if (uid.length === 4) return [withCheck(uid)];
  return [withCheck(Uint8Array.of(cascadeTag, ...uid.subarray(0, 3))), ...uidParts(uid.subarray(3))];
}

/** One bit of bytes, counted from the lowest, in the order of transmission. */
function bitAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at >> 3] ?? 0) >> (at & 7)) & 1;
}

/** The CRC_A, low byte first (ISO/IEC 14443-3, annex B): polynomial x^16 + x^12 + x^5 + 1 reflected, start 6363. */
export function crcA(bytes: Uint8Array): Uint8Array {
  let crc = 0x6363;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0x8408 : crc >> 1;
  }
  return Uint8Array.of(crc & 0xff, crc >> 8);
}
