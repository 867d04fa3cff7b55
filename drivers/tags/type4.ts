/**
 * Reading and writing a Type 4 tag: a formatted DESFire, an NTAG 424, a phone that emulates one. A write sets the
 * length to zero first, then writes the message, and the length last (Type 4 Tag 2.0, 5.4.5). An interrupted write
 * therefore leaves the old message, the new one, or none.
 */
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import {
  type CardAnswer,
  containerBytes,
  containerFile,
  encodeLength,
  extendedBytes,
  isExtended,
  lengthIn,
  ndefApplication,
  parseAnswer,
  parseContainer,
  paymentList,
  readBinary,
  selectApplication,
  selectFile,
  type Type4Container,
  updateBinary,
} from "../protocol/type4-tag.ts";
import { isoDepType, sightingOfMessage, sightingWithout, type Tag, type TypeATarget } from "./tag-channel.ts";
import { mismatch, refusals, taken, tooSmall, withRetries } from "./write-failures.ts";

const triesMax = 3;
// The bytes of one answer that holds most messages with their length. A longer message takes a second command.
const firstReadBytes = 96;

/** The sighting of a target of ISO/IEC 14443-4, with its message if it has one; undefined if it left. */
export async function readType4(tag: Tag, target: TypeATarget): Promise<Sighting | undefined> {
  for (let tries = 1; ; tries++) {
    const sighting = await readOnce(tag, target);
    if (sighting !== undefined) return sighting;
    if (!(await tag.reselect())) return undefined;
    if (tries === triesMax) return sightingWithout(target, isoDepType(target), "unreadable");
  }
}

async function readOnce(tag: Tag, target: TypeATarget): Promise<Sighting | undefined> {
  const type = isoDepType(target);
  const content = await openMessageFile(tag);
  if (content.kind === "failed") return undefined;
  // A payment card and a phone are known by their UID and are not reported as unformatted.
  if (content.kind === "none")
    return sightingWithout(target, type, type === "DESFire" ? "unformatted" : undefined);
  const { container } = content;
  if (!container.isReadable) return sightingWithout(target, type, "locked");
  const { lengthBytes, fileBytes } = container;
  const file = await readMessage({ tag, container });
  if (file === undefined) return undefined;
  const end = lengthBytes + lengthIn(file, lengthBytes);
  const data = file.subarray(0, Math.min(end, file.length));
  if (end > fileBytes) return sightingWithout(target, type, "half-written", data);
  if (end === lengthBytes) return sightingWithout(target, type, "blank", data);
  return sightingOfMessage(target, type, file.subarray(lengthBytes, end), data);
}

/** The file up to its stated length; undefined if an exchange failed. */
async function readMessage(opened: OpenFile): Promise<Uint8Array | undefined> {
  const { lengthBytes, fileBytes } = opened.container;
  const file = new Uint8Array(fileBytes);
  let known = 0;
  for (let wanted = Math.min(firstReadBytes, fileBytes); known < wanted; ) {
    const read = await readFile(opened, known, wanted - known);
    // An app on a phone may have no bytes behind its message. A read of the length alone always ends before them.
    const more = read === undefined && known === 0 ? await readFile(opened, 0, lengthBytes) : read;
    if (more === undefined) return undefined;
    file.set(more, known);
    known += more.length;
    wanted = lengthBytes + lengthIn(file, lengthBytes);
    if (wanted > fileBytes) break;
  }
  return file.subarray(0, known);
}

/** A Type 4 tag whose NDEF file is selected. */
interface OpenFile {
  readonly tag: Tag;
  readonly container: Type4Container;
}

/** Writes `message`, and resolves once it was read back equal. `force` as in `WriteOrder` (src/readers/driver.ts). */
export async function writeType4(
  tag: Tag,
  target: TypeATarget,
  message: Uint8Array,
  force: boolean,
): Promise<void> {
  const open = async () => {
    const seen = await openMessageFile(tag);
    return seen.kind === "failed" ? undefined : seen;
  };
  const content = await withRetries(tag, open);
  if (content === undefined) throw refusals.unreadable();
  if (content.kind === "none") throw await foreignCard(tag, target, force);
  const { container } = content;
  const file = { tag, container };
  const { fileBytes, lengthBytes, writing } = container;
  if (writing === "locked") throw refusals.locked();
  if (writing === "proprietary" || !container.isReadable) throw refusals.password();
  const bytesMissing = lengthBytes + message.length - fileBytes;
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const written = Uint8Array.of(...encodeLength(message.length, lengthBytes), ...message);
  if (toHex(await read(file, written.length)) === toHex(written)) return;
  const none = encodeLength(0, lengthBytes);
  await put(file, 0, none);
  const chunk = Math.min(container.writeBytesMax, chunkBytesMax);
  for (let at = 0; at < message.length; at += chunk)
    await put(file, lengthBytes + at, message.subarray(at, at + chunk));
  await compare(file, Uint8Array.of(...none, ...message));
  await put(file, 0, written.subarray(0, lengthBytes));
  try {
    await compare(file, written);
  } catch (error) {
    // The written message differs, so it is made invalid and never launched. A failure is ignored, because the tag may be gone.
    await put(file, 0, none).catch(() => {});
    throw error;
  }
}

