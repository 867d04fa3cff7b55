/** An enabled mapping as a rule, and whether the rule matches the fields of a token. */
import type { RE2JS } from "re2js";
import { patternFieldCharsMax } from "../core/limits.ts";
import {
  type MappingMatch,
  type MappingParams,
  type MappingType,
  normalizeUid,
  type TokenParams,
} from "../core/token.ts";
import { isFault, type Regexes } from "./regex.ts";

export interface Rule {
  /** The matching rule with the lowest rank wins. */
  readonly rank: number;
  readonly type: MappingType;
  readonly match: MappingMatch;
  /** The pattern in the normalized form. */
  readonly pattern: string;
  readonly override: string;
  /** The compiled expression; absent for other kinds of patterns, and for an expression with a fault, which matches nothing. */
  readonly regex?: RE2JS;
}

export function ruleOf(mapping: MappingParams, rank: number, regexes: Regexes): Rule {
  const { type, match, override } = mapping;
  const rule = { rank, type, match, pattern: patternOf(mapping), override };
  if (match !== "regex") return rule;
  const regex = regexes.get(rule.pattern);
  return isFault(regex) ? rule : { ...rule, regex };
}

/** The pattern in the form in which it is compared. */
export function patternOf({ type, match, pattern }: MappingParams): string {
  // A regular expression is not normalized, because a space or a capital may be part of its syntax.
  return type === "text" || match === "regex" ? pattern : normalizeUid(pattern);
}

/** True for a mapping of exactly one UID. */
export function isOfUid({ enabled, type, match }: MappingParams): boolean {
  return enabled && type === "uid" && match === "exact";
}

/** The normalized fields of a token. No rule matches an empty field. */
export type Fields = Readonly<Record<MappingType, Field>>;

interface Field {
  readonly whole: string;
  /** The beginning of the field, up to the last character that partial patterns see. */
  readonly beginning: string;
  /** The beginning of the field, up to the last character that regular expressions see. */
  readonly searched: string;
}

export function fieldsOf({ uid, text, data }: Pick<TokenParams, MappingType>): Fields {
  return { uid: fieldOf(normalizeUid(uid)), text: fieldOf(text), data: fieldOf(normalizeUid(data)) };
}

function fieldOf(whole: string): Field {
  if (whole.length <= patternFieldCharsMax) return { whole, beginning: whole, searched: whole };
  const beginning = whole.slice(0, patternFieldCharsMax);
  // A long field is cut, and the cut must not count as its end. A noncharacter (Unicode 23.7) after the cut therefore
  // keeps `$` from matching.
  return { whole, beginning, searched: `${beginning}\uffff` };
}

export function matches({ type, match, pattern, regex }: Rule, fields: Fields): boolean {
  const { whole, beginning, searched } = fields[type];
  if (whole === "") return false;
  switch (match) {
    case "exact":
      return whole === pattern;
    case "partial":
      return beginning.includes(pattern);
    case "regex":
      return regex?.test(searched) ?? false;
  }
}
