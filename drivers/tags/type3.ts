/**
 * Reading and writing a Type 3 tag: a FeliCa that answers to the NFC Forum's system code. Other cards are known by their
 * IDm only.
 *
 * A new FeliCa Lite or Lite-S answers to Sony's system code only, and the first write makes it a Type 3 tag. Its
 * attributes are written first, and state that there is no message. After that the card is configured to answer to the
 * NFC Forum's code. A card that is removed before the second step counts as new; after it, the card is blank.
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
import { type FelicaTarget, sightingOfMessage, sightingWithout, type Tag } from "./tag-channel.ts";
import { mismatch, refusals, tooSmall, withRetries } from "./write-failures.ts";

const triesMax = 3;
const blocksPerReadMax = 4; // A FeliCa Lite-S reads at most this many blocks at once (user's manual, 4.2).

/** A tag's NDEF system: its IDm there may differ from the listed one. */
interface NdefSystem {
  readonly tag: Tag;
  readonly idm: Uint8Array;
}

/** The sighting of a FeliCa; undefined if it left. */
export async function readType3(tag: Tag, target: FelicaTarget): Promise<Sighting | undefined> {
  for (let tries = 1; ; tries++) {
    const idm = await idmIn(tag, ndefSystem);
    const sighting = idm === undefined ? undefined : await readOnce({ tag, idm }, target);
    if (sighting !== undefined) return sighting;
    if (!(await tag.reselect())) return undefined;
    if (idm === undefined && tries > 1) {
      const sighting = await seenWithoutMessages(tag, target);
      if (sighting !== undefined) return sighting;
    }
    if (tries === triesMax) return sightingWithout(target, "FeliCa", "unreadable");
  }
}

/** A card without a system for messages; undefined if it could not be read. */
async function seenWithoutMessages(tag: Tag, target: FelicaTarget): Promise<Sighting | undefined> {
  const lite = await lookForLite(tag);
  // The tag should have answered to the NFC Forum's code, and may answer to a retry.
  if (lite === undefined || (lite.kind === "lite" && lite.configuration.answersNdef)) return undefined;
  const isNew = lite.kind === "lite" && lite.isAsNew;
  // A transit card or a used Lite without messages is not reported as unformatted.
  return isNew ? sightingWithout(target, "FeliCa", "unformatted") : sightingWithout(target, "FeliCa");
}

async function readOnce(system: NdefSystem, target: FelicaTarget): Promise<Sighting | undefined> {
  const first = await read(system, 0, 1);
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
  const message = await readMessage(system, attributes, messageBytes);
  return message === undefined ? undefined : sightingOfMessage(target, "FeliCa", message, message);
}

/** Writes `message`, formats a new card first, and resolves once it was read back equal. */
export async function writeType3(tag: Tag, message: Uint8Array, force: boolean): Promise<void> {
  const known = await withRetries(tag, () => idmIn(tag, ndefSystem));
  const found = known === undefined ? undefined : await attributesOn({ tag, idm: known });
  const { system, first, attributes } = found ?? (await format(tag, message, force));
  if (!attributes.isWritable) throw refusals.locked();
  const bytesMissing = message.length - attributes.blocks * type3BlockBytes;
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const draft = withMessage(attributes, { isBeingWritten: true, messageBytes: 0 });
  const written = withMessage(attributes, { isBeingWritten: false, messageBytes: message.length });
  // The tag has this message already, as it was read just now.
  if (toHex(first) === toHex(written) && (await holds(system, attributes, message))) return;
  await put(system, 0, draft);
  for (let at = 0; at < message.length; at += type3BlockBytes) {
    const bytes = new Uint8Array(type3BlockBytes);
    bytes.set(message.subarray(at, at + type3BlockBytes));
    await put(system, 1 + at / type3BlockBytes, bytes);
  }
  if (!(await holds(system, attributes, message))) throw mismatch();
  await put(system, 0, written);
  const last = await withRetries(tag, () => read(system, 0, 1));
  if (last !== undefined && toHex(last) === toHex(written)) return;
  // The written message differs, so it is made invalid and never launched. A failure is ignored, because the tag may be gone.
  await put(system, 0, draft).catch(() => {});
  throw mismatch();
}

interface Formatted {
  readonly system: NdefSystem;
  readonly first: Uint8Array;
  readonly attributes: Attributes;
}

