/**
 * Mappings as rules, and an index of them. Exact rules are in a map, partial ones in one automaton, and regular expressions
 * are tables in the order of rank.
 *
 * A loop of `includes` is too slow for the partial rules. The database and the files may hold 20,000 patterns of 26
 * characters. The loop takes 39 ms for an ordinary text of 16 KiB, and 345 ms for a hostile one. A tap may take 20 ms.
 */
import { regexCharsMax } from "../core/limits.ts";
import {
  type MappingMatch,
  type MappingParams,
  type MappingType,
  normalizeUid,
  type TokenParams,
} from "../core/token.ts";
import { type Automaton, buildAutomaton } from "./automaton.ts";
import { isFault, type Regexes } from "./regex.ts";
import { type Characters, charactersOf, matchesTable, type RegexTable } from "./regex-table.ts";

interface RuleIndex {
  /** The lowest rule below `rank` that matches and of which `isGone` is false. */
  find(fields: Fields, rank: number, isGone: (rule: Rule) => boolean): Rule | undefined;
}

export const emptyIndex: RuleIndex = { find: () => undefined };

/** The rules of one field. Lists are in order of rank. */
interface Shelf {
  readonly exact: ReadonlyMap<string, readonly Rule[]>;
  readonly automaton: Automaton;
  /** The rules of each word of the automaton. */
  readonly partial: readonly (readonly Rule[])[];
  readonly regex: readonly (readonly [Rule, RegexTable])[];
}

/** Builds an index, yielding between slices of the work. */
export function* buildRuleIndex(
  rules: readonly Rule[],
  regexes: Regexes,
): Generator<undefined, RuleIndex, undefined> {
  const sorted = rules.toSorted((a, b) => a.rank - b.rank);
  yield;
  const shelves = {
    uid: yield* shelfOf("uid", sorted, regexes),
    text: yield* shelfOf("text", sorted, regexes),
    data: yield* shelfOf("data", sorted, regexes),
  };
  return { find: (fields, rank, isGone) => findIn(shelves, fields, rank, isGone) };
}

function* shelfOf(
  type: MappingType,
  sorted: readonly Rule[],
  regexes: Regexes,
): Generator<undefined, Shelf, undefined> {
  const of = (match: MappingMatch) => sorted.filter((rule) => rule.type === type && rule.match === match);
  const byPattern = (match: MappingMatch) => Map.groupBy(of(match), ({ pattern }) => pattern);
  const exact = byPattern("exact");
  yield;
  const partial = byPattern("partial");
  yield;
  const automaton = yield* buildAutomaton([...partial.keys()]);
  const regex: (readonly [Rule, RegexTable])[] = [];
  for (const rule of of("regex")) {
    // Compiling an expression takes some milliseconds.
    const table = regexes.get(rule.pattern);
    if (!isFault(table)) regex.push([rule, table]);
    yield;
  }
  return { exact, automaton, partial: [...partial.values()], regex };
}

function findIn(
  shelves: Readonly<Record<MappingType, Shelf>>,
  fields: Fields,
  rank: number,
  isGone: (rule: Rule) => boolean,
): Rule | undefined {
  let best: Rule | undefined;
  let below = rank;
  const offer = (rule: Rule | undefined) => {
    if (rule === undefined || rule.rank >= below) return;
    best = rule;
    below = rule.rank;
  };
  const present = mappingTypes.filter((type) => fields[type] !== "");
  for (const type of present) {
    const { exact, partial, automaton } = shelves[type];
    const offerFirst = (rules: readonly Rule[] = []) => offer(rules.find((rule) => !isGone(rule)));
    offerFirst(exact.get(fields[type]));
    if (partial.length > 0) automaton.search(fields[type], (word) => offerFirst(partial[word]));
  }
  // Regular expressions last, because only those of a lower rank have to be compared.
  for (const type of present) {
    const { regex } = shelves[type];
    const isFirst = ([rule, table]: Shelf["regex"][number]) =>
      rule.rank >= below || (!isGone(rule) && matchesTable(table, fields.characters(type)));
    offer(regex.find(isFirst)?.[0]);
  }
  return best;
}

/** One enabled mapping. */
export interface Rule {
  /** The matching rule with the lowest rank wins. */
  readonly rank: number;
  readonly type: MappingType;
  readonly match: MappingMatch;
  /** In the normalized form. */
  readonly pattern: string;
  readonly override: string;
}

/** The normalized fields of a token. No rule matches an empty field. */
export interface Fields extends Readonly<Record<MappingType, string>> {
  /** The characters of a field that regular expressions read; computed once. */
  characters(type: MappingType): Characters;
}

const mappingTypes: readonly MappingType[] = ["uid", "text", "data"];

export function ruleOf({ type, match, pattern, override }: MappingParams, rank: number): Rule {
  // A regular expression is not normalized, because a space or a capital may be part of its syntax.
  const isNormalized = type !== "text" && match !== "regex";
  return { rank, type, match, pattern: isNormalized ? normalizeUid(pattern) : pattern, override };
}

export function fieldsOf({ uid, text, data }: Pick<TokenParams, MappingType>): Fields {
  const fields = { uid: normalizeUid(uid), text, data: normalizeUid(data) };
  const known: Partial<Record<MappingType, Characters>> = {};
  return {
    ...fields,
    characters: (type) => (known[type] ??= charactersOf(fields[type], regexCharsMax)),
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
 * Whether `text` contains `word`, which is not empty, in linear time (Knuth, Morris and Pratt, "Fast pattern matching in
 * strings", SIAM J. Comput. 6(2), 1977). `includes` takes up to 10 ms to find 4 KiB in 16 KiB.
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
