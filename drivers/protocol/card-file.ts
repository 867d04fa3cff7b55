/**
 * The content of a file that stands for a card, purely. Where its first line begins with `uid=` or `text=`, every line is
 * such a field; else all of it is the card's text.
 */
import { scriptBytesMax, uidCharsMax } from "../../src/core/limits.ts";
import type { Sighting } from "../../src/core/token.ts";
import { normalizeUid } from "../../src/core/token.ts";

export type CardFile =
  | { readonly kind: "card"; readonly sighting: Sighting }
  | { readonly kind: "empty" }
  | { readonly kind: "error"; readonly why: string };

const field = /^(uid|text)=(.*)$/;

/** Never throws. */
export function parseCardFile(bytes: Uint8Array): CardFile {
  const content = decode(bytes)?.trim();
  if (content === undefined) return { kind: "error", why: "it is no UTF-8" };
  if (content === "") return { kind: "empty" };
  const lines = content.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (!field.test(lines[0] ?? "")) return cardOf("", content);
  let [uid, text] = ["", ""];
  for (const line of lines) {
    const [, name, value = ""] = field.exec(line) ?? [];
    if (name === undefined) return { kind: "error", why: `"${line.slice(0, 40)}" is neither uid= nor text=` };
    if (name === "uid") uid = normalizeUid(value);
    else text = value.trim();
  }
  return uid === "" && text === "" ? { kind: "empty" } : cardOf(uid, text);
}

function cardOf(uid: string, text: string): CardFile {
  if (uid.length > uidCharsMax)
    return { kind: "error", why: `its uid is longer than ${uidCharsMax} characters` };
  if (new TextEncoder().encode(text).length > scriptBytesMax)
    return { kind: "error", why: `its text is longer than ${scriptBytesMax} bytes` };
  return { kind: "card", sighting: { type: "Unknown", uid, text, data: "" } };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // What is no UTF-8 is told by the caller.
    return undefined;
  }
}
