/**
 * Writing a message to a Type 2 tag: looks at it, plans, writes page by page, and reads back. After each failure the
 * tag is selected again, which separates "taken off" from "refused".
 */
import { toHex } from "../../src/core/hex.ts";
import { writeFailed } from "../../src/readers/driver.ts";
import { legoToyOf } from "../protocol/toys.ts";
import { containerOf, contentOf, layoutOf, pageBytes, type TagVersion } from "../protocol/type2-tag.ts";
import { type PageWrite, planWrite, type Type2Image } from "../protocol/type2-write-plan.ts";
import type { TagChannel } from "./tag-channel.ts";
import { askVersion, isSizeOfLegoToy, readLegoIdentity, readSome } from "./type2-read.ts";
import { mismatch, patiently, refusals, taken, tooSmall } from "./write-failures.ts";

const headerPages = 4;

interface Tag {
  readonly channel: TagChannel;
  readonly version: TagVersion | undefined;
  readonly signal: AbortSignal;
}

/** Writes `message`, and resolves once it was read back equal. `force` replaces data that is not ours. */
export async function writeType2(
  channel: TagChannel,
  message: Uint8Array,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const tag = { channel, version: await versionOf(channel, signal), signal };
  const image = await imageOf(tag);
  if (!force && (await isToy(tag, image))) throw refusals.lego();
  const plan = planWrite(image, message, force);
  if (plan.kind === "too-small") throw tooSmall(plan.bytesMissing);
  if (plan.kind === "refused") throw refusals[plan.why]();

  // It has this message already, and was just read.
  if (plan.last === undefined) return;
  for (const step of plan.draft) await writePage(tag, step);
  const end = (1 + Math.max(plan.last.page, ...plan.draft.map(({ page }) => page))) * pageBytes;
  await compare(tag, plan.drafted.subarray(0, end));
  await writePage(tag, plan.last);
  try {
    await compare(tag, plan.written.subarray(0, end));
  } catch (error) {
    // A message that cannot be read back should not be launched either. Best effort: the tag may be gone.
    await writePage(tag, blank(plan.last, plan.drafted)).catch(() => {});
    throw error;
  }
}

function blank({ page }: PageWrite, drafted: Uint8Array): PageWrite {
  return { page, bytes: drafted.slice(page * pageBytes, (page + 1) * pageBytes) };
}

/** True for a LEGO Dimensions toy, which looks like a blank tag to other software. */
async function isToy(tag: Tag, { memory }: Type2Image): Promise<boolean> {
  const { target } = tag.channel;
  const container = memory.subarray((headerPages - 1) * pageBytes);
  if (target.kind !== "type-a" || !isSizeOfLegoToy(tag.version, container)) return false;
  if (contentOf(container).kind === "message") return false;
  const identity = await readLegoIdentity(tag);
  if (identity !== undefined) return legoToyOf(target.uid, identity) !== undefined;
  // A page that needs a password makes the tag fall silent.
  if (!(await tag.channel.reselect(tag.signal))) throw taken();
  return false;
}

async function versionOf(channel: TagChannel, signal: AbortSignal): Promise<TagVersion | undefined> {
  if (channel.transceive === undefined) return askVersion(channel, signal);
  for (let tries = 1; ; tries++) {
    const version = await askVersion(channel, signal);
    if (version !== undefined) return version;
    if (!(await channel.reselect(signal))) throw taken();
    // A plain Ultralight never answers; two lost answers of an NTAG are unlikely.
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
  // If these cannot be read, a password guards the pages after the data area, which does not matter.
  const locks = layout.dynamicLock && (await readMemory(tag, layout.dynamicLock.page, 1));
  const config = layout.configPage === undefined ? undefined : await readMemory(tag, layout.configPage, 1);
  const auth0 = config?.[layout.auth0At ?? 3];
  return {
    layout,
    memory: Uint8Array.of(...header, ...area),
    ...(locks === undefined ? {} : { dynamicLocks: locks }),
    ...(auth0 === undefined ? {} : { firstProtectedPage: auth0 }),
  };
}

function unreadable({ version }: Tag): Error {
  return version === undefined ? refusals.unreadable() : refusals.password();
}

/** The bytes of `pages` pages; undefined if the tag lies there and refuses. */
async function readMemory(
  { channel, version, signal }: Tag,
  from: number,
  pages: number,
): Promise<Uint8Array | undefined> {
  const read = new Uint8Array(pages * pageBytes);
  for (let done = 0; done < pages; ) {
    const ask = () => readSome(channel, version, from + done, pages - done, signal);
    const some = await patiently(channel, ask, signal);
    if (some === undefined) return undefined;
    read.set(some, done * pageBytes);
    done += some.length / pageBytes;
  }
  return read;
}

async function writePage({ channel, signal }: Tag, { page, bytes }: PageWrite): Promise<void> {
  // If only the tag's answer was lost, it is written once more, which does no harm.
  const put = async () => ((await channel.write(page, bytes, signal)) ? true : undefined);
  if ((await patiently(channel, put, signal)) === undefined)
    throw writeFailed("locked", `the tag refused to be written, at page ${page}. Use another one`);
}

/** Reads from the capability container on, and throws `mismatch` if the content differs. */
async function compare(tag: Tag, expected: Uint8Array): Promise<void> {
  const from = headerPages - 1;
  const read = await readMemory(tag, from, expected.length / pageBytes - from);
  if (holds(read, expected.subarray(from * pageBytes))) return;
  throw mismatch();
}

function holds(read: Uint8Array | undefined, expected: Uint8Array): boolean {
  return read !== undefined && toHex(read) === toHex(expected);
}
