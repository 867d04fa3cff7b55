/**
 * Writing a MIFARE Classic. A new card is formatted first: its sectors, the directory, and at last the trailer of
 * sector 0. Without that trailer no reader finds a message. After that the message is written, with its length last.
 */
import { toHex } from "../../src/core/hex.ts";
import { writeFailed } from "../../src/readers/driver.ts";
import {
  accessOf,
  applicationSectors,
  blockBytes,
  dataBlocksOf,
  directoryTrailer,
  encodeDirectory,
  groupOf,
  hasSecondDirectory,
  ndefTrailer,
  secondDirectorySector,
  sectorOf,
  trailerOf,
} from "../protocol/classic.ts";
import { planAreaWrite, type UnitWrite } from "../protocol/tlv.ts";
import { type ClassicCard, classicCard, contentOfCard, keys, readCardBlocks } from "./classic-read.ts";
import type { ClassicKey, Tag, TypeATarget } from "./tag-channel.ts";
import { mismatch, refusals, taken, tooSmall, withRetries } from "./write-failures.ts";

const triesMax = 3;
const dataKeys: readonly ClassicKey[] = [keys.ndef, keys.transportB, keys.transport];
/** The keys to try before a sector is formatted. The first opens a new card, and the others open a half-formatted one. */
const freshKeys: readonly ClassicKey[] = [keys.transport, keys.ndef, keys.transportB, keys.directory];
const blankArea: readonly number[] = [0x03, 0x00, 0xfe]; // The content of an area without a message: a message of no bytes, and the end.

/** Writes `message`, and resolves once it was read back equal. `force` replaces data that is not ours. */
export async function writeClassic(
  tag: Tag,
  target: TypeATarget,
  message: Uint8Array,
  force: boolean,
): Promise<void> {
  const card = classicCard(tag, target);
  const content = await untilRead(card, async () => {
    const seen = await contentOfCard(card);
    return seen.kind === "failed" ? undefined : seen;
  });
  switch (content.kind) {
    case "locked":
      throw refusals.keys();
    case "no-directory":
      throw refusals["other-application"]();
    case "fresh": {
      const blocks = dataBlocksOf(applicationSectors(card.sectors));
      // The write is planned before the first write to the tag, so a message that does not fit changes nothing on a new
      // tag.
      const plan = planAreaWrite(new Uint8Array(blocks.length * blockBytes), blockBytes, message, false);
      if (plan.kind === "too-small") throw tooSmall(plan.bytesMissing);
      await format(card, force);
      return writeArea(card, blocks, message, force);
    }
    case "directory":
      if (content.ndefSectors.length === 0) throw refusals["other-application"]();
      return writeArea(card, dataBlocksOf(content.ndefSectors), message, force);
  }
}

interface WantedSector {
  readonly sector: number;
  /** The final content of the sector's data blocks, and its trailer. */
  readonly content: Uint8Array;
  readonly trailer: Uint8Array;
  /** The key that opens the sector once it has that trailer. */
  readonly key: ClassicKey;
}

/** The sectors of an NDEF tag without a message, in the order of the writes. Sector 0, with the first directory, is last. */
function wantedSectors(sectors: number): readonly WantedSector[] {
  const ours = applicationSectors(sectors).map((sector, index) => {
    const content = new Uint8Array(dataBlocksOf([sector]).length * blockBytes);
    if (index === 0) content.set(blankArea);
    return { sector, content, trailer: ndefTrailer(), key: keys.ndef };
  });
  const directory = (sector: number, blocks: number, lastSector: number): WantedSector => {
    const content = new Uint8Array(dataBlocksOf([sector]).length * blockBytes);
    content.set(encodeDirectory(blocks, sector + 1, lastSector));
    return { sector, content, trailer: directoryTrailer(sectors), key: keys.directory };
  };
  const first = directory(0, 2, Math.min(sectors, secondDirectorySector) - 1);
  if (!hasSecondDirectory(sectors)) return [...ours, first];
  return [...ours, directory(secondDirectorySector, 3, sectors - 1), first];
}

/** Makes an NDEF tag of a card whose sectors have the transport key. An earlier try may have formatted some of the sectors. */
async function format(card: ClassicCard, force: boolean): Promise<void> {
  const seen: { readonly wanted: WantedSector; readonly found: FreeSector }[] = [];
  for (const wanted of wantedSectors(card.sectors))
    seen.push({ wanted, found: await expectFree(card, wanted, force) });
  for (const { wanted, found } of seen) {
    for (const [at, block] of dataBlocksOf([wanted.sector]).entries()) {
      const bytes = blockIn(wanted.content, at);
      if (toHex(bytes) !== toHex(blockIn(found.content, at))) await put(card, block, bytes, freshKeys);
    }
    if (!found.isOurs) await put(card, trailerOf(wanted.sector), wanted.trailer, freshKeys);
  }
}

interface FreeSector {
  readonly content: Uint8Array;
  readonly isOurs: boolean;
}

