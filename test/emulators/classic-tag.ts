/**
 * An emulated MIFARE Classic (MF1S50YYX, MF1S70YYX): sectors with two keys and access bits. The cipher is not emulated: the
 * PN532 does it by itself, and passes the key on in cleartext.
 *
 *   60, 61 block key(6) UID(4)   opens a sector by key A or B; a wrong key halts
 *   30 block                     16 bytes; key A reads as zeros, and so does key B unless it is data
 *   A0 block, then 16 bytes      four bits: A taken, 4 refused, which halts, too
 */

import {
  accessOf,
  applicationSectors,
  blockBytes,
  classicCommands,
  dataBlocksOf,
  directoryTrailer,
  encodeDirectory,
  firstBlockOf,
  groupOf,
  hasSecondDirectory,
  ndefTrailer,
  secondDirectorySector,
  sectorOf,
  trailerOf,
} from "../../drivers/protocol/classic.ts";
import { encodeTextMessage } from "../../drivers/protocol/ndef.ts";
import { tagCommands, wrapMessage } from "../../drivers/protocol/type2-tag.ts";
import { assert } from "../../src/core/errors.ts";
import { createTypeATag, type TearableTag, type Understood } from "./type-a.ts";

export const classicKinds = {
  "classic-mini": { sectors: 5, sak: 0x09, atqa: 0x0004 },
  "classic-1k": { sectors: 16, sak: 0x08, atqa: 0x0004 },
  "classic-4k": { sectors: 40, sak: 0x18, atqa: 0x0002 },
} as const;
export type ClassicKind = keyof typeof classicKinds;

export function classicKindOf(name: string): ClassicKind | undefined {
  const names: readonly ClassicKind[] = ["classic-mini", "classic-1k", "classic-4k"];
  return names.find((kind) => kind === name);
}

interface ClassicOptions {
  /** The UID of 4 or 7 bytes. */
  readonly uid: Uint8Array;
  /**
   * Makes the card an NDEF tag with this text. An empty text formats it without a message. Without the field, it is in
   * its factory state.
   */
  readonly text?: string;
  /** The SAK of another maker's chip; that of the kind if absent. */
  readonly sak?: number;
}

const transportTrailer = Uint8Array.fromHex("ffffffffffffff078069ffffffffffff");
const writeMs = 4.6; // The time of a write: two programming cycles of 2.3 ms (MF1S50YYX, table 18: acknowledge time-outs).

export function createClassic(
  kind: ClassicKind,
  { uid, text, sak = classicKinds[kind].sak }: ClassicOptions,
): TearableTag {
  const { sectors, atqa } = classicKinds[kind];
  const memory = factoryMemory(sectors, uid, sak, atqa);
  if (text !== undefined) format(memory, sectors, text);
  const card = createCard(memory, sectors);
  const tag = createTypeATag({
    uid,
    atqa: uid.length === 4 ? atqa : atqa | 0x0040,
    sak,
    ats: new Uint8Array(),
    memory,
    understand: card.understand,
    forget: card.forget,
  });
  return Object.assign(tag, { tearNextWrite: card.tearNextWrite });
}

function factoryMemory(sectors: number, uid: Uint8Array, sak: number, atqa: number): Uint8Array {
  const memory = new Uint8Array(firstBlockOf(sectors) * blockBytes);
  const check = uid.length === 4 ? [uid.reduce((sum, byte) => sum ^ byte, 0)] : [];
  memory.set([...uid, ...check, sak, atqa & 0xff, atqa >> 8]);
  for (let sector = 0; sector < sectors; sector++)
    memory.set(transportTrailer, trailerOf(sector) * blockBytes);
  return memory;
}

function format(memory: Uint8Array, sectors: number, text: string): void {
  const ours = applicationSectors(sectors);
  const blocks = dataBlocksOf(ours);
  const content = wrapMessage(text === "" ? new Uint8Array() : encodeTextMessage(text));
  assert(content.length <= blocks.length * blockBytes, "the message fits the card");
  for (const [index, block] of blocks.entries())
    memory.set(content.subarray(index * blockBytes, (index + 1) * blockBytes), block * blockBytes);
  for (const sector of ours) memory.set(ndefTrailer(), trailerOf(sector) * blockBytes);
  memory.set(encodeDirectory(2, 1, Math.min(sectors, secondDirectorySector) - 1), blockBytes);
  memory.set(directoryTrailer(sectors), trailerOf(0) * blockBytes);
  if (!hasSecondDirectory(sectors)) return;
  memory.set(
    encodeDirectory(3, secondDirectorySector + 1, sectors - 1),
    firstBlockOf(secondDirectorySector) * blockBytes,
  );
  memory.set(directoryTrailer(sectors), trailerOf(secondDirectorySector) * blockBytes);
}

const silent: Understood = { answer: undefined, fall: true };
const refused: Understood = { answer: { kind: "four-bits", value: 0x4 }, fall: true };
const taken: Understood = { answer: { kind: "four-bits", value: 0xa }, fall: false };
const written: Understood = { answer: { kind: "four-bits", value: 0xa, workMs: writeMs }, fall: false };

