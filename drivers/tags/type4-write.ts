/**
 * Writing a Type 4 tag: its length is set to zero first, then the message is written, and the length last (Type 4 Tag
 * 2.0, 5.4.5), so that whoever is interrupted leaves the old message, the new one, or none.
 */
import { toHex } from "../../src/core/hex.ts";
import {
  encodeLength,
  paymentList,
  selectApplication,
  type Type4Container,
  updateBinary,
} from "../protocol/type4-tag.ts";
import type { TagChannel } from "./tag-channel.ts";
import { refusals, tooSmall } from "./tag-errors.ts";
import { isoDepType, type TypeATarget } from "./tag-type.ts";
import { openMessageFile, readFile, send, writeChunkBytes } from "./type4-card.ts";
import { mismatch, patiently, taken } from "./write-retry.ts";

/** A Type 4 tag whose NDEF file is selected. */
interface Tag {
  readonly channel: TagChannel;
  readonly container: Type4Container;
  readonly signal: AbortSignal;
}

/** Writes `message`, and resolves once it was read back equal. `force` as in the driver contract. */
export async function writeType4(
  channel: TagChannel,
  target: TypeATarget,
  message: Uint8Array,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const open = async () => {
    const seen = await openMessageFile(channel, signal);
    return seen.kind === "failed" ? undefined : seen;
  };
  const content = await patiently(channel, open, signal);
  if (content === undefined) throw refusals.unreadable();
  if (content.kind === "none") throw await foreignCard(channel, target, force, signal);
  const tag = { channel, container: content.container, signal };
  const { fileBytes, lengthBytes, writing } = tag.container;
  if (writing === "locked") throw refusals.locked();
  if (writing === "proprietary" || !tag.container.isReadable) throw refusals.password();
  const bytesMissing = lengthBytes + message.length - fileBytes;
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const written = Uint8Array.of(...encodeLength(message.length, lengthBytes), ...message);
  if (toHex(await read(tag, written.length)) === toHex(written)) return;
  const none = encodeLength(0, lengthBytes);
  await put(tag, 0, none);
  const chunk = writeChunkBytes(tag.container);
  for (let at = 0; at < message.length; at += chunk)
    await put(tag, lengthBytes + at, message.subarray(at, at + chunk));
  await compare(tag, Uint8Array.of(...none, ...message));
  await put(tag, 0, written.subarray(0, lengthBytes));
  try {
    await compare(tag, written);
  } catch (error) {
    // A message that does not hold should not be launched either. Best effort: the tag may be gone.
    await put(tag, 0, none).catch(() => {});
    throw error;
  }
}

/** What a card without a place for messages is refused with. */
async function foreignCard(
  channel: TagChannel,
  target: TypeATarget,
  force: boolean,
  signal: AbortSignal,
): Promise<Error> {
  const payment = await send(channel, selectApplication(paymentList), signal);
  if (payment === undefined && !(await channel.reselect(signal))) return taken();
  if (payment?.kind === "done" && !force) return refusals.payment();
  return force || isoDepType(target) === "DESFire" ? refusals["no-message-file"]() : refusals.card();
}

async function compare(tag: Tag, expected: Uint8Array): Promise<void> {
  if (toHex(await read(tag, expected.length)) !== toHex(expected)) throw mismatch();
}

async function read({ channel, container, signal }: Tag, bytes: number): Promise<Uint8Array> {
  let file: Uint8Array = new Uint8Array();
  while (file.length < bytes) {
    const ask = () => readFile(channel, container, file.length, bytes - file.length, signal);
    const more = await again({ channel, container, signal }, ask);
    if (more === undefined) throw refusals.unreadable();
    file = Uint8Array.of(...file, ...more);
  }
  return file;
}

async function put(tag: Tag, offset: number, bytes: Uint8Array): Promise<void> {
  // Where the tag's answer was lost, and not the write, it is written once more, which does no harm.
  const write = async () =>
    (await send(tag.channel, updateBinary(offset, bytes), tag.signal))?.kind === "done" ? true : undefined;
  if ((await again(tag, write)) === undefined) throw refusals.locked();
}

/** As `patiently`, with the file selected again: a tag that was selected anew has forgotten it. */
function again<T>(tag: Tag, run: () => Promise<T | undefined>): Promise<T | undefined> {
  let isFirst = true;
  const { channel, signal } = tag;
  return patiently(
    channel,
    async () => {
      if (!isFirst && (await openMessageFile(channel, signal)).kind !== "container") return undefined;
      isFirst = false;
      return run();
    },
    signal,
  );
}
