/**
 * Names of files as the disk has them. Linux keeps bytes: most are UTF-8 and so a string here, and the few that are not
 * stay bytes, so that the file is found again.
 */

export type FileName = string | Uint8Array;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A string where the bytes are UTF-8. */
export function fileName(bytes: Uint8Array): FileName {
  try {
    return strict.decode(bytes);
  } catch {
    // Not UTF-8: that is what the other kind of name is for.
    return bytes;
  }
}

/** As people read it: each byte that is not UTF-8 becomes U+FFFD. */
export function readable(name: FileName): string {
  return typeof name === "string" ? name : decoder.decode(name);
}

/** `a/b`; only one of them where the other is empty. */
export function joinNames(a: FileName, b: FileName): FileName {
  if (a === "" || b === "") return a === "" ? b : a;
  if (typeof a === "string" && typeof b === "string") return `${a}/${b}`;
  return Buffer.concat([bytesOf(a), bytesOf("/"), bytesOf(b)]);
}

export function bytesOf(name: FileName): Uint8Array {
  return typeof name === "string" ? encoder.encode(name) : name;
}

/** For calls of `node:fs`, which take bytes as a Buffer. */
export function pathOf(name: FileName): string | Buffer {
  return typeof name === "string" ? name : Buffer.from(name);
}

/** Different for different names, whatever their bytes. */
export function exactText(name: FileName): string {
  return typeof name === "string" ? name : `\0${Buffer.from(name).toString("latin1")}`;
}
