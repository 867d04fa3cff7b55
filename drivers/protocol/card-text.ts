/**
 * Cards that are given as text, without I/O: the lines of home-made readers (Arduino, ESP32), and the content of a file.
 *
 *   SCAN <TAB> name=value <TAB> ...   a card lies there; names are uid, text and removable (yes or no), in any order
 *   SCAN <TAB> text                   the same as text=...
 *   SCAN                              nothing lies there
 *   any other text                    a card with this text
 *
 * A line ends with LF or CR LF and is UTF-8. A line with a control character or with bytes that are not UTF-8 is noise. Its
 * source is an opening in the middle of a line, a wrong rate, or a board that starts.
 *
 * If the first line of a file begins with `uid=` or `text=`, every line is such a field; otherwise all of it is the text.
 */
import { scriptBytesMax } from "../../src/core/limits.ts";
import type { Sighting } from "../../src/core/token.ts";
import { normalizeUid } from "../../src/core/token.ts";

export interface LineCard {
  /** The UID in lower case, without spaces and colons; empty if the reader sends none. */
  readonly uid: string;
  readonly text: string;
  /** Whether the reader reports removal; undefined if it does not say so. */
  readonly removable: boolean | undefined;
}

type ReaderLine =
  | { readonly kind: "card"; readonly card: LineCard }
  /** A text without the keyword `SCAN`: a card's text, or other output of a board. */
  | { readonly kind: "plain"; readonly text: string }
  | { readonly kind: "nothing" }
  | { readonly kind: "noise"; readonly why: string };

const command = "SCAN";

/** Parses a line. `bytes` is one line without its line feed. Never throws. */
export function parseReaderLine(bytes: Uint8Array): ReaderLine {
  const line = decode(bytes, { ignoreBOM: true })?.replace(/\r$/, "");
  if (line === undefined) return noise("it is no UTF-8");
  const [word = "", ...fields] = line.split("\t");
  if (fields.some(hasControls) || hasControls(word)) return noise("it holds control characters");
  if (word.trim() === command) return parseScan(fields.filter((field) => field !== ""));
  if (fields.length > 0) return noise("it holds tabs, and does not begin with SCAN");
  const text = line.trim();
  if (text === "") return noise("it is empty");
  return isTooLong(text) ? noise("its text is too long") : { kind: "plain", text };
}

function parseScan(fields: readonly string[]): ReaderLine {
  if (fields.length === 0) return { kind: "nothing" };
  let uid: string = "";
  let text: string = "";
  let removable: boolean | undefined;
  for (const [index, field] of fields.entries()) {
    const [, name = "", value = ""] = /^(uid|text|removable)=(.*)$/.exec(field) ?? [];
    if (name === "uid") uid = normalizeUid(value);
    else if (name === "text") text = value;
    else if (name === "removable" && (value === "yes" || value === "no")) removable = value === "yes";
    else if (name === "removable") return noise("removable is neither yes nor no");
    // The first field may be a text alone, even with a `=` in it. Unknown fields may come from later readers, and are
    // ignored.
    else if (index === 0) text = field;
  }
  if (isTooLong(uid)) return noise("its uid is too long");
  if (isTooLong(text)) return noise("its text is too long");
  if (uid === "" && text === "") return noise("it has neither a uid nor a text");
  return { kind: "card", card: { uid, text, removable } };
}

function isTooLong(text: string): boolean {
  // Every character takes at least a byte, so most long texts need no encoding.
  return text.length > scriptBytesMax || new TextEncoder().encode(text).length > scriptBytesMax;
}

function noise(why: string): ReaderLine {
  return { kind: "noise", why };
}

function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** The text of bytes; undefined if they are not UTF-8. */
function decode(bytes: Uint8Array, { ignoreBOM }: { readonly ignoreBOM: boolean }): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM }).decode(bytes);
  } catch {
    // The caller reports it as noise or as an error.
    return undefined;
  }
}

const lineFeed = 0x0a;

/**
 * Cuts bytes into lines without their line feeds. Empty lines are left out. The cutter keeps at most `bytesMax + 1`
 * bytes of a line, so a longer one is recognized as too long. The bytes of a line are valid during the call only.
 */
export function createLineCutter(
  bytesMax: number,
  hear: (line: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  const line = new Uint8Array(bytesMax + 1);
  let length = 0;
  return (bytes) => {
    for (const byte of bytes) {
      if (byte !== lineFeed) {
        if (length < line.length) line[length++] = byte;
        continue;
      }
      const whole = line.subarray(0, length);
      length = 0;
      if (whole.length > 0) hear(whole);
    }
  };
}

type CardFile =
  | { readonly kind: "card"; readonly sighting: Sighting }
  | { readonly kind: "empty" }
  | { readonly kind: "error"; readonly why: string };

const fieldForm = /^(uid|text)=(.*)$/;

/** Parses the content of a file. Never throws. */
export function parseCardFile(bytes: Uint8Array): CardFile {
  const content = decode(bytes, { ignoreBOM: false })?.trim();
  if (content === undefined) return { kind: "error", why: "it is no UTF-8" };
  if (content === "") return { kind: "empty" };
  const lines = content.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (!fieldForm.test(lines[0] ?? "")) return cardOf("", content);
  let uid = "";
  let text = "";
  for (const line of lines) {
    const [, name, value = ""] = fieldForm.exec(line) ?? [];
    if (name === undefined) return { kind: "error", why: `"${line.slice(0, 40)}" is neither uid= nor text=` };
    if (name === "uid") uid = normalizeUid(value);
    else text = value.trim();
  }
  return uid === "" && text === "" ? { kind: "empty" } : cardOf(uid, text);
}

function cardOf(uid: string, text: string): CardFile {
  if (isTooLong(uid)) return { kind: "error", why: `its uid is longer than ${scriptBytesMax} bytes` };
  if (isTooLong(text)) return { kind: "error", why: `its text is longer than ${scriptBytesMax} bytes` };
  return { kind: "card", sighting: { type: "Unknown", uid, text, data: "" } };
}
