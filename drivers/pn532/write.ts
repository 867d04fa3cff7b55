/**
 * Writing a message to a target: looks at the tag, plans, writes page by page, and reads back. Whatever goes wrong on the
 * way, the tag is asked whether it still lies there, so that "taken off" and "refused" are told apart.
 */
import { toHex } from "../../src/core/hex.ts";
import { type WriteOrder, writeFailed } from "../../src/readers/contract.ts";
import { encodeTextMessage } from "../protocol/ndef.ts";
import { communicateThru, dataExchange, type TypeATarget } from "../protocol/pn532-commands.ts";
import { pageBytes, type TagVersion, tagCommands } from "../protocol/type2-tag.ts";
import { type PageWrite, planWrite, type Refusal, type Type2Image } from "../protocol/type2-write.ts";
import { containerOf, layoutOf } from "../protocol/type2-write-layout.ts";
import type { Chip } from "./chip.ts";
import { askVersion, exchange, isStillThere } from "./target.ts";

const triesMax = 3;
// The chip's buffer for a target's answer holds 262 bytes (UM0701-02, 7.3.9); 48 pages are 192.
const fastReadPagesMax = 48;
const readPages = 4; // READ answers 16 bytes (Type 2 Tag 1.1, 5.1).
const headerPages = 4;

/** A selected Type 2 tag. */
interface Tag {
  readonly chip: Chip;
  readonly target: TypeATarget;
  readonly version: TagVersion | undefined;
  readonly signal: AbortSignal;
}

/**
 * Writes `text` as a message of one Text record, and resolves once it was read back equal. Rejects with `write-failed`, and with `reader-gone` where
 * the chip fails. `force` as in the driver contract.
 */
export async function writeTarget(
  chip: Chip,
  target: TypeATarget,
  { text, force }: Pick<WriteOrder, "text" | "force">,
  signal: AbortSignal,
): Promise<void> {
  if (target.sak !== 0x00) throw unwritable(target, force);
  const tag = { chip, target, version: await versionOf(chip, target, signal), signal };
  const image = await imageOf(tag);
  const plan = planWrite(image, encodeTextMessage(text), force);
  if (plan.kind === "too-small") {
    const { bytesMissing } = plan;
    const sentence = `the tag is too small: ${bytesMissing} bytes are missing. Use a larger one, or a shorter text`;
    throw writeFailed("too-small", sentence, { bytesMissing });
  }
  if (plan.kind === "refused") throw refusals[plan.why]();

  // It holds this very message, and has just been read.
  if (plan.last === undefined) return;
  for (const step of plan.draft) await writePage(tag, step);
  const end = (1 + Math.max(plan.last.page, ...plan.draft.map(({ page }) => page))) * pageBytes;
  await compare(tag, plan.drafted.subarray(0, end));
  await writePage(tag, plan.last);
  try {
    await compare(tag, plan.written.subarray(0, end));
  } catch (error) {
    // A message that does not hold should not be launched either. Best effort: the tag may be gone.
    await writePage(tag, blank(plan.last, plan.drafted)).catch(() => {});
    throw error;
  }
}

/** The page of the switch as it was before. */
function blank({ page }: PageWrite, drafted: Uint8Array): PageWrite {
  return { page, bytes: drafted.slice(page * pageBytes, (page + 1) * pageBytes) };
}

const refusals: Readonly<Record<Refusal, () => Error>> = {
  locked: () => writeFailed("locked", "the tag is locked: it can only be read. Use another one"),
  password: () =>
    writeFailed("password", "the tag is protected by a password, which is not known here. Use another one"),
  amiibo: () => writeFailed("foreign", "the tag is an amiibo, and it is left as it is. Use another one"),
  "other-data": () =>
    writeFailed(
      "foreign",
      "the tag holds data of another kind, such as a ticket's, and it is left as it is. Use another one, or force it",
    ),
  "one-time-bits": () =>
    writeFailed(
      "unsupported",
      "the tag was made for something else for good, and cannot be used. Use another one",
    ),
  "reserved-bytes": () =>
    writeFailed("unsupported", "the tag keeps bytes in the midst of its memory for itself. Use another one"),
};

function unwritable({ sak }: TypeATarget, force: boolean): Error {
  // ISO/IEC 14443-4 (AN10833, section 3).
  if ((sak & 0x20) !== 0 && !force)
    return writeFailed("foreign", "this is a payment or transit card, or a phone, and it is left as it is");
  return writeFailed("unsupported", "tags of this kind cannot be written: use an NTAG or an Ultralight");
}

