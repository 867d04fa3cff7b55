/**
 * Rules arranged so that a token asks few of them: exact ones by a map, partial ones by one pass of an automaton, and
 * regular expressions by a table each, in the order of rank.
 */
import type { MappingType } from "../core/token.ts";
import { type Automaton, buildAutomaton } from "./automaton.ts";
import { isFault, type Regexes } from "./regex.ts";
import { matchesTable, type RegexTable } from "./regex-table.ts";
import { type Fields, mappingTypes, type Rule } from "./rules.ts";

export interface RuleIndex {
  readonly size: number;
  /** The lowest rule below `rank` that matches and of which `isGone` is false. */
  find(fields: Fields, rank: number, isGone: (rule: Rule) => boolean): Rule | undefined;
}

export const emptyIndex: RuleIndex = { size: 0, find: () => undefined };

const rulesPerSlice = 128;

/** The rules of one field. Lists are in order of rank. */
interface Shelf {
  readonly exact: Map<string, Rule[]>;
  readonly partial: Map<string, Rule[]>;
  readonly regex: (readonly [Rule, RegexTable])[];
}

interface Searched extends Shelf {
  readonly automaton: Automaton;
  /** Behind each word of the automaton. */
  readonly partialRules: readonly (readonly Rule[])[];
}

/** Builds an index, yielding between slices of the work. */
export function* buildIndex(
  rules: readonly Rule[],
  regexes: Regexes,
): Generator<undefined, RuleIndex, undefined> {
  const shelves: Record<MappingType, Shelf> = { uid: newShelf(), text: newShelf(), data: newShelf() };
  let work = 0;
  for (const rule of rules.toSorted((a, b) => a.rank - b.rank)) {
    put(rule, shelves[rule.type], regexes);
    // An expression that is not ready yet takes some milliseconds.
    if (rule.match === "regex" || ++work % rulesPerSlice === 0) yield;
  }
  const searched = {
    uid: yield* searchable(shelves.uid),
    text: yield* searchable(shelves.text),
    data: yield* searchable(shelves.data),
  };
  return {
    size: rules.length,
    find(fields, rank, isGone) {
      const best = findPlain(searched, fields, rank, isGone);
      return findRegex(searched, fields, best?.rank ?? rank, isGone) ?? best;
    },
  };
}

function newShelf(): Shelf {
  return { exact: new Map(), partial: new Map(), regex: [] };
}

function put(rule: Rule, shelf: Shelf, regexes: Regexes): void {
  if (rule.match === "regex") {
    const regex = regexes.get(rule.pattern);
    if (!isFault(regex)) shelf.regex.push([rule, regex]);
    return;
  }
  const map = shelf[rule.match];
  const alike = map.get(rule.pattern);
  if (alike === undefined) map.set(rule.pattern, [rule]);
  else alike.push(rule);
}

function* searchable(shelf: Shelf): Generator<undefined, Searched, undefined> {
  return {
    ...shelf,
    automaton: yield* buildAutomaton([...shelf.partial.keys()]),
    partialRules: [...shelf.partial.values()],
  };
}

type Shelves = Readonly<Record<MappingType, Searched>>;

function findPlain(
  shelves: Shelves,
  fields: Fields,
  rank: number,
  isGone: (rule: Rule) => boolean,
): Rule | undefined {
  let best: Rule | undefined;
  let below = rank;
  const offer = (rules: readonly Rule[]) => {
    for (const rule of rules) {
      if (rule.rank >= below) return;
      if (isGone(rule)) continue;
      best = rule;
      below = rule.rank;
      return;
    }
  };
  for (const type of mappingTypes) {
    const field = fields[type];
    if (field === "") continue;
    const { exact, partial, automaton, partialRules } = shelves[type];
    offer(exact.get(field) ?? []);
    if (partial.size > 0) automaton.search(field, (word) => offer(partialRules[word] ?? []));
  }
  return best;
}

function findRegex(
  shelves: Shelves,
  fields: Fields,
  rank: number,
  isGone: (rule: Rule) => boolean,
): Rule | undefined {
  let best: Rule | undefined;
  let below = rank;
  for (const type of mappingTypes) {
    const { regex } = shelves[type];
    if (fields[type] === "" || regex.length === 0) continue;
    const characters = fields.characters(type);
    for (const [rule, table] of regex) {
      if (rule.rank >= below) break;
      if (isGone(rule) || !matchesTable(table, characters)) continue;
      best = rule;
      below = rule.rank;
      break;
    }
  }
  return best;
}
