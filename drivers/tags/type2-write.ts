/**
 * Writing a message to a Type 2 tag: looks at it, plans, writes page by page, and reads back. After each failure the
 * tag is selected again, which separates "taken off" from "refused".
 */
import { toHex } from "../../src/core/hex.ts";
import { writeFailed } from "../../src/readers/driver.ts";
import { legoToyOf } from "../protocol/toys.ts";
import { containerOf, contentOf, layoutOf, pageBytes } from "../protocol/type2-tag.ts";
import { type PageWrite, planWrite, type Type2Image } from "../protocol/type2-write-plan.ts";
import type { Tag } from "./tag-channel.ts";
import {
  askVersion,
  guessVersion,
  isSizeOfLegoToy,
  readLegoIdentity,
  readSome,
  type VersionedTag,
} from "./type2-read.ts";
import { mismatch, refusals, taken, tooSmall, withRetries } from "./write-failures.ts";

const headerPages = 4;

/** Writes `message`, and resolves once it was read back equal. `force` replaces data that is not ours. */
export async function writeType2(tag: Tag, message: Uint8Array, force: boolean): Promise<void> {
  const { asked, image } = await imageOf(await askedOf(tag));
  if (!force && (await isToy(asked, image))) throw refusals.lego();
  const plan = planWrite(image, message, force);
  if (plan.kind === "too-small") throw tooSmall(plan.bytesMissing);
  if (plan.kind === "refused") throw refusals[plan.why]();

  // The tag has this message already, as it was read just now.
  if (plan.last === undefined) return;
  for (const step of plan.draft) await writePage(tag, step);
  const end = (1 + Math.max(plan.last.page, ...plan.draft.map(({ page }) => page))) * pageBytes;
  await compare(asked, plan.drafted.subarray(0, end));
  await writePage(tag, plan.last);
  try {
    await compare(asked, plan.written.subarray(0, end));
  } catch (error) {
    // The written message differs, so it is made invalid and never launched. A failure is ignored, because the tag may be gone.
    await writePage(tag, blank(plan.last, plan.drafted)).catch(() => {});
    throw error;
  }
}

function blank({ page }: PageWrite, drafted: Uint8Array): PageWrite {
  return { page, bytes: drafted.slice(page * pageBytes, (page + 1) * pageBytes) };
}

/** True for a LEGO Dimensions toy, which looks like a blank tag to other software. */
async function isToy(asked: VersionedTag, { memory }: Type2Image): Promise<boolean> {
  const { tag, version } = asked;
  const { target } = tag;
  const container = memory.subarray((headerPages - 1) * pageBytes);
  if (target.kind !== "type-a" || !isSizeOfLegoToy(version, container)) return false;
  if (contentOf(container).kind === "message") return false;
  const identity = await readLegoIdentity(asked);
  if (identity !== undefined) return legoToyOf(target.uid, identity) !== undefined;
  // A page that needs a password makes the tag fall silent.
  if (!(await tag.reselect())) throw taken();
  return false;
}

async function askedOf(tag: Tag): Promise<VersionedTag> {
  if (tag.transceive === undefined) return { tag, version: await askVersion(tag) };
  for (let tries = 1; ; tries++) {
    const version = await askVersion(tag);
    if (version !== undefined) return { tag, version };
    if (!(await tag.reselect())) throw taken();
    // An NTAG rarely loses two answers in a row, so this is a plain Ultralight or a copy of an NTAG, which never answer.
    if (tries === 2) return { tag, version: await guessVersion(tag) };
  }
}

/** The memory of the tag, and its version, which says how it was read. */
async function imageOf(
  first: VersionedTag,
): Promise<{ readonly asked: VersionedTag; readonly image: Type2Image }> {
  let asked = first;
  let header = await readMemory(asked, 0, headerPages);
  // A copy of an NTAG may report its version and not know FAST_READ.
  if (header === undefined && first.version !== undefined) {
    asked = { ...first, version: { ...first.version, lacksFastRead: true } };
    header = await readMemory(asked, 0, headerPages);
  }
  if (header === undefined) throw unreadable(asked);
  const container = header.subarray(3 * pageBytes);
  const layout = layoutOf(asked.version, container);
  const { areaBytes } = containerOf(container, layout);
  const area = await readMemory(asked, headerPages, areaBytes / pageBytes);
  if (area === undefined) throw unreadable(asked);
  // If these pages cannot be read, a password guards the pages after the data area. The message does not need them.
  const locks = layout.dynamicLock && (await readMemory(asked, layout.dynamicLock.page, 1));
  const config = layout.configPage === undefined ? undefined : await readMemory(asked, layout.configPage, 1);
  const auth0 = config?.[layout.auth0At ?? 3];
  const image = {
    layout,
    memory: Uint8Array.of(...header, ...area),
    ...(locks === undefined ? {} : { dynamicLocks: locks }),
    ...(auth0 === undefined ? {} : { firstProtectedPage: auth0 }),
  };
  return { asked, image };
}

function unreadable({ version }: VersionedTag): Error {
  return version === undefined ? refusals.unreadable() : refusals.password();
}

/** The bytes of `pages` pages; undefined if the tag is present and refuses. */
async function readMemory(asked: VersionedTag, from: number, pages: number): Promise<Uint8Array | undefined> {
  const read = new Uint8Array(pages * pageBytes);
  for (let done = 0; done < pages; ) {
    const some = await withRetries(asked.tag, () => readSome(asked, from + done, pages - done));
    if (some === undefined) return undefined;
    read.set(some, done * pageBytes);
    done += some.length / pageBytes;
  }
  return read;
}

async function writePage(tag: Tag, { page, bytes }: PageWrite): Promise<void> {
  // If only the tag's answer was lost, the page is written once more, which does no harm.
  const put = async () => ((await tag.write(page, bytes)) ? true : undefined);
  if ((await withRetries(tag, put)) === undefined)
    throw writeFailed("locked", `the tag refused to be written, at page ${page}. Use another one`);
}

/** Reads from the capability container on, and throws `mismatch` if the content differs. */
async function compare(asked: VersionedTag, expected: Uint8Array): Promise<void> {
  const from = headerPages - 1;
  const read = await readMemory(asked, from, expected.length / pageBytes - from);
  if (read === undefined || toHex(read) !== toHex(expected.subarray(from * pageBytes))) throw mismatch();
}
