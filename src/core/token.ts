/**
 * The words of a tap: what a reader saw (Sighting), what everyone else is told (Token), what asks for a launch
 * (TokenParams), and the reader's own record (Reader). Shapes are the wire's (decisions, "Objects").
 */

/** Families of tags that readers name. A caller of the API may give any word of its own. */
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
  /** No NDEF tag yet, or no more. */
  "unformatted",
  /** A message stands there that ends too early or makes no sense. */
  "half-written",
  /** Its message holds no text and no URI. */
  "other-message",
  /** Its memory asks for a password or a key. */
  "locked",
  /** Its memory should be readable, and was not. */
  "unreadable",
] as const;
export type TagProblem = (typeof tagProblems)[number];

/** What a reader found in its field, before it has a time or a name. */
export interface Sighting {
  readonly type: TagType;
  /** Lower-case hex. */
  readonly uid: string;
  /** Text of the tag's message; empty where it holds none. */
  readonly text: string;
  /** Lower-case hex of the memory that was read; empty where none was. */
  readonly data: string;
  /** Why `text` is empty; absent where it is not, and for tags that are known by their UID or as toys. */
  readonly problem?: TagProblem;
  /** Where the reader cannot tell when it goes: that it leaves after a moment means nothing. */
  readonly removable?: false;
}

/** A token as the API shows it. Absent fields are empty strings, as existing clients expect. */
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
  /** As of the sighting: its leaving never stops what it started. */
  readonly removable?: false;
}

/** Launch parameters (contract): at least one of uid, text and data is not empty. */
export interface TokenParams {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
}

export type Capability = "read" | "write" | "removable";

/** A reader as the API shows it. */
export interface Reader {
  /** Device path, like `path`: what existing clients show. */
  readonly id: string;
  /** Stable over restarts and re-plugging of the same port. */
  readonly readerId: string;
  /** Driver id, such as `pn532-uart`. */
  readonly driver: string;
  readonly path: string;
  /** A sentence for people, such as `PN532 v1.6`. */
  readonly info: string;
  readonly connected: boolean;
  readonly capabilities: readonly Capability[];
}
