/** Reading a Type 2 tag: its version, its memory, and the message or the toy in it. */
import type { Sighting, TagType } from "../../src/core/token.ts";
import { amiiboFigure, figureOf, isAmiibo, legoIdentity, legoToyOf } from "../protocol/toys.ts";
import {
  contentOf,
  firstPage,
  pageBytes,
  parseVersion,
  type TagContent,
  type TagVersion,
  tagCommands,
} from "../protocol/type2-tag.ts";
import { sightingOfMessage, sightingWithout, type Tag, type TypeATarget } from "./tag-channel.ts";

// The pages of one read that covers most cards: 60 bytes from page 4 on, and an answer of 7 ms at 115200 baud.
const firstReadPages = 16;
const lastPage = 0xff;
const triesMax = 3;

/** A Type 2 tag that was asked for its version. */
export interface VersionedTag {
  readonly tag: Tag;
  /** The version of the tag; undefined if it reports none. */
  readonly version: TagVersion | undefined;
}

interface Reading extends VersionedTag {
  readonly target: TypeATarget;
  /**
   * True to read page by page. A longer FAST_READ fails completely if a password guards its last page, while a READ
   * wraps around to the first page (NTAG21x, 10.2 and 10.3).
   */
  readonly carefully: boolean;
}

/** The sighting of a Type 2 tag; undefined if it left. */
export async function readType2(tag: Tag, target: TypeATarget): Promise<Sighting | undefined> {
  for (let tries = 1; ; tries++) {
    const version = await askVersion(tag);
    // A tag without this command stops listening, and must be selected again.
    const listens = version !== undefined || tag.transceive === undefined || (await tag.reselect());
    const reading = { tag, target, version, carefully: tries === triesMax };
    const sighting = listens ? await readOnce(reading) : undefined;
    if (sighting !== undefined) return sighting;
    if (!(await tag.reselect())) return undefined;
    if (tries < triesMax) continue;
    return version === undefined
      ? sightingWithout(target, "Unknown", "unreadable")
      : sightingWithout(target, version.family, "locked");
  }
}

/** One try to read the tag; undefined if an exchange failed. */
async function readOnce(reading: Reading): Promise<Sighting | undefined> {
  let read: Uint8Array = new Uint8Array();
  for (;;) {
    const content = contentOf(read);
    switch (content.kind) {
      case "need": {
        const from = firstPage + read.length / pageBytes;
        const more = await readPages(reading, from, Math.ceil((content.bytes - read.length) / pageBytes));
        if (more === undefined) return undefined;
        read = Uint8Array.of(...read, ...more);
        break;
      }
      case "message": {
        const family = await familyOf(reading, read);
        const seen = sightingOfMessage(reading.target, family, content.message, content.data);
        return (await readNumberedToy(reading, read, seen.text)) ?? seen;
      }
      case "none":
        return readWithoutMessage(reading, read, content);
    }
  }
}

// The text that the maker writes to each toy: an order number, S, week and year.
const legoNumber = /^\d{7}S\d{4}$/;

/**
 * A LEGO Dimensions toy in its original state, with a number as text; undefined for other tags, or if its identity cannot
 * be read.
 */
async function readNumberedToy(
  reading: Reading,
  container: Uint8Array,
  text: string,
): Promise<Sighting | undefined> {
  if (!legoNumber.test(text) || !isSizeOfLegoToy(reading.version, container)) return undefined;
  const identity = await readLegoIdentity(reading);
  const toy = identity === undefined ? undefined : legoToyOf(reading.target.uid, identity);
  return toy === undefined ? undefined : sightingWithout(reading.target, "LegoDimensions", undefined, toy);
}

/**
 * Reads a toy, whose `data` is the identifying part of its memory, or a blank tag. The result is undefined in the same
 * cases as that of `readOnce`.
 */
async function readWithoutMessage(
  reading: Reading,
  read: Uint8Array,
  { why, data }: Extract<TagContent, { kind: "none" }>,
): Promise<Sighting | undefined> {
  const { target, version, carefully } = reading;
  if (isAmiibo(read)) {
    const pages = await readSome(reading, amiiboFigure.page, amiiboFigure.pages);
    if (pages === undefined) return undefined;
    const figure = figureOf(pages);
    if (figure !== undefined) return sightingWithout(target, "Amiibo", undefined, figure);
  }
  if (isSizeOfLegoToy(version, read)) {
    const identity = await readLegoIdentity(reading);
    // A password may protect the upper pages. In that case no retry helps.
    if (identity === undefined && !carefully) return undefined;
    const toy = identity === undefined ? undefined : legoToyOf(target.uid, identity);
    if (toy !== undefined) return sightingWithout(target, "LegoDimensions", undefined, toy);
  }
  return sightingWithout(target, await familyOf(reading, read), problems[why], data);
}

