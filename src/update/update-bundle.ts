/**
 * The file of an update:
 *
 *   offset 0  8 bytes   `TAPDECK1`
 *          8  4 bytes   length of the manifest, little-endian
 *         12  64 bytes  Ed25519 signature (RFC 8032) of the 17 bytes `tapdeck-update-1\n`, then the manifest
 *         76  manifest  UTF-8 JSON: version, board, and the parts with their sizes and hashes
 *             parts     one after the other, in the order of the manifest; nothing follows
 *
 * The signature covers the manifest, and the hashes in the manifest cover the parts: nothing is used before its check.
 */
import {
  updateBootBytesMax,
  updateKeysMax,
  updateManifestBytesMax,
  updatePartNameCharsMax,
  updatePartsMax,
  updateRootBytesMax,
  updateVersionCharsMax,
} from "../core/console-limits.ts";
import { isRecord } from "../core/text.ts";

export const headBytes = 76;
export const publicKeyBytes = 32;
const signatureAt = 12;
const magic = new TextEncoder().encode("TAPDECK1");
// A signature for another purpose must not be valid here.
const purpose = new TextEncoder().encode("tapdeck-update-1\n");

export interface Head {
  readonly manifestBytes: number;
  readonly signature: Uint8Array;
}

/** `bytes` are the first 76, or fewer if the file is shorter. The head, or a sentence on its fault. */
export function readHead(bytes: Uint8Array): Head | string {
  if (bytes.length < headBytes || magic.some((byte, index) => bytes[index] !== byte))
    return "it is not an update of Tapdeck";
  const manifestBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(magic.length, true);
  if (manifestBytes < 2 || manifestBytes > updateManifestBytesMax)
    return `its manifest has not 2 to ${updateManifestBytesMax} bytes`;
  return { manifestBytes, signature: bytes.slice(signatureAt, headBytes) };
}

export function writeHead({ manifestBytes, signature }: Head): Uint8Array {
  const bytes = new Uint8Array(headBytes);
  bytes.set(magic);
  new DataView(bytes.buffer).setUint32(magic.length, manifestBytes, true);
  bytes.set(signature, signatureAt);
  return bytes;
}

/** The bytes that the signature in the head signs. */
export function signedBytes(manifest: Uint8Array): Uint8Array {
  return Buffer.concat([purpose, manifest]);
}

/** True if one of the keys made the signature. */
export async function isSignedBy(
  keys: readonly Uint8Array[],
  { head, manifest }: { readonly head: Head; readonly manifest: Uint8Array },
): Promise<boolean> {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  const message = signedBytes(manifest);
  return keys.some((key) => sodium.crypto_sign_verify_detached(head.signature, message, key));
}

/**
 * The public keys of a file: one a line, 64 hex digits and, after a space, the owner. Lines that begin with # are comments.
 * Returns a sentence for a bad line.
 */
export function readKeys(text: string): readonly Uint8Array[] | string {
  const keys: Uint8Array[] = [];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const [, hex] = /^([0-9a-f]{64})(?:\s.*)?$/.exec(line) ?? [];
    if (hex === undefined)
      return `the line "${line.slice(0, 80)}" is no key of ${2 * publicKeyBytes} hex digits`;
    if (keys.length === updateKeysMax) return `there are more than ${updateKeysMax} keys`;
    keys.push(Uint8Array.fromHex(hex));
  }
  return keys;
}

export interface BundlePart {
  /** `root` for the slot's file system, `boot/<path>` for a file of the slot's folder on the boot partition. */
  readonly name: string;
  readonly bytes: number;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export interface Manifest {
  /** Three numbers with points between them. */
  readonly version: string;
  readonly board: string;
  /** In the order of their bytes; exactly one is `root`. */
  readonly parts: readonly BundlePart[];
}

/** The manifest in a slot's folder, which must not be a part of a bundle. */
export const manifestName = "manifest.json";
const bootPrefix = "boot/";

/** The manifest, or a sentence on its fault. */
export function readManifest(bytes: Uint8Array): Manifest | string {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return "its manifest is not JSON"; // The position of the fault helps nobody: the file is not a bundle.
  }
  if (!isRecord(value)) return "its manifest is not an object";
  const { version, board, parts } = value;
  if (typeof version !== "string" || numbersOf(version) === undefined)
    return "its version is not three numbers";
  if (typeof board !== "string" || !/^[a-z0-9-]{1,32}$/.test(board)) return "its board has no name";
  if (!Array.isArray(parts) || parts.length > updatePartsMax)
    return `it does not list 1 to ${updatePartsMax} parts`;
  const read: BundlePart[] = [];
  for (const each of parts) {
    const part = readPart(each);
    if (typeof part === "string") return part;
    read.push(part);
  }
  return faultOf(read) ?? { version, board, parts: read };
}

/** The path below the slot's folder; undefined for the root file system. */
export function bootPathOf({ name }: BundlePart): string | undefined {
  return name.startsWith(bootPrefix) ? name.slice(bootPrefix.length) : undefined;
}

export function bootBytesOf({ parts }: Manifest): number {
  return parts.filter((part) => bootPathOf(part) !== undefined).reduce((sum, { bytes }) => sum + bytes, 0);
}

export function rootPartOf({ parts }: Manifest): BundlePart | undefined {
  return parts.find(({ name }) => name === "root");
}

/** Less than zero if `one` is the older version. A text that is no version is older than all versions. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [numbersOf(one) ?? [-1], numbersOf(other) ?? [-1]];
  for (const index of [0, 1, 2]) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function numbersOf(version: string): readonly number[] | undefined {
  if (version.length > updateVersionCharsMax) return undefined;
  const found = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(version);
  return found?.slice(1).map(Number);
}

function readPart(value: unknown): BundlePart | string {
  if (!isRecord(value)) return "a part is not an object";
  const { name, bytes, sha256 } = value;
  if (typeof name !== "string" || !isPartName(name)) return "a part has a name that is not allowed";
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 1) return `${name} has no size`;
  const most = name === "root" ? updateRootBytesMax : updateBootBytesMax;
  if (bytes > most) return `${name} is larger than ${most} bytes`;
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256)) return `${name} has no hash`;
  return { name, bytes, sha256 };
}

function isPartName(name: string): boolean {
  if (name === "root") return true;
  if (name.length > updatePartNameCharsMax || !name.startsWith(bootPrefix)) return false;
  const words = name.slice(bootPrefix.length).split("/");
  // No word begins with a point, so that none leaves the folder; FAT ignores case.
  return (
    words.length <= 4 &&
    words.every((word) => /^[A-Za-z0-9_][A-Za-z0-9_.,+-]*$/.test(word)) &&
    name.toLowerCase() !== bootPrefix + manifestName
  );
}

function faultOf(parts: readonly BundlePart[]): string | undefined {
  const names = new Set(parts.map(({ name }) => name.toLowerCase()));
  if (names.size !== parts.length) return "two parts have the same name";
  if (!names.has("root")) return "it has no root file system";
  const bootBytes = bootBytesOf({ version: "", board: "", parts });
  return bootBytes > updateBootBytesMax
    ? `its boot files are larger than ${updateBootBytesMax} bytes`
    : undefined;
}
