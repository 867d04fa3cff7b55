/** The NDEF application of a Type 4 tag over a channel. */
import {
  type CardAnswer,
  containerBytes,
  containerFile,
  extendedBytes,
  isExtended,
  ndefApplication,
  parseAnswer,
  parseContainer,
  readBinary,
  selectApplication,
  selectFile,
  type Type4Container,
} from "../protocol/type4-tag.ts";
import type { TagChannel } from "./tag-channel.ts";

// What every chip and reader takes whole: an answer of a PN532 holds 262 bytes, a short APDU 255 (UM0701-02, 7.3.8).
const chunkBytesMax = 240;

export async function send(
  channel: TagChannel,
  command: Uint8Array,
  signal: AbortSignal,
): Promise<CardAnswer | undefined> {
  const answer = await channel.apdu(command, signal);
  return answer === undefined ? undefined : parseAnswer(answer);
}

export type Type4Content =
  | { readonly kind: "container"; readonly container: Type4Container }
  /** It has no NDEF application, or one that cannot be understood. */
  | { readonly kind: "none" }
  | { readonly kind: "failed" };

/** Selects the NDEF application and its file. */
export async function openMessageFile(channel: TagChannel, signal: AbortSignal): Promise<Type4Content> {
  const application = await send(channel, selectApplication(ndefApplication), signal);
  if (application === undefined) return { kind: "failed" };
  if (application.kind === "refused") return { kind: "none" };
  const selected = await send(channel, selectFile(containerFile), signal);
  if (selected === undefined) return { kind: "failed" };
  if (selected.kind === "refused") return { kind: "none" };
  const read = await readContainer(channel, signal);
  if (read === undefined) return { kind: "failed" };
  const container = parseContainer(read);
  if (container === undefined) return { kind: "none" };
  const file = await send(channel, selectFile(container.file), signal);
  if (file === undefined) return { kind: "failed" };
  return file.kind === "done" ? { kind: "container", container } : { kind: "none" };
}

/** An extended container is longer, and cards need not tell more than the length of a plain one at once. */
async function readContainer(channel: TagChannel, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const first = await send(channel, readBinary(0, containerBytes), signal);
  if (first === undefined) return undefined;
  if (first.kind === "refused") return new Uint8Array();
  if (!isExtended(first.data)) return first.data;
  const rest = await send(channel, readBinary(containerBytes, extendedBytes), signal);
  return rest?.kind === "done" ? Uint8Array.of(...first.data, ...rest.data) : undefined;
}

/** At least one byte of the file from `from` on, as many of `wanted` as one answer holds; undefined where it failed. */
export async function readFile(
  channel: TagChannel,
  { readBytesMax }: Type4Container,
  from: number,
  wanted: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const bytes = Math.min(wanted, readBytesMax, chunkBytesMax);
  const answer = await send(channel, readBinary(from, bytes), signal);
  // Less than was asked for would make a card that tells a byte at a time keep its reader for minutes.
  return answer?.kind === "done" && answer.data.length === bytes ? answer.data : undefined;
}

/** Most bytes that one command of ours writes. */
export function writeChunkBytes({ writeBytesMax }: Type4Container): number {
  return Math.min(writeBytesMax, chunkBytesMax);
}
