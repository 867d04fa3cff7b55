/** Names of files as on the disk: a string if the bytes are UTF-8; otherwise bytes, so the file can be opened. */
export type FileName = string | Uint8Array;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The name as a string if the bytes are UTF-8, otherwise as bytes. */
export function fileName(bytes: Uint8Array): FileName {
  try {
    return strict.decode(bytes);
  } catch {
    // The bytes are not UTF-8.
    return bytes;
  }
}

/** The name for people, in which each byte that is not UTF-8 becomes U+FFFD. */
export function readable(name: FileName): string {
  return typeof name === "string" ? name : decoder.decode(name);
}

/** The path `a/b`; only one of the two if the other is empty. */
export function joinNames(a: FileName, b: FileName): FileName {
  if (a === "" || b === "") return a === "" ? b : a;
  if (typeof a === "string" && typeof b === "string") return `${a}/${b}`;
  return Buffer.concat([nameBytes(a), nameBytes("/"), nameBytes(b)]);
}

export function nameBytes(name: FileName): Uint8Array {
  return typeof name === "string" ? encoder.encode(name) : name;
}

/** The name for calls of `node:fs`, which take bytes as a Buffer. */
export function fsPath(name: FileName): string | Buffer {
  return typeof name === "string" ? name : Buffer.from(name);
}

/** A text that is unique to the name, for use as a key. */
export function exactText(name: FileName): string {
  return typeof name === "string" ? name : `\0${Buffer.from(name).toString("latin1")}`;
}

/** An order of names by their readable texts. */
export function byReadable(a: FileName, b: FileName): number {
  const left = readable(a);
  const right = readable(b);
  return left < right ? -1 : left > right ? 1 : 0;
}