const problems = {
  "no-message": "blank",
  "not-formatted": "unformatted",
  "cut-short": "half-written",
} as const;

/** The pages that identify a LEGO Dimensions toy; undefined if they cannot be read. */
export function readLegoIdentity(asked: VersionedTag): Promise<Uint8Array | undefined> {
  return readSome(asked, legoIdentity.page, legoIdentity.pages);
}

async function familyOf({ tag, version }: VersionedTag, container: Uint8Array): Promise<TagType> {
  return (version ?? (await versionBy(container, tag)))?.family ?? "Ultralight";
}

const legoPages = 45;

export function isSizeOfLegoToy(version: TagVersion | undefined, container: Uint8Array): boolean {
  return version === undefined ? container[2] === ntag213Size : version.pages === legoPages;
}

const ntag213Size = 0x12; // The value of data bytes / 8 in the capability container of an NTAG213 (NTAG21x, 8.5.6).

/** Reads at least one page from `from` on; undefined if that failed. */
async function readPages(
  { tag, version, carefully }: Reading,
  from: number,
  wanted: number,
): Promise<Uint8Array | undefined> {
  // A page number is one byte. Pages beyond need another sector (Type 2 Tag 1.1, 5.4).
  const end = version?.pages ?? lastPage + 1;
  const pages = Math.min(Math.max(wanted, firstReadPages), end - from);
  if (pages < 1) return undefined;
  return carefully ? readSome({ tag, version: undefined }, from, 1) : readSome({ tag, version }, from, pages);
}

// The buffer of a chip for a target's answer holds 262 bytes (PN532, UM0701-02, 7.3.9), and 48 pages are 192 bytes.
const fastReadPagesMax = 48;
const readBytes = 16; // A READ returns this many bytes (Type 2 Tag 1.1, 5.1).

/** Asks for the version; undefined if the tag reports none. A tag without the command must then be selected again. */
export async function askVersion(tag: Tag): Promise<TagVersion | undefined> {
  if (tag.transceive === undefined) return guessVersion(tag);
  const answer = await tag.transceive(Uint8Array.of(tagCommands.getVersion));
  return answer === undefined ? undefined : parseVersion(answer);
}

/**
 * Guesses the version if the reader cannot send the command, or the tag does not answer it, as copies of NTAGs do not. Such
 * a copy does not know FAST_READ either.
 */
export async function guessVersion(tag: Tag): Promise<TagVersion | undefined> {
  const container = await tag.read(firstPage);
  return container === undefined ? undefined : versionBy(container, tag);
}

/** The version by the capability container. Those of Ultralight C and NTAG213 are equal, so another page is read. */
async function versionBy(container: Uint8Array, tag: Tag): Promise<TagVersion | undefined> {
  if (container[0] !== ndefMagic) return undefined;
  const guess = ntagsBySize.get(container[2] ?? 0);
  if (guess === undefined || guess.mark === undefined) return guess?.version;
  const { page, at, value } = guess.mark;
  const marked = await tag.read(page);
  return marked?.[at] === value ? guess.version : undefined;
}

const ndefMagic = 0xe1;
/** The chips NTAG213, 215 and 216. The fourth dynamic lock byte of an NTAG213 is BD, and that of an Ultralight C is not. */
const ntagsBySize: ReadonlyMap<
  number,
  {
    readonly version: TagVersion;
    readonly mark?: { readonly page: number; readonly at: number; readonly value: number };
  }
> = new Map([
  [
    0x12,
    {
      version: { family: "NTAG", pages: 45, lacksFastRead: true },
      mark: { page: 0x28, at: 3, value: 0xbd },
    },
  ],
  [0x3e, { version: { family: "NTAG", pages: 135, lacksFastRead: true } }],
  [0x6d, { version: { family: "NTAG", pages: 231, lacksFastRead: true } }],
]);

/** Reads at least one page from `from` on, and up to `wanted` if one command can read them; undefined if that failed. */
export async function readSome(
  { tag, version }: VersionedTag,
  from: number,
  wanted: number,
): Promise<Uint8Array | undefined> {
  if (version === undefined || version.lacksFastRead === true || tag.transceive === undefined) {
    const read = await tag.read(from);
    return read?.length === readBytes ? read.subarray(0, wanted * pageBytes) : undefined;
  }
  const pages = Math.min(wanted, fastReadPagesMax, Math.floor(tag.answerBytesMax / pageBytes));
  const command = Uint8Array.of(tagCommands.fastRead, from, from + pages - 1);
  const read = await tag.transceive(command);
  return read?.length === pages * pageBytes ? read : undefined;
}