/** Throws if the sector has no public key, or has data. */
async function expectFree(card: ClassicCard, wanted: WantedSector, force: boolean): Promise<FreeSector> {
  const { sector } = wanted;
  let isOurs = false;
  const content = await untilRead(card, async () => {
    const key = await openAny(card, sector, [keys.transport, wanted.key]);
    if (key === undefined) throw refusals["other-application"]();
    isOurs = key === wanted.key;
    return readCardBlocks(card, dataBlocksOf([sector]));
  });
  // The remains of an earlier try to format do not count as data.
  const isFree = content.every((byte, index) => byte === 0 || byte === wanted.content[index]);
  if (!isFree && !force) throw refusals["other-data"]();
  return { content, isOurs };
}

async function writeArea(
  card: ClassicCard,
  blocks: readonly number[],
  message: Uint8Array,
  force: boolean,
): Promise<void> {
  const plan = planAreaWrite(await readArea(card, blocks), blockBytes, message, force);
  if (plan.kind === "refused") throw refusals[plan.why]();
  if (plan.kind === "too-small") throw tooSmall(plan.bytesMissing);
  // The card has this message already, as it was read just now.
  if (plan.last === undefined) return;
  const steps = [...plan.draft, plan.last];
  await expectWritable(card, [...new Set(steps.map(({ unit }) => sectorOf(blocks[unit] ?? 0)))]);
  const write = ({ unit, bytes }: UnitWrite) => put(card, blocks[unit] ?? 0, bytes, dataKeys);
  const touched = blocks.slice(0, 1 + Math.max(...steps.map(({ unit }) => unit)));
  for (const step of plan.draft) await write(step);
  await compare(card, touched, plan.drafted);
  await write(plan.last);
  try {
    await compare(card, touched, plan.written);
  } catch (error) {
    // The written message differs, so it is made invalid and never launched. A failure is ignored, because the tag may be gone.
    const { unit } = plan.last;
    await write({ unit, bytes: blockIn(plan.drafted, unit) }).catch(() => {});
    throw error;
  }
}

/** Throws `locked` if the access bits of a sector let no public key write its data. */
async function expectWritable(card: ClassicCard, sectors: readonly number[]): Promise<void> {
  for (const sector of sectors) {
    const trailer = await untilRead(card, async () => {
      if ((await openAny(card, sector, dataKeys)) === undefined) throw refusals.keys();
      return card.read(trailerOf(sector));
    });
    for (const block of dataBlocksOf([sector])) {
      const access = accessOf(trailer, groupOf(block));
      // MF1S50YYX, table 8: data with 000 is written by key A or B, and data with 100, 110 or 011 by key B only.
      if (access === undefined || ![0b000, 0b100, 0b110, 0b011].includes(access)) throw refusals.locked();
      if (access !== 0b000 && (await openAny(card, sector, [keys.transportB])) === undefined)
        throw refusals.locked();
    }
  }
}

async function readArea(card: ClassicCard, blocks: readonly number[]): Promise<Uint8Array> {
  const area = new Uint8Array(blocks.length * blockBytes);
  for (const [index, block] of blocks.entries()) {
    const bytes = await untilRead(card, async () => {
      if ((await openAny(card, sectorOf(block), dataKeys)) === undefined) throw refusals.keys();
      return card.read(block);
    });
    area.set(bytes, index * blockBytes);
  }
  return area;
}

/** Writes a block with the first key that has the right. It is written again if its answer was lost, which does no harm. */
async function put(
  card: ClassicCard,
  block: number,
  bytes: Uint8Array,
  wanted: readonly ClassicKey[],
): Promise<void> {
  for (let tries = 1; tries <= triesMax; tries++) {
    // If two keys open a sector, one of them may lack the right to write.
    for (const key of wanted) {
      if ((await openAny(card, sectorOf(block), [key])) === undefined) continue;
      if (await card.write(block, bytes)) return;
      if (!(await card.reselect())) throw taken();
    }
  }
  throw writeFailed("locked", `the tag refused to be written, at block ${block}. Use another one`);
}

async function compare(card: ClassicCard, blocks: readonly number[], expected: Uint8Array): Promise<void> {
  const read = await readArea(card, blocks);
  if (toHex(read) !== toHex(expected.subarray(0, read.length))) throw mismatch();
}

/** Like `open`, but throws `gone` if the card left. */
async function openAny(card: ClassicCard, sector: number, wanted: readonly ClassicKey[]) {
  const key = await card.open(sector, wanted);
  if (key === undefined && card.hasLeft) throw taken();
  return key;
}

/** Like `withRetries`, but throws if the card cannot be read. */
async function untilRead<T>(card: ClassicCard, read: () => Promise<T | undefined>): Promise<T> {
  const result = await withRetries(card, read);
  if (result === undefined) throw refusals.unreadable();
  return result;
}

function blockIn(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.slice(at * blockBytes, (at + 1) * blockBytes);
}