/** The refusal of a card without an NDEF file. */
async function foreignCard(tag: Tag, target: TypeATarget, force: boolean): Promise<Error> {
  const payment = await send(tag, selectApplication(paymentList));
  if (payment === undefined && !(await tag.reselect())) return taken();
  if (payment?.kind === "done" && !force) return refusals.payment();
  return force || isoDepType(target) === "DESFire" ? refusals["no-message-file"]() : refusals.card();
}

async function compare(opened: OpenFile, expected: Uint8Array): Promise<void> {
  if (toHex(await read(opened, expected.length)) !== toHex(expected)) throw mismatch();
}

async function read(opened: OpenFile, bytes: number): Promise<Uint8Array> {
  let file: Uint8Array = new Uint8Array();
  while (file.length < bytes) {
    const more = await again(opened.tag, () => readFile(opened, file.length, bytes - file.length));
    if (more === undefined) throw refusals.unreadable();
    file = Uint8Array.of(...file, ...more);
  }
  return file;
}

async function put({ tag }: OpenFile, offset: number, bytes: Uint8Array): Promise<void> {
  // If only the tag's answer was lost, the page is written once more, which does no harm.
  const write = async () =>
    (await send(tag, updateBinary(offset, bytes)))?.kind === "done" ? true : undefined;
  if ((await again(tag, write)) === undefined) throw refusals.locked();
}

/** Like `withRetries`, with the file selected again, because a new selection of the tag drops the selected file. */
function again<T>(tag: Tag, run: () => Promise<T | undefined>): Promise<T | undefined> {
  let isFirst = true;
  return withRetries(tag, async () => {
    if (!isFirst && (await openMessageFile(tag)).kind !== "container") return undefined;
    isFirst = false;
    return run();
  });
}

// Every chip and reader passes this many bytes in one piece: a PN532's answer holds 262 bytes, and a short APDU 255
// (UM0701-02, 7.3.8).
const chunkBytesMax = 240;

async function send(tag: Tag, command: Uint8Array): Promise<CardAnswer | undefined> {
  const answer = await tag.apdu(command);
  return answer === undefined ? undefined : parseAnswer(answer);
}

type Type4Content =
  | { readonly kind: "container"; readonly container: Type4Container }
  /** The card has no NDEF application, or one that cannot be understood. */
  | { readonly kind: "none" }
  | { readonly kind: "failed" };

async function openMessageFile(tag: Tag): Promise<Type4Content> {
  for (const command of [selectApplication(ndefApplication), selectFile(containerFile)]) {
    const selected = await send(tag, command);
    if (selected?.kind !== "done") return { kind: selected === undefined ? "failed" : "none" };
  }
  const read = await readContainer(tag);
  if (read === undefined) return { kind: "failed" };
  const container = parseContainer(read);
  if (container === undefined) return { kind: "none" };
  const file = await send(tag, selectFile(container.file));
  if (file === undefined) return { kind: "failed" };
  return file.kind === "done" ? { kind: "container", container } : { kind: "none" };
}

/** An extended container is longer, and a card may return only the length of a plain one at once. */
async function readContainer(tag: Tag): Promise<Uint8Array | undefined> {
  const first = await send(tag, readBinary(0, containerBytes));
  if (first === undefined) return undefined;
  if (first.kind === "refused") return new Uint8Array();
  if (!isExtended(first.data)) return first.data;
  const rest = await send(tag, readBinary(containerBytes, extendedBytes));
  return rest?.kind === "done" ? Uint8Array.of(...first.data, ...rest.data) : undefined;
}

/**
 * Reads at least one byte of the file from `from` on, and up to `wanted` if one answer holds them; undefined if that failed.
 */
async function readFile(
  { tag, container }: OpenFile,
  from: number,
  wanted: number,
): Promise<Uint8Array | undefined> {
  const bytes = Math.min(wanted, container.readBytesMax, chunkBytesMax);
  const answer = await send(tag, readBinary(from, bytes));
  // A card that returned a byte at a time would keep its reader busy for minutes, so less than requested is a failure.
  return answer?.kind === "done" && answer.data.length === bytes ? answer.data : undefined;
}
