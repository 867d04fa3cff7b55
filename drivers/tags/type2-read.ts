/** Reading a Type 2 tag: what it is, and the message in its memory. */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import { parseMessage, textOf } from "../protocol/ndef.ts";
import { contentOf, firstPage, pageBytes, type TagVersion } from "../protocol/type2-tag.ts";
import type { TagChannel } from "./channel.ts";
import { askVersion, readSome } from "./type2-memory.ts";

// One read that covers most cards: 60 bytes from page 4 on, and an answer of 7 ms at 115200 baud.
const firstReadPages = 16;
const lastPage = 0xff;

/** The sighting of a Type 2 tag; undefined where an exchange failed. */
export async function readType2(
  channel: TagChannel,
  uid: Uint8Array,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  const version = await askVersion(channel, signal);
  // A tag that does not know the question stops listening, and must be selected again.
  if (version === undefined && channel.transceive !== undefined && !(await channel.reselect(signal)))
    return undefined;

  let read: Uint8Array = new Uint8Array();
  for (;;) {
    const content = contentOf(read);
    if (content.kind === "need") {
      const from = firstPage + read.length / pageBytes;
      const wanted = Math.ceil((content.bytes - read.length) / pageBytes);
      const more = await readPages(channel, version, from, wanted, signal);
      if (more === undefined) return undefined;
      read = Uint8Array.of(...read, ...more);
      continue;
    }
    const text = content.kind === "message" ? messageText(content.message) : "";
    return { type: version?.family ?? "Ultralight", uid: toHex(uid), text, data: toHex(content.data) };
  }
}

/** At least one page from `from` on; undefined where it failed. */
async function readPages(
  channel: TagChannel,
  version: TagVersion | undefined,
  from: number,
  wanted: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  // A page number is one byte; what a tag claims beyond needs another sector (Type 2 Tag 1.1, 5.4).
  const end = version?.pages ?? lastPage + 1;
  const pages = Math.min(Math.max(wanted, firstReadPages), end - from);
  return pages < 1 ? undefined : readSome(channel, version, from, pages, signal);
}

function messageText(message: Uint8Array): string {
  const parsed = parseMessage(message);
  return parsed.kind === "message" ? (textOf(parsed.records) ?? "") : "";
}
