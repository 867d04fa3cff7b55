/** Reading a Type 4 tag: a DESFire that was formatted, an NTAG 424, a phone that plays one. */
import type { Sighting } from "../../src/core/token.ts";
import { lengthIn, type Type4Container } from "../protocol/type4-tag.ts";
import { sightingOfMessage, sightingWithout } from "./sighting.ts";
import type { TagChannel } from "./tag-channel.ts";
import { isoDepType, type TypeATarget } from "./tag-type.ts";
import { openMessageFile, readFile } from "./type4-card.ts";

const triesMax = 3;
// One answer that holds most messages with their length; a longer one takes a second command.
const firstReadBytes = 96;

/** The sighting of a target of ISO/IEC 14443-4, with its message where it has one; undefined where it left. */
export async function readType4(
  channel: TagChannel,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  for (let tries = 1; ; tries++) {
    const sighting = await readOnce(channel, target, signal);
    if (sighting !== undefined) return sighting;
    if (!(await channel.reselect(signal))) return undefined;
    if (tries === triesMax) return sightingWithout(target, isoDepType(target), "unreadable");
  }
}

async function readOnce(
  channel: TagChannel,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  const type = isoDepType(target);
  const content = await openMessageFile(channel, signal);
  if (content.kind === "failed") return undefined;
  // A payment card and a phone are known by their UID, and are no tags that somebody forgot to format.
  if (content.kind === "none")
    return sightingWithout(target, type, type === "DESFire" ? "unformatted" : undefined);
  const { container } = content;
  if (!container.isReadable) return sightingWithout(target, type, "locked");
  const { lengthBytes, fileBytes } = container;
  const file = await readMessage(channel, container, signal);
  if (file === undefined) return undefined;
  const end = lengthBytes + lengthIn(file, lengthBytes);
  const data = file.subarray(0, Math.min(end, file.length));
  if (end > fileBytes) return sightingWithout(target, type, "half-written", data);
  if (end === lengthBytes) return sightingWithout(target, type, "blank", data);
  return sightingOfMessage(target, type, file.subarray(lengthBytes, end), data);
}

/** The file as far as its length tells; undefined where an exchange failed. */
async function readMessage(
  channel: TagChannel,
  container: Type4Container,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const { lengthBytes, fileBytes } = container;
  const file = new Uint8Array(fileBytes);
  let known = 0;
  for (let wanted = Math.min(firstReadBytes, fileBytes); known < wanted; ) {
    const more = await readFile(channel, container, known, wanted - known, signal);
    if (more === undefined) return undefined;
    file.set(more, known);
    known += more.length;
    wanted = lengthBytes + lengthIn(file, lengthBytes);
    if (wanted > fileBytes) break;
  }
  return file.subarray(0, known);
}