/** The attributes of the system; undefined if the tag has none yet. */
async function attributesOn(system: NdefSystem): Promise<Formatted | undefined> {
  const first = await withRetries(system.tag, () => read(system, 0, 1));
  if (first === undefined) throw refusals.unreadable();
  // If the write of this block was torn, only its state and its sum are wrong, so the sum is not required.
  const attributes = parseAttributes(first) ?? parseAttributes(withSum(first.slice()));
  return attributes === undefined ? undefined : { system, first, attributes };
}

/** The IDm that answers to this system code. */
async function idmIn(tag: Tag, systemCode: number): Promise<Uint8Array | undefined> {
  const answer = await tag.transceive?.(polling(systemCode));
  return answer === undefined ? undefined : parsePolled(answer)?.idm;
}

async function read({ tag, idm }: NdefSystem, from: number, blocks: number): Promise<Uint8Array | undefined> {
  const answer = await tag.transceive?.(readBlocks(idm, from, blocks));
  return answer === undefined ? undefined : parseRead(answer, blocks);
}

async function put({ tag, idm }: NdefSystem, block: number, bytes: Uint8Array): Promise<void> {
  const write = async () => {
    const answer = await tag.transceive?.(writeBlock(idm, block, bytes));
    return answer !== undefined && isWritten(answer) ? true : undefined;
  };
  if ((await withRetries(tag, write)) === undefined) throw refusals.locked();
}

async function readMessage(
  system: NdefSystem,
  { readBlocksMax }: Attributes,
  bytes: number,
): Promise<Uint8Array | undefined> {
  const blocks = Math.ceil(bytes / type3BlockBytes);
  const message = await readRange(system, 1, blocks, Math.min(readBlocksMax, blocksPerReadMax));
  return message?.subarray(0, bytes);
}

/** Reads `blocks` blocks from `from` on, `perRead` at a time; undefined if one could not be read. */
async function readRange(system: NdefSystem, from: number, blocks: number, perRead: number) {
  const bytes = new Uint8Array(blocks * type3BlockBytes);
  for (let at = 0; at < blocks; at += perRead) {
    const some = await read(system, from + at, Math.min(perRead, blocks - at));
    if (some === undefined) return undefined;
    bytes.set(some, at * type3BlockBytes);
  }
  return bytes;
}

async function holds(system: NdefSystem, attributes: Attributes, message: Uint8Array): Promise<boolean> {
  const read = await withRetries(system.tag, () => readMessage(system, attributes, message.length));
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
      /** True if the card was never written, except perhaps by an interrupted formatting of ours. */
      readonly isAsNew: boolean;
    };

/** The card, polled by Sony's system code; undefined if it could not be read. */
async function lookForLite(tag: Tag): Promise<Lite | undefined> {
  const idm = await pollLite(tag);
  if (idm === undefined) return { kind: "none" };
  const bytes = await read({ tag, idm }, liteConfigurationBlock, 1);
  const configuration = bytes === undefined ? undefined : parseLiteConfiguration(bytes);
  if (configuration === undefined) return undefined;
  const lite = { kind: "lite", idm, configuration } as const;
  // A card that needs a key for reading has an owner.
  if (!configuration.isOpen) return { ...lite, isAsNew: false };
  const memory = await readRange({ tag, idm }, 0, liteBlocks, blocksPerReadMax);
  return memory && { ...lite, isAsNew: isAsNew(memory) };
}

/**
 * Makes the card a Type 3 tag without a message. Throws `write-failed` if it is no FeliCa Lite, is locked, was taken
 * off, or holds data while `force` is false. Also throws if `message` does not fit, before anything is written.
 */
async function format(tag: Tag, message: Uint8Array, force: boolean): Promise<Formatted> {
  const lite = await withRetries(tag, () => lookForLite(tag));
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
  const system = { tag, idm };
  await putChecked(system, 0, first);
  if (!configuration.answersNdef)
    await putChecked(system, liteConfigurationBlock, withNdefAnswers(configuration));
  return { system, first, attributes };
}

/** Polls twice, because a lost answer looks like a card that is not a Lite. */
async function pollLite(tag: Tag): Promise<Uint8Array | undefined> {
  for (let polls = 0; polls < litePollsMax; polls++) {
    const idm = await idmIn(tag, liteSystem);
    if (idm !== undefined) return idm;
  }
  return undefined;
}

/** Writes a block of a Lite and reads it back. */
async function putChecked(system: NdefSystem, block: number, bytes: Uint8Array): Promise<void> {
  await put(system, block, bytes);
  const told = await withRetries(system.tag, () => read(system, block, 1));
  if (told === undefined || !told.every((byte, index) => byte === bytes[index])) throw mismatch();
}
