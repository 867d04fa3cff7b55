/** The words of mappings: stored rules that rewrite a token's text before it is launched (contract, Mapping object). */

/** The field of the token that the pattern is held against. */
export type MappingType = "uid" | "text" | "data";
export type MappingMatch = "exact" | "partial" | "regex";

export interface MappingParams {
  readonly enabled: boolean;
  /** "" where there is none. */
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
