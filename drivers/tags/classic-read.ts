/** Reading a MIFARE Classic: public keys open its sectors, and its directory names the sectors of the message. */
import type { Sighting } from "../../src/core/token.ts";
import {
  blockBytes,
  dataBlocksOf,
  directoryByte,
  firstBlockOf,
  hasSecondDirectory,
  parseDirectory,
  publicKeys,
  secondDirectorySector,
  sectorOf,
  sectorsOf,
  trailerOf,
} from "../protocol/classic.ts";
import { findMessage } from "../protocol/tlv.ts";
import {
  type ClassicKey,
  sightingOfMessage,
  sightingWithout,
  type Tag,
  type TypeATarget,
} from "./tag-channel.ts";

const triesMax = 3;
const dataBytesWithoutMessage = 16;

/** The sighting of a MIFARE Classic; undefined if it left. */
export async function readClassic(tag: Tag, target: TypeATarget): Promise<Sighting | undefined> {
  const card = classicCard(tag, target);
  for (let tries = 1; ; tries++) {
    const sighting = await readOnce(card, target);
    if (sighting !== undefined) return sighting;
    if (!(await card.reselect())) return undefined;
    if (tries === triesMax) return sightingWithout(target, "MIFARE", "unreadable");
  }
}

async function readOnce(card: ClassicCard, target: TypeATarget): Promise<Sighting | undefined> {
  const content = await contentOfCard(card);
  switch (content.kind) {
    case "failed":
      return undefined;
    case "locked":
      return sightingWithout(target, "MIFARE", "locked");
    case "fresh":
    case "no-directory":
      return sightingWithout(target, "MIFARE", "unformatted");
    case "directory":
      if (content.ndefSectors.length === 0) return sightingWithout(target, "MIFARE", "unformatted");
      return readArea(card, target, dataBlocksOf(content.ndefSectors));
  }
}

/** Reads block after block, until the message ends. */
async function readArea(
  card: ClassicCard,
  target: TypeATarget,
  blocks: readonly number[],
): Promise<Sighting | undefined> {
  const whole = new Uint8Array(blocks.length * blockBytes);
  for (let known = 0; ; known += blockBytes) {
    const area = whole.subarray(0, known);
    const found = findMessage(area, whole.length);
    if (found.kind === "message") {
      const message = area.subarray(found.start, found.end);
      return sightingOfMessage(target, "MIFARE", message, area.subarray(0, found.end));
    }
    if (found.kind === "none") {
      const data = area.subarray(0, dataBytesWithoutMessage);
      return sightingWithout(target, "MIFARE", found.why === "cut-short" ? "half-written" : "blank", data);
    }
    const block = blocks[known / blockBytes];
    if (block === undefined) return undefined;
    const key = await card.open(sectorOf(block), [keys.ndef, keys.transport]);
    // The tag is present, and refuses this sector.
    if (key === undefined) return card.hasLeft ? undefined : sightingWithout(target, "MIFARE", "locked");
    const bytes = await card.read(block);
    if (bytes === undefined) return undefined;
    whole.set(bytes, known);
  }
}

export type ClassicCard = ReturnType<typeof classicCard>;

const keyA = (bytes: Uint8Array): ClassicKey => ({ kind: "A", bytes });
const keyB = (bytes: Uint8Array): ClassicKey => ({ kind: "B", bytes });
export const keys = {
  directory: keyA(publicKeys.directory),
  ndef: keyA(publicKeys.ndef),
  transport: keyA(publicKeys.transport),
  transportB: keyB(publicKeys.transport),
};

export function classicCard(tag: Tag, target: TypeATarget) {
  let open: { readonly sector: number; readonly key: ClassicKey } | undefined;
  let hasLeft = false;
  const reselect = async () => {
    open = undefined;
    hasLeft = !(await tag.reselect());
    return !hasLeft;
  };
  return {
    sectors: sectorsOf(target.sak),
    /** Selects the card again. Resolves with false if it left. */
    reselect,
    /** True if the last selection did not find the card. */
    get hasLeft() {
      return hasLeft;
    },
    /**
     * Opens the sector by the first of these keys that fits, and returns the key; undefined if none does. A card falls
     * silent at a wrong key and is selected again then.
     */
    async open(sector: number, wanted: readonly ClassicKey[]): Promise<ClassicKey | undefined> {
      if (open?.sector === sector && wanted.some((key) => key === open?.key)) return open.key;
      // The first key is tried again, because the card's answer may have been lost.
      for (const key of [...wanted, ...wanted.slice(0, 1)]) {
        if (await tag.authenticate(trailerOf(sector), key)) {
          open = { sector, key };
          return key;
        }
        if (!(await reselect())) return undefined;
      }
      return undefined;
    },
    async read(block: number) {
      const bytes = open?.sector === sectorOf(block) ? await tag.read(block) : undefined;
      return bytes?.length === blockBytes ? bytes : undefined;
    },
    write: async (block: number, bytes: Uint8Array) =>
      open?.sector === sectorOf(block) && tag.write(block, bytes),
  };
}

type CardContent =
  /** The sectors of the NDEF application, in order; none if the directory gives it none. */
  | { readonly kind: "directory"; readonly ndefSectors: readonly number[]; readonly isShared: boolean }
  /** If sector 0 has the transport key, the card is new. */
  | { readonly kind: "fresh" }
  | { readonly kind: "no-directory" }
  | { readonly kind: "locked" }
  | { readonly kind: "failed" };

export async function contentOfCard(card: ClassicCard): Promise<CardContent> {
  const key = await card.open(0, [keys.directory, keys.transport]);
  if (key === undefined) return { kind: card.hasLeft ? "failed" : "locked" };
  if (key === keys.transport) return { kind: "fresh" };
  const first = await readCardBlocks(card, [1, 2]);
  if (first === undefined) return { kind: "failed" };
  const directory = parseDirectory(first, 1);
  if (directory === undefined) return { kind: "no-directory" };
  const { ndefSectors, otherSectors } = directory;
  if (!hasSecondDirectory(card.sectors))
    return { kind: "directory", ndefSectors, isShared: otherSectors.length > 0 };
  const more = await secondDirectory(card);
  if (more === undefined) return { kind: "failed" };
  return {
    kind: "directory",
    ndefSectors: [...ndefSectors, ...more.ndefSectors],
    isShared: otherSectors.length + more.otherSectors.length > 0,
  };
}

/** The directory of the sectors after 16; an empty directory if the card has none; undefined if a read failed. */
async function secondDirectory(card: ClassicCard) {
  const none = { ndefSectors: [], otherSectors: [] };
  const trailer = await card.read(trailerOf(0));
  if (trailer === undefined) return undefined;
  if (((trailer[9] ?? 0) & 0x03) !== (directoryByte.second & 0x03)) return none;
  if ((await card.open(secondDirectorySector, [keys.directory])) === undefined) return none;
  const first = firstBlockOf(secondDirectorySector);
  const bytes = await readCardBlocks(card, [first, first + 1, first + 2]);
  if (bytes === undefined) return undefined;
  return parseDirectory(bytes, secondDirectorySector + 1) ?? none;
}

/** The blocks of the open sector; undefined if one could not be read. */
export async function readCardBlocks(
  card: ClassicCard,
  blocks: readonly number[],
): Promise<Uint8Array | undefined> {
  const read = new Uint8Array(blocks.length * blockBytes);
  for (const [index, block] of blocks.entries()) {
    const bytes = await card.read(block);
    if (bytes === undefined) return undefined;
    read.set(bytes, index * blockBytes);
  }
  return read;
}
