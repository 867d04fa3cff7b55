/**
 * Base64 of RFC 4648, 4, with padding, without white space, and with no bit set that carries nothing. Browsers have it
 * built in since 2025; phones and Nodes that are older go by `btoa` and `atob`.
 */

const pieceBytes = 0x8000; // So many arguments a call takes everywhere.

export function toBase64(bytes: Uint8Array): string {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  return btoa(text);
}

/** Undefined for whatever is not the one spelling of some bytes. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    if (typeof Uint8Array.fromBase64 !== "function") return fromBase64ByAtob(text);
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    // The decoder skips white space; a text longer than its bytes need had some.
    return text.length === Math.ceil(bytes.length / 3) * 4 ? bytes : undefined;
  } catch {
    // Not base64 is all that there is to say of it.
    return undefined;
  }
}

/** The way of older browsers. Throws where `atob` does. */
export function fromBase64ByAtob(text: string): Uint8Array | undefined {
  const binary = atob(text);
  // It takes white space, missing padding and stray bits: only what it would have written itself counts.
  return btoa(binary) === text ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined;
}
