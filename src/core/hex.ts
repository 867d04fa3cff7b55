/** Lower-case hex without separators: `04a1b2`. */
export function toHex(bytes: Uint8Array): string {
  return typeof bytes.toHex === "function" ? bytes.toHex() : Array.from(bytes, hexOfByte).join("");
}

/** `04 a1 b2`, the form of bytes in logs and transcripts. */
export function spacedHex(bytes: Uint8Array): string {
  return Array.from(bytes, hexOfByte).join(" ");
}

function hexOfByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

/** The bytes of a hex string of either case; spaces and colons are ignored. Undefined if it is not hex. */
export function fromHex(text: string): Uint8Array | undefined {
  const digits = text.replace(/[\s:]/g, "");
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) return undefined;
  // Browsers before 2025 lack `fromHex`.
  if (typeof Uint8Array.fromHex === "function") return Uint8Array.fromHex(digits);
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
