/** Mappings in the form in which they are matched, and the rules of matching themselves (contract, Mapping object). */
import type { MappingMatch, MappingParams, MappingType } from "../../core/mapping.ts";
import type { TokenParams } from "../../core/token.ts";
import { normalizeUid } from "../../core/uid.ts";
import type { Regexes } from "./regex.ts";

/** One enabled mapping. Two that are equal in all fields are still two. */
export interface Rule {
  /** Of all rules that match, the one with the lowest rank wins. */
  readonly rank: number;
  readonly type: MappingType;
  readonly match: MappingMatch;
  /** In the form in which it is compared. */
  readonly pattern: string;
  readonly override: string;
}

/** The fields of a token in the form in which they are compared. An empty one is absent, and no rule matches it. */
export type Fields = Readonly<Record<MappingType, string>>;

export const mappingTypes: readonly MappingType[] = ["uid", "text", "data"];

export function ruleOf({ type, match, pattern, override }: MappingParams, rank: number): Rule {
  // In a regular expression, a space or a capital may be a sign: it is left as it is, and held against the lower case.
  const isNormalized = type !== "text" && match !== "regex";
  return { rank, type, match, pattern: isNormalized ? normalizeUid(pattern) : pattern, override };
}

export function fieldsOf({ uid, text, data }: TokenParams): Fields {
  return { uid: normalizeUid(uid), text, data: normalizeUid(data) };
}

export function matches({ type, match, pattern }: Rule, fields: Fields, regexes: Regexes): boolean {
  const field = fields[type];
  if (field === "") return false;
  switch (match) {
    case "exact":
      return field === pattern;
    case "partial":
      return field.includes(pattern);
    case "regex":
      return regexes.test(pattern, field);
  }
}