async function versionOf(
  chip: Chip,
  target: TypeATarget,
  signal: AbortSignal,
): Promise<TagVersion | undefined> {
  for (let tries = 1; ; tries++) {
    const version = await askVersion(chip, signal);
    if (version !== undefined) return version;
    if (!(await isStillThere(chip, target, signal))) throw taken();
    // A plain Ultralight never answers; that an NTAG's answer was lost twice is not to be expected.
    if (tries === 2) return undefined;
  }
}

async function imageOf(tag: Tag): Promise<Type2Image> {
  const header = await readMemory(tag, 0, headerPages);
  if (header === undefined) throw unreadable(tag);
  const container = header.subarray(3 * pageBytes);
  const layout = layoutOf(tag.version, container);
  const { areaBytes } = containerOf(container, layout);
  const area = await readMemory(tag, headerPages, areaBytes / pageBytes);
  if (area === undefined) throw unreadable(tag);
  // Where these cannot be read, a password guards what stands behind the data area, which takes nothing from it.
  const locks = layout.dynamicLock && (await readMemory(tag, layout.dynamicLock.page, 1));
  const config = layout.configPage === undefined ? undefined : await readMemory(tag, layout.configPage, 1);
  return {
    layout,
    memory: Uint8Array.of(...header, ...area),
    ...(locks === undefined ? {} : { dynamicLocks: locks }),
    ...(config?.[3] === undefined ? {} : { firstProtectedPage: config[3] }),
  };
}

function unreadable({ version }: Tag): Error {
  if (version !== undefined) return refusals.password();
  return writeFailed("unsupported", "the tag's memory cannot be read as far as it says. Use another one");
}

/** The bytes of `pages` pages; undefined where the tag lies there and refuses. */
async function readMemory(tag: Tag, from: number, pages: number): Promise<Uint8Array | undefined> {
  const read = new Uint8Array(pages * pageBytes);
  for (let done = 0; done < pages; ) {
    const some = await patiently(tag, () => readSome(tag, from + done, pages - done));
    if (some === undefined) return undefined;
    read.set(some, done * pageBytes);
    done += some.length / pageBytes;
  }
  return read;
}

async function readSome(
  { chip, version, signal }: Tag,
  from: number,
  wanted: number,
): Promise<Uint8Array | undefined> {
  if (version === undefined) {
    const answer = await exchange(chip, dataExchange(tagCommands.read, from), signal);
    if (answer.kind === "error" || answer.data.length !== readPages * pageBytes) return undefined;
    return answer.data.subarray(0, wanted * pageBytes);
  }
  const pages = Math.min(wanted, fastReadPagesMax);
  const answer = await exchange(chip, communicateThru(tagCommands.fastRead, from, from + pages - 1), signal);
  return answer.kind === "data" && answer.data.length === pages * pageBytes ? answer.data : undefined;
}

async function writePage(tag: Tag, { page, bytes }: PageWrite): Promise<void> {
  // Where the tag's answer was lost, and not the write, it is written once more, which does no harm.
  const isWritten = await patiently(tag, async () => {
    const command = dataExchange(tagCommands.write, page, ...bytes);
    return (await exchange(tag.chip, command, tag.signal)).kind === "data" ? true : undefined;
  });
  if (isWritten === undefined)
    throw writeFailed("locked", `the tag refused to be written, at page ${page}. Use another one`);
}

/** Reads from the capability container on, and throws `mismatch` where the tag tells something else. */
async function compare(tag: Tag, expected: Uint8Array): Promise<void> {
  const from = headerPages - 1;
  const read = await readMemory(tag, from, expected.length / pageBytes - from);
  if (holds(read, expected.subarray(from * pageBytes))) return;
  throw writeFailed(
    "mismatch",
    "the tag does not tell what was written to it: it is worn out. Use another one",
  );
}

/** Tries what may fail in the air, each time on a tag that is selected anew; undefined where it refused each time. */
async function patiently<T>(
  { chip, target, signal }: Tag,
  run: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    const result = await run();
    if (result !== undefined) return result;
    if (!(await isStillThere(chip, target, signal))) throw taken();
    if (tries === triesMax) return undefined;
  }
}

function taken(): Error {
  return writeFailed(
    "gone",
    "the tag was taken off before it was written. Lay it on again, and keep it there",
  );
}

function holds(read: Uint8Array | undefined, expected: Uint8Array): boolean {
  return read !== undefined && toHex(read) === toHex(expected);
}
