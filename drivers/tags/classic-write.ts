/**
 * Writing a MIFARE Classic. One that nobody has used is made an NDEF tag first: its sectors, then the directory, and
 * sector 0's trailer last, without which no reader finds a message on it. Then the message, with its length last.
 */
import { toHex } from "../../src/core/hex.ts";
import { writeFailed } from "../../src/readers/contract.ts";
import { planAreaWrite, type UnitWrite } from "../protocol/area-write.ts";
import {
  accessOf,
  applicationSectors,
  blockBytes,
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
} from "../protocol/classic.ts";
import type { ClassicKey, TagChannel } from "./channel.ts";
import { type ClassicCard, classicCard, contentOfCard, keys, readBlocks } from "./classic-card.ts";
import type { TypeATarget } from "./family.ts";
import { mismatch, taken } from "./patience.ts";
import { refusals, tooSmall } from "./refusals.ts";

const triesMax = 3;
/** Keys for data that is ours. */
const dataKeys: readonly ClassicKey[] = [keys.ndef, keys.transportB, keys.transport];
/** Keys for sectors that are made ours: a new one opens by the first, a half-made one by the others. */
const freshKeys: readonly ClassicKey[] = [keys.transport, keys.ndef, keys.transportB, keys.directory];
const blankArea: readonly number[] = [0x03, 0x00, 0xfe]; // A message of no bytes, and the end.

/** Writes `message`, and resolves once it was read back equal. `force` replaces data that is not ours. */
export async function writeClassic(
  channel: TagChannel,
  target: TypeATarget,
  message: Uint8Array,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const card = classicCard(channel, target, signal);
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
      const sectors = applicationSectors(card.sectors);
      // Before anything is changed: a message that does not fit leaves a new tag new.
      const blank = Uint8Array.from({ length: dataBlocksOf(sectors).length * blockBytes }, () => 0);
      const plan = planAreaWrite(blank, blockBytes, message, false);
      if (plan.kind === "too-small") throw tooSmall(plan.bytesMissing);
      await format(card, sectors, force);
      return writeArea(card, dataBlocksOf(sectors), message, force);
    }
    case "directory":
      if (content.ndefSectors.length === 0) throw refusals["other-application"]();
      return writeArea(card, dataBlocksOf(content.ndefSectors), message, force);
  }
}

/** Makes an NDEF tag of a card whose sectors are on the transport key; an earlier try may have come half-way. */
async function format(card: ClassicCard, sectors: readonly number[], force: boolean): Promise<void> {
  const seen: FreeSector[] = [];
  for (const sector of sectors) seen.push(await expectFree(card, sector, force));
  for (const [index, { sector, content, isOurs }] of seen.entries()) {
    for (const [at, block] of dataBlocksOf([sector]).entries()) {
      const wanted = new Uint8Array(blockBytes);
      if (index + at === 0) wanted.set(blankArea);
      if (toHex(wanted) !== toHex(blockIn(content, at))) await put(card, block, wanted, freshKeys);
    }
    if (!isOurs) await put(card, trailerOf(sector), ndefTrailer(), freshKeys);
  }
  if (hasSecondDirectory(card.sectors)) {
    const first = firstBlockOf(secondDirectorySector);
    const directory = encodeDirectory(3, secondDirectorySector + 1, card.sectors - 1);
    for (let at = 0; at < 3; at++) await put(card, first + at, blockIn(directory, at), freshKeys);
    await put(card, trailerOf(secondDirectorySector), directoryTrailer(card.sectors), freshKeys);
  }
  const directory = encodeDirectory(2, 1, Math.min(card.sectors, secondDirectorySector) - 1);
  for (let at = 0; at < 2; at++) await put(card, 1 + at, blockIn(directory, at), freshKeys);
  await put(card, trailerOf(0), directoryTrailer(card.sectors), freshKeys);
}

interface FreeSector {
  readonly sector: number;
  readonly content: Uint8Array;
  /** It has the NDEF application's key already. */
  readonly isOurs: boolean;
}

/** Throws where the sector is not on a public key, or holds something. */
async function expectFree(card: ClassicCard, sector: number, force: boolean): Promise<FreeSector> {
  let isOurs = false;
  const content = await untilRead(card, async () => {
    const key = await openAny(card, sector, [keys.transport, keys.ndef]);
    if (key === undefined) throw refusals["other-application"]();
    isOurs = key === keys.ndef;
    return readBlocks(card, dataBlocksOf([sector]));
  });
  // What an earlier try to format left, also half of it, is nothing.
  const isFree = content.every((byte, index) => byte === 0 || byte === blankArea[index]);
  if (!isFree && !force) throw refusals["other-data"]();
  return { sector, content, isOurs };
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
  // It holds this very message, and has just been read.
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
    // A message that does not hold should not be launched either. Best effort: the tag may be gone.
    const { unit } = plan.last;
    await write({ unit, bytes: blockIn(plan.drafted, unit) }).catch(() => {});
    throw error;
  }
}

/** Throws `locked` where the access bits of a sector let no public key write its data. */
async function expectWritable(card: ClassicCard, sectors: readonly number[]): Promise<void> {
  for (const sector of sectors) {
    const trailer = await untilRead(card, async () => {
      if ((await openAny(card, sector, dataKeys)) === undefined) throw refusals.keys();
      return card.read(trailerOf(sector));
    });
    for (const block of dataBlocksOf([sector])) {
      const access = accessOf(trailer, groupOf(block));
      // MF1S50YYX, table 8: 000 is written by A or B, 100 and 110 by B alone, and data in 011 by B, too.
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

/** Writes a block by whichever key may; it is written again where its answer was lost, which does no harm. */
async function put(
  card: ClassicCard,
  block: number,
  bytes: Uint8Array,
  wanted: readonly ClassicKey[],
): Promise<void> {
  for (let tries = 1; tries <= triesMax; tries++) {
    // Of two keys that open a sector, one may have to leave its blocks as they are.
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

/** As `open`; throws `gone` where the card left. */
async function openAny(card: ClassicCard, sector: number, wanted: readonly ClassicKey[]) {
  const key = await card.open(sector, wanted);
  if (key === undefined && card.hasLeft) throw taken();
  return key;
}

/** What `read` gives, tried again on a card that is selected anew. */
async function untilRead<T>(card: ClassicCard, read: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const result = await read();
    if (result !== undefined) return result;
    if (!(await card.reselect())) throw taken();
    if (tries === triesMax) throw refusals.unreadable();
  }
}

function blockIn(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.slice(at * blockBytes, (at + 1) * blockBytes);
}
