/** The memory of a Type 2 tag over a channel: by FAST_READ where the tag and the reader know it, else 16 bytes at a time. */
import { firstPage, pageBytes, parseVersion, type TagVersion, tagCommands } from "../protocol/type2-tag.ts";
import type { TagChannel } from "./tag-channel.ts";

// A chip's buffer for a target's answer holds 262 bytes (PN532, UM0701-02, 7.3.9); 48 pages are 192.
const fastReadPagesMax = 48;
const readBytes = 16; // READ (Type 2 Tag 1.1, 5.1).

/** Undefined where the tag tells none; one that does not know the question must be selected again then. */
export async function askVersion(channel: TagChannel, signal: AbortSignal): Promise<TagVersion | undefined> {
  if (channel.transceive === undefined) return guessVersion(channel, signal);
  const answer = await channel.transceive(Uint8Array.of(tagCommands.getVersion), signal);
  return answer === undefined ? undefined : parseVersion(answer);
}

/** By the capability container, where a reader has no way to ask; an Ultralight C tells the same as an NTAG213. */
async function guessVersion(channel: TagChannel, signal: AbortSignal): Promise<TagVersion | undefined> {
  const container = await channel.read(firstPage, signal);
  if (container?.[0] !== ndefMagic) return undefined;
  const guess = ntagsBySize.get(container[2] ?? 0);
  if (guess === undefined || guess.mark === undefined) return guess?.version;
  const { page, at, value } = guess.mark;
  const marked = await channel.read(page, signal);
  return marked?.[at] === value ? guess.version : undefined;
}

const ndefMagic = 0xe1;
/** NTAG213, 215 and 216; the fourth of the 213's dynamic lock bytes is BD, and an Ultralight C's is not. */
const ntagsBySize: ReadonlyMap<
  number,
  {
    readonly version: TagVersion;
    readonly mark?: { readonly page: number; readonly at: number; readonly value: number };
  }
> = new Map([
  [0x12, { version: { family: "NTAG", pages: 45 }, mark: { page: 0x28, at: 3, value: 0xbd } }],
  [0x3e, { version: { family: "NTAG", pages: 135 } }],
  [0x6d, { version: { family: "NTAG", pages: 231 } }],
]);

/** At least one page from `from` on, of the `wanted` ones as many as one command gives; undefined where it failed. */
export async function readSome(
  channel: TagChannel,
  version: TagVersion | undefined,
  from: number,
  wanted: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (version === undefined || channel.transceive === undefined) {
    const read = await channel.read(from, signal);
    return read?.length === readBytes ? read.subarray(0, wanted * pageBytes) : undefined;
  }
  const pages = Math.min(wanted, fastReadPagesMax);
  const command = Uint8Array.of(tagCommands.fastRead, from, from + pages - 1);
  const read = await channel.transceive(command, signal);
  return read?.length === pages * pageBytes ? read : undefined;
}
