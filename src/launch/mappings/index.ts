/**
 * Rules arranged so that a token asks few of them: exact ones by a map, partial ones by one pass of an automaton, and
 * regular expressions by the words that a text must hold for them to match. Of 10,000, a token tries a handful.
 */
import type { MappingType } from "../../core/mapping.ts";
import { type Automaton, buildAutomaton } from "./automaton.ts";
import { type Choice, shortest, wordUnitsMax } from "./literals.ts";
import { wordsOf } from "./loose.ts";
import type { Regexes } from "./regex.ts";
import { type Fields, mappingTypes, matches, type Rule } from "./rules.ts";

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
  /** By the first units of their patterns. */
  readonly partial: Map<string, Rule[]>;
  /** By each word of which one must occur. */
  readonly regex: Map<string, Rule[]>;
  /** Regular expressions not yet put behind a word, and what they require. */
  readonly worded: [Rule, readonly Choice[]][];
  /** Regular expressions without such words. */
  readonly loose: Rule[];
}

interface Searched extends Shelf {
  readonly partialWords: Words;
  readonly regexWords: Words;
}

/** An automaton, and the rules behind each of its words. */
interface Words {
  readonly automaton: Automaton;
  readonly rules: readonly (readonly Rule[])[];
}

/** Builds an index, yielding between slices of the work. */
export function* buildIndex(
  rules: readonly Rule[],
  regexes: Regexes,
): Generator<undefined, RuleIndex, undefined> {
  const shelves: Record<MappingType, Shelf> = { uid: newShelf(), text: newShelf(), data: newShelf() };
  let work = 0;
  for (const rule of rules.toSorted((a, b) => a.rank - b.rank)) {
    put(rule, shelves[rule.type]);
    // To read a long regular expression takes a millisecond.
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
      return findRegex(searched, fields, best?.rank ?? rank, isGone, regexes) ?? best;
    },
  };
}

function newShelf(): Shelf {
  return { exact: new Map(), partial: new Map(), regex: new Map(), worded: [], loose: [] };
}

function put(rule: Rule, shelf: Shelf): void {
  const { match, pattern } = rule;
  switch (match) {
    case "exact":
      append(shelf.exact, pattern, rule);
      break;
    case "partial":
      append(shelf.partial, pattern.slice(0, wordUnitsMax), rule);
      break;
    case "regex": {
      const choices = wordsOf(rule);
      if (choices.length === 0) shelf.loose.push(rule);
      else shelf.worded.push([rule, choices]);
    }
  }
}

/**
 * Puts each expression behind the choice that the fewest others require: of `/games/.*zelda`, that is not the folder
 * where all games are.
 */
function* putBehindWords(shelf: Shelf): Generator<undefined, void, undefined> {
  const uses = new Map<string, number>();
  for (const [, choices] of shelf.worded)
    for (const word of new Set(choices.flat())) uses.set(word, (uses.get(word) ?? 0) + 1);
  const commonest = (choice: Choice) => Math.max(...choice.map((word) => uses.get(word) ?? 0));
  for (const [place, [rule, choices]] of shelf.worded.entries()) {
    if (place % rulesPerSlice === 0) yield;
    const [rarest = []] = choices.toSorted(
      (a, b) => commonest(a) - commonest(b) || shortest(b) - shortest(a),
    );
    for (const word of rarest) append(shelf.regex, word, rule);
  }
  shelf.worded.length = 0;
}

function append(map: Map<string, Rule[]>, key: string, rule: Rule): void {
  const rules = map.get(key);
  if (rules === undefined) map.set(key, [rule]);
  else rules.push(rule);
}

function* searchable(shelf: Shelf): Generator<undefined, Searched, undefined> {
  yield* putBehindWords(shelf);
  return {
    ...shelf,
    partialWords: {
      automaton: yield* buildAutomaton([...shelf.partial.keys()], { folded: false }),
      rules: [...shelf.partial.values()],
    },
    regexWords: {
      automaton: yield* buildAutomaton([...shelf.regex.keys()], { folded: true }),
      rules: [...shelf.regex.values()],
    },
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
  const offer = (rules: readonly Rule[], fits: (rule: Rule) => boolean) => {
    for (const rule of rules) {
      if (rule.rank >= below) return;
      if (isGone(rule) || !fits(rule)) continue;
      best = rule;
      below = rule.rank;
      return;
    }
  };
  for (const type of mappingTypes) {
    const field = fields[type];
    if (field === "") continue;
    const { exact, partial, partialWords } = shelves[type];
    offer(exact.get(field) ?? [], () => true);
    if (partial.size === 0) continue;
    const isWhole = ({ pattern }: Rule) => pattern.length <= wordUnitsMax || field.includes(pattern);
    partialWords.automaton.search(field, (word) => offer(partialWords.rules[word] ?? [], isWhole));
  }
  return best;
}

function findRegex(
  shelves: Shelves,
  fields: Fields,
  rank: number,
  isGone: (rule: Rule) => boolean,
  regexes: Regexes,
): Rule | undefined {
  const worth: Rule[] = [];
  const offer = (rules: readonly Rule[]) => {
    for (const rule of rules) {
      if (rule.rank >= rank) return;
      if (!isGone(rule)) worth.push(rule);
    }
  };
  for (const type of mappingTypes) {
    const field = fields[type];
    if (field === "") continue;
    const { regex, regexWords, loose } = shelves[type];
    offer(loose);
    if (regex.size > 0) regexWords.automaton.search(field, (word) => offer(regexWords.rules[word] ?? []));
  }
  worth.sort((a, b) => a.rank - b.rank);
  return worth.find((rule, place) => worth[place - 1] !== rule && matches(rule, fields, regexes));
}
