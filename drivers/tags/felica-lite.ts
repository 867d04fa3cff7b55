/**
 * A FeliCa Lite or Lite-S that nobody has formatted: it answers to Sony's system code and not to the NFC Forum's. A first
 * text makes it a Type 3 tag.
 *
 * Its attributes are written first, and say that there is no message; then it is told to answer to the NFC Forum's code.
 * Taken off before that, it is as new; after that, it is blank.
 */
import {
  attributesOfLite,
  blockBytes,
  isAsNew,
  isWritten,
  type LiteConfiguration,
  liteBlocks,
  liteConfigurationBlock,
  liteSystem,
  parseLiteConfiguration,
  parsePolled,
  parseRead,
  polling,
  readBlocks,
  withNdefAnswers,
  writeBlock,
} from "../protocol/type3-tag.ts";
import type { TagChannel } from "./tag-channel.ts";
import { refusals, tooSmall } from "./tag-errors.ts";
import { mismatch, patiently } from "./write-retry.ts";

const pollsMax = 2; // What is no Lite answers none; a lost answer is none, too.
const blocksPerRead = 4;

/** What is known of a card behind Sony's system code. */
export type Lite =
  | { readonly kind: "none" }
  | {
      readonly kind: "lite";
      readonly idm: Uint8Array;
      readonly configuration: LiteConfiguration;
      /** Nothing was ever written to it, but perhaps the beginning of our own format. */
      readonly isAsNew: boolean;
    };

/** Undefined where it could not be read. */
export async function lookForLite(channel: TagChannel, signal: AbortSignal): Promise<Lite | undefined> {
  const idm = await pollLite(channel, signal);
  if (idm === undefined) return { kind: "none" };
  const bytes = await read(channel, idm, liteConfigurationBlock, 1, signal);
  const configuration = bytes === undefined ? undefined : parseLiteConfiguration(bytes);
  if (configuration === undefined) return undefined;
  const lite = { kind: "lite", idm, configuration } as const;
  // What may not be read without a key has an owner.
  if (!configuration.isOpen) return { ...lite, isAsNew: false };
  const memory = new Uint8Array(liteBlocks * blockBytes);
  for (let at = 0; at < liteBlocks; at += blocksPerRead) {
    const some = await read(channel, idm, at, Math.min(blocksPerRead, liteBlocks - at), signal);
    if (some === undefined) return undefined;
    memory.set(some, at * blockBytes);
  }
  return { ...lite, isAsNew: isAsNew(memory) };
}

/**
 * Makes it a Type 3 tag without a message; returns its attributes and the IDm that it answers to. Throws `write-failed` where
 * it is no FeliCa Lite, where it holds somebody's data and `force` is false, where it is locked, and where it was taken off,
 * and before anything is written where `bytesMissing` is more than 0: the message does not fit.
 */
export async function formatLite(
  channel: TagChannel,
  force: boolean,
  signal: AbortSignal,
  bytesMissing = 0,
): Promise<{ readonly idm: Uint8Array; readonly attributes: Uint8Array }> {
  const lite = await patiently(channel, () => lookForLite(channel, signal), signal);
  if (lite === undefined) throw refusals.unreadable();
  if (lite.kind === "none") throw refusals.card();
  const { idm, configuration } = lite;
  if (!configuration.isOpen) throw refusals.locked();
  if (!configuration.answersNdef && !configuration.isChangeable) throw refusals.locked();
  if (!lite.isAsNew && !force) throw refusals["other-data"]();
  if (bytesMissing > 0) throw tooSmall(bytesMissing);

  const attributes = attributesOfLite();
  await put(channel, idm, 0, attributes, signal);
  if (!configuration.answersNdef)
    await put(channel, idm, liteConfigurationBlock, withNdefAnswers(configuration), signal);
  return { idm, attributes };
}

async function pollLite(channel: TagChannel, signal: AbortSignal): Promise<Uint8Array | undefined> {
  for (let polls = 0; polls < pollsMax; polls++) {
    const answer = await channel.transceive?.(polling(liteSystem), signal);
    const polled = answer === undefined ? undefined : parsePolled(answer);
    if (polled !== undefined) return polled.idm;
  }
  return undefined;
}

async function read(
  channel: TagChannel,
  idm: Uint8Array,
  from: number,
  blocks: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const answer = await channel.transceive?.(readBlocks(idm, from, blocks), signal);
  return answer === undefined ? undefined : parseRead(answer, blocks);
}

/** Writes a block, and reads it back. */
async function put(
  channel: TagChannel,
  idm: Uint8Array,
  block: number,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  const write = async () => {
    const answer = await channel.transceive?.(writeBlock(idm, block, bytes), signal);
    return answer !== undefined && isWritten(answer) ? true : undefined;
  };
  if ((await patiently(channel, write, signal)) === undefined) throw refusals.locked();
  const told = await patiently(channel, () => read(channel, idm, block, 1, signal), signal);
  if (told === undefined || !told.every((byte, index) => byte === bytes[index])) throw mismatch();
}