function createCard(memory: Uint8Array, sectors: number) {
  let open: { readonly sector: number; readonly key: "A" | "B" } | undefined;
  let writing: number | undefined;
  let tornBytes: number | undefined;

  const trailer = (sector: number) =>
    memory.subarray(trailerOf(sector) * blockBytes, (trailerOf(sector) + 1) * blockBytes);
  const authenticate = (key: "A" | "B", block: number, bytes: Uint8Array): Understood => {
    const sector = sectorOf(block);
    open = undefined;
    if (sector >= sectors || bytes.length < 6) return silent;
    const wanted = trailer(sector)
      .subarray(key === "A" ? 0 : 10)
      .subarray(0, 6);
    if (!wanted.every((byte, index) => byte === bytes[index])) return silent;
    open = { sector, key };
    return taken;
  };
  const rights = (block: number): Rights | undefined => {
    if (open?.sector !== sectorOf(block)) return undefined;
    const bits = trailer(open.sector);
    const [ofBlock, ofTrailer] = [accessOf(bits, groupOf(block)), accessOf(bits, 3)];
    if (ofBlock === undefined || ofTrailer === undefined) return undefined;
    // A key B that can be read is data, and opens nothing (MF1S50YYX, 8.7.2).
    const isKeyBData = [0b000, 0b010, 0b001].includes(ofTrailer);
    if (open.key === "B" && isKeyBData) return undefined;
    return rightsOf(ofBlock, groupOf(block) === 3, open.key);
  };
  const put = (block: number, bytes: Uint8Array): Understood => {
    const allowed = rights(block);
    if (bytes.length !== blockBytes || block === 0 || allowed === undefined) return refused;
    const old = memory.slice(block * blockBytes, (block + 1) * blockBytes);
    const wanted = old.map((byte, index) => (allowed.writes(index) ? (bytes[index] ?? 0) : byte));
    if (!allowed.writesAny) return refused;
    const torn = tornBytes;
    tornBytes = undefined;
    memory.set(wanted.subarray(0, torn ?? blockBytes), block * blockBytes);
    return torn === undefined ? written : silent;
  };

  return {
    tearNextWrite(bytes: number) {
      tornBytes = bytes;
    },
    forget() {
      open = undefined;
      writing = undefined;
    },
    understand(command: Uint8Array): Understood {
      const [code, block = 0] = command;
      if (writing !== undefined) {
        const at = writing;
        writing = undefined;
        return put(at, command);
      }
      switch (code) {
        case classicCommands.authenticateA:
          return authenticate("A", block, command.subarray(2));
        case classicCommands.authenticateB:
          return authenticate("B", block, command.subarray(2));
        case tagCommands.read: {
          const allowed = rights(block);
          if (allowed === undefined || !allowed.readsAny) return refused;
          const bytes = memory.slice(block * blockBytes, (block + 1) * blockBytes);
          const shown = bytes.map((byte, index) => (allowed.reads(index) ? byte : 0));
          return { answer: { kind: "frame", bytes: shown, hasCrc: true }, fall: false };
        }
        case tagCommands.compatibilityWrite:
          if (rights(block) === undefined) return refused;
          writing = block;
          return taken;
        default:
          return refused;
      }
    },
  };
}

interface Rights {
  readonly readsAny: boolean;
  readonly writesAny: boolean;
  readonly reads: (byte: number) => boolean;
  readonly writes: (byte: number) => boolean;
}

type Who = "A" | "B" | "AB" | "-";

/** The rights on data blocks by C1 C2 C3: the keys that may read, and those that may write (MF1S50YYX, table 8). */
const dataRights: readonly (readonly [Who, Who])[] = [
  ["AB", "AB"],
  ["AB", "-"],
  ["AB", "-"],
  ["B", "B"],
  ["AB", "B"],
  ["B", "-"],
  ["AB", "B"],
  ["-", "-"],
];
/**
 * The rights on trailers: the keys that may write key A, read and write the access bits, and read and write key B (table 7).
 */
const trailerRights: readonly (readonly [Who, Who, Who, Who, Who])[] = [
  ["A", "A", "-", "A", "A"],
  ["A", "A", "A", "A", "A"],
  ["-", "A", "-", "A", "-"],
  ["B", "AB", "B", "-", "B"],
  ["B", "AB", "-", "-", "B"],
  ["-", "AB", "B", "-", "-"],
  ["-", "AB", "-", "-", "-"],
  ["-", "AB", "-", "-", "-"],
];

function rightsOf(access: number, isTrailer: boolean, key: "A" | "B"): Rights {
  const may = (who: Who | undefined) => who?.includes(key) ?? false;
  if (!isTrailer) {
    const [read, write] = dataRights[access] ?? [];
    return { readsAny: may(read), writesAny: may(write), reads: () => may(read), writes: () => may(write) };
  }
  const [writeA, readBits, writeBits, readB, writeB] = trailerRights[access] ?? [];
  const partOf = (byte: number) => (byte < 6 ? "A" : byte < 10 ? "bits" : "B");
  const reads = { A: false, bits: may(readBits), B: may(readB) };
  const writes = { A: may(writeA), bits: may(writeBits), B: may(writeB) };
  return {
    readsAny: reads.bits,
    writesAny: writes.A || writes.bits || writes.B,
    reads: (byte) => reads[partOf(byte)],
    writes: (byte) => writes[partOf(byte)],
  };
}
