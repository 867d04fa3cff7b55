/**
 * The manifest of a slot, `manifest.json` in its folder on the boot partition: version, board, and the parts with their sizes and
 * hashes. A slot without a manifest is never started. A bundle brings it as `slot.json`, which RAUC's signature covers.
 */
import {
  updateBootBytesMax,
  updatePartNameCharsMax,
  updatePartsMax,
  updateRootBytesMax,
  updateVersionCharsMax,
} from "../core/console-limits.ts";
import { isRecord } from "../core/text.ts";

export interface SlotPart {
  /** The name is `root` for the slot's file system, and `boot/<path>` for a file of the slot's folder on the boot partition. */
  readonly name: string;
  readonly bytes: number;
  /** The SHA-256 in 64 lower-case hex digits. */
  readonly sha256: string;
}

export interface Manifest {
  /** The version: three numbers with points between them. */
  readonly version: string;
  readonly board: string;
  /** The parts. Exactly one is `root`. */
  readonly parts: readonly SlotPart[];
}

/**
 * The name of the file in a slot's folder. No part of the slot may have it, and the file does not exist before RAUC
 * activates the slot.
 */
export const manifestName = "manifest.json";
export const nextManifestName = "next.json";
const bootPrefix = "boot/";

/** The manifest, or a sentence that states its fault. */
export function readManifest(bytes: Uint8Array): Manifest | string {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return "its manifest is not JSON"; // The position of the fault helps nobody, because the file is no manifest.
  }
  if (!isRecord(value)) return "its manifest is not an object";
  const { version, board, parts } = value;
  if (typeof version !== "string" || numbersOf(version) === undefined)
    return "its version is not three numbers";
  if (typeof board !== "string" || !/^[a-z0-9-]{1,32}$/.test(board)) return "its board has no name";
  if (!Array.isArray(parts) || parts.length > updatePartsMax)
    return `it does not list 1 to ${updatePartsMax} parts`;
  const read: SlotPart[] = [];
  for (const each of parts) {
    const part = readPart(each);
    if (typeof part === "string") return part;
    read.push(part);
  }
  return faultOf(read) ?? { version, board, parts: read };
}

/** The path below the slot's folder; undefined for the root file system. */
export function bootPathOf({ name }: SlotPart): string | undefined {
  return name.startsWith(bootPrefix) ? name.slice(bootPrefix.length) : undefined;
}

export function bootBytesOf({ parts }: Pick<Manifest, "parts">): number {
  return totalBytes(parts.filter((part) => bootPathOf(part) !== undefined));
}

export function rootBytesOf({ parts }: Manifest): number {
  return parts.find(({ name }) => name === "root")?.bytes ?? 0;
}

export function totalBytes(parts: readonly SlotPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Compares two versions. The result is less than zero if `one` is the older version. A text that is no version is older
 * than all versions.
 */
export function compareVersions(one: string, other: string): number {
  const left = numbersOf(one) ?? [-1];
  const right = numbersOf(other) ?? [-1];
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

function readPart(value: unknown): SlotPart | string {
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
  // No word begins with a point, so no path leaves the folder. FAT ignores case.
  return (
    words.length <= 4 &&
    words.every((word) => /^[A-Za-z0-9_][A-Za-z0-9_.,+-]*$/.test(word)) &&
    ![manifestName, nextManifestName].includes(name.slice(bootPrefix.length).toLowerCase())
  );
}

function faultOf(parts: readonly SlotPart[]): string | undefined {
  const names = new Set(parts.map(({ name }) => name.toLowerCase()));
  if (names.size !== parts.length) return "two parts have the same name";
  if (!names.has("root")) return "it has no root file system";
  return bootBytesOf({ parts }) > updateBootBytesMax
    ? `its boot files are larger than ${updateBootBytesMax} bytes`
    : undefined;
}
