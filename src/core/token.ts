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

/** What a reader found in its field, before it has a time or a name. */
export interface Sighting {
  readonly type: TagType;
  /** Lower-case hex. */
  readonly uid: string;
  /** Text of the tag's message; empty where it holds none. */
  readonly text: string;
  /** Lower-case hex of the memory that was read; empty where none was. */
  readonly data: string;
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
