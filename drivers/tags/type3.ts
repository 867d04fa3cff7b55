/**
 * Reading and writing a Type 3 tag: a FeliCa that answers to the NFC Forum's system code. Other cards are known by their
 * IDm only.
 *
 * A new FeliCa Lite or Lite-S answers to Sony's system code only; the first write makes it a Type 3 tag. Its attributes are
 * written first and say that there is no message. Then it is configured to answer to the NFC Forum's code. A card that is
 * removed before the second step counts as new; after it, the card is blank.
 */
import { assert } from "../../src/core/errors.ts";
import { toHex } from "../../src/core/hex.ts";
import type { Sighting } from "../../src/core/token.ts";
import {
  type Attributes,
  attributesOfLite,
  isAsNew,
  isWritten,
  type LiteConfiguration,
  liteBlocks,
  liteConfigurationBlock,
  liteSystem,
  ndefSystem,
  parseAttributes,
  parseLiteConfiguration,
  parsePolled,
  parseRead,
  polling,
  readBlocks,
  type3BlockBytes,
  withMessage,
  withNdefAnswers,
  withSum,
  writeBlock,
} from "../protocol/type3-tag.ts";
import { type FelicaTarget, sightingOfMessage, sightingWithout, type TagChannel } from "./tag-channel.ts";
import { mismatch, patiently, refusals, tooSmall } from "./write-failures.ts";

const triesMax = 3;
const blocksPerReadMax = 4; // The maximum of a FeliCa Lite-S (user's manual, 4.2).

/** A tag's NDEF system: its IDm there may differ from the listed one. */
interface Type3Session {
  readonly channel: TagChannel;
  readonly idm: Uint8Array;
  readonly signal: AbortSignal;
}

/** The sighting of a FeliCa; undefined if it left. */
export async function readType3(
  channel: TagChannel,
  target: FelicaTarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  for (let tries = 1; ; tries++) {
    const idm = await idmIn(channel, ndefSystem, signal);
    const sighting = idm === undefined ? undefined : await readOnce({ channel, idm, signal }, target);
    if (sighting !== undefined) return sighting;
    if (!(await channel.reselect(signal))) return undefined;
    if (idm === undefined && tries > 1) {
      const sighting = await seenWithoutMessages(channel, target, signal);
      if (sighting !== undefined) return sighting;
    }
    if (tries === triesMax) return sightingWithout(target, "FeliCa", "unreadable");
  }
}

/** A card without a system for messages; undefined if it could not be read. */
async function seenWithoutMessages(
  channel: TagChannel,
  target: FelicaTarget,
  signal: AbortSignal,
): Promise<Sighting | undefined> {
  const lite = await lookForLite(channel, signal);
  // It should have answered, and may answer to a retry.
  if (lite === undefined || (lite.kind === "lite" && lite.configuration.answersNdef)) return undefined;
  const isNew = lite.kind === "lite" && lite.isAsNew;
  // A transit card or a used Lite without messages is not reported as unformatted.
  return isNew ? sightingWithout(target, "FeliCa", "unformatted") : sightingWithout(target, "FeliCa");
}

async function readOnce(tag: Type3Session, target: FelicaTarget): Promise<Sighting | undefined> {
  const first = await read(tag, 0, 1);
  if (first === undefined) return undefined;
  const attributes = parseAttributes(first);
  // A wrong sum shows a half-finished write; zeros are a tag that was never formatted.
  if (attributes === undefined)
    return sightingWithout(
      target,
      "FeliCa",
      first.every((byte) => byte === 0) ? "unformatted" : "half-written",
    );
  const { messageBytes, blocks, isBeingWritten } = attributes;
  if (isBeingWritten || messageBytes > blocks * type3BlockBytes)
    return sightingWithout(target, "FeliCa", "half-written");
  if (messageBytes === 0) return sightingWithout(target, "FeliCa", "blank");
  const message = await readMessage(tag, attributes, messageBytes);
  return message === undefined ? undefined : sightingOfMessage(target, "FeliCa", message, message);
}

/** Writes `message`, formats a new card first, and resolves once it was read back equal. */
export async function writeType3(
  channel: TagChannel,
  message: Uint8Array,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const known = await patiently(channel, () => idmIn(channel, ndefSystem, signal), signal);
  const found = known === undefined ? undefined : await attributesOn({ channel, idm: known, signal });
  const { tag, first, attributes } = found ?? (await format(channel, message, force, signal));
  if (!attributes.isWritable) throw refusals.locked();
  const bytesMissing = message.length - attributes.blocks * type3BlockBytes;
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const draft = withMessage(attributes, { isBeingWritten: true, messageBytes: 0 });
  const written = withMessage(attributes, { isBeingWritten: false, messageBytes: message.length });
  // It has this message already, and was just read.
  if (toHex(first) === toHex(written) && (await holds(tag, attributes, message))) return;
  await put(tag, 0, draft);
  for (let at = 0; at < message.length; at += type3BlockBytes) {
    const bytes = new Uint8Array(type3BlockBytes);
    bytes.set(message.subarray(at, at + type3BlockBytes));
    await put(tag, 1 + at / type3BlockBytes, bytes);
  }
  if (!(await holds(tag, attributes, message))) throw mismatch();
  await put(tag, 0, written);
  const last = await patiently(channel, () => read(tag, 0, 1), signal);
  if (last !== undefined && toHex(last) === toHex(written)) return;
  // A message that cannot be read back should not be launched either. Best effort: the tag may be gone.
  await put(tag, 0, draft).catch(() => {});
  throw mismatch();
}

interface Formatted {
  readonly tag: Type3Session;
  readonly first: Uint8Array;
  readonly attributes: Attributes;
}

