/** The reasons why a tag is not written, as sentences, and the number of retries of a failed exchange. */
import { type WriteCause, writeFailed } from "../../src/readers/driver.ts";
import type { Tag } from "./tag-channel.ts";

const triesMax = 3;

/** Retries an exchange; undefined if the tag is present and refused each time. Throws `gone` if the tag left. */
export async function withRetries<T>(
  tag: Pick<Tag, "reselect">,
  run: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (let tries = 1; ; tries++) {
    const result = await run();
    if (result !== undefined) return result;
    if (!(await tag.reselect())) throw taken();
    if (tries === triesMax) return undefined;
  }
}

export function taken(): Error {
  return writeFailed(
    "gone",
    "the tag was taken off before it was written. Lay it on again, and keep it there",
  );
}

export function mismatch(): Error {
  return writeFailed("mismatch", "the tag does not return the written data: it is worn out. Use another one");
}

const another = (cause: WriteCause, why: string) => writeFailed(cause, `${why}. Use another one`);

export const refusals = {
  locked: () => another("locked", "the tag is locked: it can only be read"),
  password: () => another("password", "the tag is protected by a password, which is not known here"),
  keys: () =>
    another(
      "password",
      "the tag has keys of its own, as transit cards and toys do, which are not known here",
    ),
  amiibo: () => another("foreign", "the tag is an amiibo, and it is left as it is"),
  lego: () =>
    writeFailed(
      "foreign",
      "the tag is a LEGO Dimensions toy, and it is left as it is. Use another one, or force it",
    ),
  "other-data": () =>
    writeFailed(
      "foreign",
      "the tag holds data of another kind, such as a ticket's, and it is left as it is. Use another one, or force it",
    ),
  "other-application": () =>
    another("foreign", "the tag is used for something else, such as a ticket, and it is left as it is"),
  "one-time-bits": () =>
    another("unsupported", "the tag was made for something else for good, and cannot be used"),
  "reserved-bytes": () => another("unsupported", "the tag keeps bytes in the midst of its memory for itself"),
  unreadable: () => another("unsupported", "the tag's memory cannot be read as far as it says"),
  payment: () => writeFailed("foreign", "this is a payment card, and it is left as it is. Use a tag"),
  card: () =>
    writeFailed("foreign", "this is a transit card, a key or a phone, and it is left as it is. Use a tag"),
  "no-message-file": () =>
    another("unsupported", "the card has no place for messages: a phone can format some of them"),
  kind: () => writeFailed("unsupported", "tags of this kind cannot be written: use an NTAG or an Ultralight"),
} as const;

export function tooSmall(bytesMissing: number): Error {
  const sentence = `the tag is too small: ${bytesMissing} bytes are missing. Use a larger one, or a shorter text`;
  return writeFailed("too-small", sentence, { bytesMissing });
}
