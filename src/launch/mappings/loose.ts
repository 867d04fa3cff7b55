/**
 * Regular expressions that hold no plain word, which every tap tries: whether one is such is worked out once for each rule and
 * each mapping, for of 10,000 long ones it takes seconds.
 */
import type { MappingParams } from "../../core/mapping.ts";
import { type Choice, requiredWords } from "./literals.ts";

type Pattern = Pick<MappingParams, "match" | "pattern">;

const known = new WeakMap<Pattern, boolean>();

/** Never true of a pattern that is no regular expression. */
export function isLoose(one: Pattern): boolean {
  if (one.match !== "regex") return false;
  return known.get(one) ?? wordsOf(one).length === 0;
}

/** The words that the regular expression requires; none where it is loose. */
export function wordsOf(one: Pattern): readonly Choice[] {
  const words = requiredWords(one.pattern);
  known.set(one, words.length === 0);
  return words;
}