/** Undefined if the tag has none yet. */
async function attributesOn(tag: Type3Session): Promise<Formatted | undefined> {
  const first = await patiently(tag.channel, () => read(tag, 0, 1), tag.signal);
  if (first === undefined) throw refusals.unreadable();
  // A torn write of the block changed its state and its sum only.
  const attributes = parseAttributes(first) ?? parseAttributes(withSum(first.slice()));
  return attributes === undefined ? undefined : { tag, first, attributes };
}

/** The IDm that answers to this system code. */
async function idmIn(
  channel: TagChannel,
  system: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const answer = await channel.transceive?.(polling(system), signal);
  return answer === undefined ? undefined : parsePolled(answer)?.idm;
}

async function read(tag: Type3Session, from: number, blocks: number): Promise<Uint8Array | undefined> {
  const answer = await tag.channel.transceive?.(readBlocks(tag.idm, from, blocks), tag.signal);
  return answer === undefined ? undefined : parseRead(answer, blocks);
}

async function put(tag: Type3Session, block: number, bytes: Uint8Array): Promise<void> {
  const write = async () => {
    const answer = await tag.channel.transceive?.(writeBlock(tag.idm, block, bytes), tag.signal);
    return answer !== undefined && isWritten(answer) ? true : undefined;
  };
  if ((await patiently(tag.channel, write, tag.signal)) === undefined) throw refusals.locked();
}

async function readMessage(
  tag: Type3Session,
  { readBlocksMax }: Attributes,
  bytes: number,
): Promise<Uint8Array | undefined> {
  const blocks = Math.ceil(bytes / type3BlockBytes);
  const message = new Uint8Array(blocks * type3BlockBytes);
  const perRead = Math.min(readBlocksMax, blocksPerReadMax);
  for (let at = 0; at < blocks; at += perRead) {
    const some = await read(tag, 1 + at, Math.min(perRead, blocks - at));
    if (some === undefined) return undefined;
    message.set(some, at * type3BlockBytes);
  }
  return message.subarray(0, bytes);
}

async function holds(tag: Type3Session, attributes: Attributes, message: Uint8Array): Promise<boolean> {
  const read = await patiently(tag.channel, () => readMessage(tag, attributes, message.length), tag.signal);
  return read !== undefined && toHex(read) === toHex(message);
}

const litePollsMax = 2;

/** A card that was polled by Sony's system code. */
type Lite =
  | { readonly kind: "none" }
  | {
      readonly kind: "lite";
      readonly idm: Uint8Array;
      readonly configuration: LiteConfiguration;
      /** It was never written, except perhaps by an interrupted formatting of ours. */
      readonly isAsNew: boolean;
    };

/** Undefined if it could not be read. */
async function lookForLite(channel: TagChannel, signal: AbortSignal): Promise<Lite | undefined> {
  const idm = await pollLite(channel, signal);
  if (idm === undefined) return { kind: "none" };
  const tag = { channel, idm, signal };
  const bytes = await read(tag, liteConfigurationBlock, 1);
  const configuration = bytes === undefined ? undefined : parseLiteConfiguration(bytes);
  if (configuration === undefined) return undefined;
  const lite = { kind: "lite", idm, configuration } as const;
  // A card that needs a key for reading has an owner.
  if (!configuration.isOpen) return { ...lite, isAsNew: false };
  const memory = new Uint8Array(liteBlocks * type3BlockBytes);
  for (let at = 0; at < liteBlocks; at += blocksPerReadMax) {
    const some = await read(tag, at, Math.min(blocksPerReadMax, liteBlocks - at));
    if (some === undefined) return undefined;
    memory.set(some, at * type3BlockBytes);
  }
  return { ...lite, isAsNew: isAsNew(memory) };
}

/**
 * Makes it a Type 3 tag without a message. Throws `write-failed` if it is no FeliCa Lite, is locked, was taken off, or
 * holds data and `force` is false; and, before anything is written, if `message` does not fit.
 */
async function format(
  channel: TagChannel,
  message: Uint8Array,
  force: boolean,
  signal: AbortSignal,
): Promise<Formatted> {
  const lite = await patiently(channel, () => lookForLite(channel, signal), signal);
  if (lite === undefined) throw refusals.unreadable();
  if (lite.kind === "none") throw refusals.card();
  const { idm, configuration } = lite;
  if (!configuration.isOpen) throw refusals.locked();
  if (!configuration.answersNdef && !configuration.isChangeable) throw refusals.locked();
  if (!lite.isAsNew && !force) throw refusals["other-data"]();
  const bytesMissing = message.length - (liteBlocks - 1) * type3BlockBytes;
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const first = attributesOfLite();
  const attributes = parseAttributes(first);
  assert(attributes !== undefined, "fresh attributes are whole");
  const tag = { channel, idm, signal };
  await putChecked(tag, 0, first);
  if (!configuration.answersNdef)
    await putChecked(tag, liteConfigurationBlock, withNdefAnswers(configuration));
  return { tag, first, attributes };
}

/** Asks twice: a lost answer looks like a card that is not a Lite. */
async function pollLite(channel: TagChannel, signal: AbortSignal): Promise<Uint8Array | undefined> {
  for (let polls = 0; polls < litePollsMax; polls++) {
    const idm = await idmIn(channel, liteSystem, signal);
    if (idm !== undefined) return idm;
  }
  return undefined;
}

/** Writes a block of a Lite and reads it back. */
async function putChecked(tag: Type3Session, block: number, bytes: Uint8Array): Promise<void> {
  await put(tag, block, bytes);
  const told = await patiently(tag.channel, () => read(tag, block, 1), tag.signal);
  if (told === undefined || !told.every((byte, index) => byte === bytes[index])) throw mismatch();
}
