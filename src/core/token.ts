/**
 * The objects of a tap: a `Sighting` comes from a reader, a `Token` goes to everybody else, `TokenParams` request a
 * launch, a `Reader` describes the device, and a `Mapping` rewrites a token. Shapes are those of docs/API.md.
 */

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

/** Why a tag that lies on a reader has no text. */
export const tagProblems = [
  /** Formatted, and without a message. */
  "blank",
  /** Not formatted for NDEF. */
  "unformatted",
  /** The message is truncated or malformed. */
  "half-written",
  /** The message holds no text and no URI. */
  "other-message",
  /** The memory requires a password or a key. */
  "locked",
  /** The memory should be readable, and was not. */
  "unreadable",
] as const;
export type TagProblem = (typeof tagProblems)[number];

/** A tag in a reader's field, before the service adds time and reader. */
export interface Sighting {
  readonly type: TagType;
  /** Lower-case hex. */
  readonly uid: string;
  /** The text of the tag's message; empty if there is none. */
  readonly text: string;
  /** Lower-case hex of the memory that was read; empty if none was. */
  readonly data: string;
  /** Why `text` is empty; absent if it is not, and for tags that are identified by UID or as toys. */
  readonly problem?: TagProblem;
  /** False if the reader cannot detect removal: then the token's leaving has no meaning. */
  readonly removable?: false;
}

/** A token as the API returns it. Absent fields are empty strings, because existing clients expect that. */
export interface Token {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  /** RFC 3339. */
  readonly scanTime: string;
  /** Empty for tokens that came over the API. */
  readonly readerId: string;
  readonly problem?: TagProblem;
  /** As in `Sighting`: removal never stops the media. */
  readonly removable?: false;
}

/** Launch parameters: at least one of uid, text and data is not empty. */
export interface TokenParams {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
}

export type Capability = "read" | "write" | "removable";

/** A reader as the API returns it. */
export interface Reader {
  /** The device path, like `path`, because existing clients show it. */
  readonly id: string;
  /** Stable over restarts and re-plugging of the same port. */
  readonly readerId: string;
  /** Driver id, such as `pn532-uart`. */
  readonly driver: string;
  readonly path: string;
  /** A name for people, such as `PN532 v1.6`. */
  readonly info: string;
  readonly connected: boolean;
  readonly capabilities: readonly Capability[];
}

/** The field of the token that a mapping's pattern is compared with. */
export type MappingType = "uid" | "text" | "data";
export type MappingMatch = "exact" | "partial" | "regex";

/** A rule that replaces the text of matching tokens before they are launched. */
export interface MappingParams {
  readonly enabled: boolean;
  /** May be empty. */
  readonly label: string;
  readonly type: MappingType;
  readonly match: MappingMatch;
  readonly pattern: string;
  /** Replaces the token's text. */
  readonly override: string;
}

export interface Mapping extends MappingParams {
  readonly id: number;
  /** RFC 3339. */
  readonly added: string;
}

/** A UID in the form for comparison: lower case, without spaces and colons. */
export function normalizeUid(uid: string): string {
  return uid.replace(/[\s:]/g, "").toLowerCase();
}
