/**
 * The objects of a tap. A `Sighting` comes from a reader, and a `Token` goes to the rest of the service. `TokenParams`
 * request a launch, a `Reader` describes the device, and a `Mapping` rewrites a token. Shapes are those of docs/API.md.
 */
import type { Mapping, Reader, TagProblem } from "./shapes.ts";

export type { Mapping, MappingParams, Reader, TagProblem, Token, TokenParams } from "./shapes.ts";

/** Families of tags that readers report. A caller of the API may use any word. */
export type TagType =
  | "NTAG"
  | "Ultralight"
  | "MIFARE"
  | "DESFire"
  | "FeliCa"
  | "Amiibo"
  | "LegoDimensions"
  | "Barcode"
  | "ISO14443-4"
  | "Unknown";

/** A tag in a reader's field, before the service adds time and reader. */
export interface Sighting {
  readonly type: TagType;
  /** The UID in lower-case hex. */
  readonly uid: string;
  /** The text of the tag's message; empty if there is none. */
  readonly text: string;
  /** The memory that was read, in lower-case hex; empty if none was read. */
  readonly data: string;
  /** The reason why `text` is empty; absent if `text` is not empty, and for tags that are identified by UID or as toys. */
  readonly problem?: TagProblem;
  /** False if the reader cannot detect removal. In that case a token that leaves has no effect. */
  readonly removable?: false;
}

export type Capability = Reader["capabilities"][number];
export type MappingType = Mapping["type"];
export type MappingMatch = Mapping["match"];

/** The types that a mapping may name: those that results have, and two names of later clients. */
export const mappingTypeNames = ["uid", "text", "data", "id", "value"] as const;

export function mappingTypeOf(name: (typeof mappingTypeNames)[number]): MappingType {
  if (name === "id") return "uid";
  return name === "value" ? "text" : name;
}

/** A UID in the form for comparison: lower case, without spaces and colons. */
export function normalizeUid(uid: string): string {
  return uid.replace(/[\s:]/g, "").toLowerCase();
}

/**
 * True for a UID of four bytes that begins with 08. A phone makes up another one after each loss of the field (ISO/IEC 14443-3,
 * 6.5.4).
 */
export function isMadeUp(uid: string): boolean {
  return uid.length === 8 && uid.startsWith("08");
}
