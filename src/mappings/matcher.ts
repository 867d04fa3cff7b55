/**
 * Finds the rule for a token, while rules change. Up to 64 changes are compared one by one, beside the index. With more, a new
 * index is built in slices between other work, and then replaces the old one.
 */
import type { Clock } from "../core/clock.ts";
import type { TokenParams } from "../core/token.ts";
import { buildRuleIndex, emptyIndex, fieldsOf, matches, type Rule } from "./mapping-index.ts";
import { createRegexes } from "./regex.ts";

export type Matcher = ReturnType<typeof createMatcher>;

const atOnceMax = 64;
// The longest wait of a tap: a tenth of its limit.
const sliceMs = 2;
// Gathers changes that come in a row into one index.
const gatherMs = 100;

export function createMatcher(rules: readonly Rule[], clock: Clock, regexes = createRegexes()) {
  const present = new Set(rules);
  let index = emptyIndex;
  // Rules of the index that were removed.
  let gone = new Set<Rule>();
  // Rules that are not in the index, in the order of rank.
  let recent: readonly Rule[] = [];
  let timer: Disposable | undefined;
  const waiting: (() => void)[] = [];

  const take = (rulesIn: readonly Rule[], built: typeof index) => {
    index = built;
    const indexed = new Set(rulesIn);
    gone = new Set(rulesIn.filter((rule) => !present.has(rule)));
    recent = [...present].filter((rule) => !indexed.has(rule)).sort(byRank);
    timer = undefined;
    if (gone.size + recent.length > atOnceMax) build(gatherMs);
    else for (const tell of waiting.splice(0)) tell();
  };
  const build = (delayMs: number) => {
    timer?.[Symbol.dispose]();
    timer = clock.after(delayMs, () => {
      const rulesIn = [...present];
      timer = inSlices(buildRuleIndex(rulesIn, regexes), clock, (built) => take(rulesIn, built));
    });
  };
  if (present.size > 0) build(0);

  return {
    /** The rule of the lowest rank that matches, without some. */
    find(token: TokenParams, skipped: ReadonlySet<Rule> = new Set()): Rule | undefined {
      const fields = fieldsOf(token);
      const late = recent.find((rule) => !skipped.has(rule) && matches(rule, fields, regexes));
      const isGone = (rule: Rule) => gone.has(rule) || skipped.has(rule);
      return index.find(fields, late?.rank ?? Number.POSITIVE_INFINITY, isGone) ?? late;
    },
    /** Removes and adds rules, all at the same moment: up to 64 at once, and more as soon as they are indexed. */
    change(goneNow: readonly Rule[], fresh: readonly Rule[]): void {
      for (const rule of goneNow) present.delete(rule);
      for (const rule of fresh) present.add(rule);
      if (goneNow.length + fresh.length > atOnceMax) {
        build(0);
        return;
      }
      for (const rule of goneNow) gone.add(rule);
      const leaving = new Set(goneNow);
      recent = [...recent.filter((rule) => !leaving.has(rule)), ...fresh].sort(byRank);
      if (timer === undefined && gone.size + recent.length > atOnceMax) build(gatherMs);
    },
    /** Resolves when every change is applied and no index is being built. */
    settled: () =>
      timer === undefined ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve)),
    close() {
      timer?.[Symbol.dispose]();
      timer = undefined;
      for (const tell of waiting.splice(0)) tell();
    },
  };
}

/** Does the work in slices, with other tasks between them. The first slice begins after the return. */
function inSlices<T>(
  work: Generator<undefined, T, undefined>,
  clock: Clock,
  done: (result: T) => void,
): Disposable {
  const slice = () => {
    const endMs = performance.now() + sliceMs;
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return done(step.value);
      if (performance.now() > endMs) break;
    }
    timer = clock.after(0, slice);
  };
  let timer = clock.after(0, slice);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

function byRank(a: Rule, b: Rule): number {
  return a.rank - b.rank;
}
