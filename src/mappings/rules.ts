/** Mappings in the form in which they are matched, and the rules of matching themselves. */
import type { MappingMatch, MappingParams, MappingType, TokenParams } from "../core/token.ts";
import { normalizeUid } from "../core/token.ts";
import { isFault, type Regexes, regexReads } from "./regex.ts";
import { type Characters, charactersOf, matchesTable } from "./regex-table.ts";

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
export interface Fields extends Readonly<Record<MappingType, string>> {
  /** What regular expressions read of a field; worked out once. */
  characters(type: MappingType): Characters;
}

export const mappingTypes: readonly MappingType[] = ["uid", "text", "data"];

export function ruleOf({ type, match, pattern, override }: MappingParams, rank: number): Rule {
  // In a regular expression, a space or a capital may be a sign: it is left as it is, and held against the lower case.
  const isNormalized = type !== "text" && match !== "regex";
  return { rank, type, match, pattern: isNormalized ? normalizeUid(pattern) : pattern, override };
}

export function fieldsOf({ uid, text, data }: Pick<TokenParams, MappingType>): Fields {
  const fields = { uid: normalizeUid(uid), text, data: normalizeUid(data) };
  const known: Partial<Record<MappingType, Characters>> = {};
  return {
    ...fields,
    characters: (type) => (known[type] ??= charactersOf(fields[type], regexReads[type])),
  };
}

export function matches({ type, match, pattern }: Rule, fields: Fields, regexes: Regexes): boolean {
  const field = fields[type];
  if (field === "") return false;
  switch (match) {
    case "exact":
      return field === pattern;
    case "partial":
      return occursIn(pattern, field);
    case "regex": {
      const regex = regexes.get(pattern);
      return !isFault(regex) && matchesTable(regex, fields.characters(type));
    }
  }
}

/**
 * True where `text` holds `word`, which is not empty, in at most two steps for each of their units (Knuth, Morris and Pratt,
 * "Fast pattern matching in strings", SIAM J. Comput. 6(2), 1977): `includes` takes up to 10 ms for 4 KiB in 16.
 */
export function occursIn(word: string, text: string): boolean {
  const borders = new Int32Array(word.length);
  const extend = (from: number, unit: number): number => {
    let length = from;
    while (length > 0 && word.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0;
    return word.charCodeAt(length) === unit ? length + 1 : length;
  };
  for (let at = 1, length = 0; at < word.length; at++) {
    length = extend(length, word.charCodeAt(at));
    borders[at] = length;
  }
  for (let at = 0, length = 0; at < text.length; at++) {
    length = extend(length, text.charCodeAt(at));
    if (length === word.length) return true;
  }
  return false;
}
