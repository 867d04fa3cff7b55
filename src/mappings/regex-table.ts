/**
 * A regular expression as the complete table of its deterministic automaton (DFA), so that each character costs one look-up.
 * All states of the engine's lazy automaton (re2js, `DFA`) are computed before any tap; a pattern with too many is refused.
 *
 * A loop over the engine itself is too slow. With the largest sets accepted, its lazy states take the first tap 110 ms or
 * more, and later taps up to 41 ms. The tables take 16 ms at most. A tap may take 20 ms.
 *
 *   state    a row of `width` entries, named by the place of its first entry; 0: no match is possible, `width`: matched
 *   entry    the next state, by the character's kind; the last entry is for the end of the text
 *   kind     of a character: kinds[pages[character >> 8] + (character & 255)]; characters that the pattern does not
 *            distinguish have one kind, and all characters from the last page on have the kind of that page
 */
import type { RE2JS } from "re2js";
import { type Alphabet, alphabetOf, type Engine, type States, statesOf } from "./regex-states.ts";

export interface RegexTable {
  readonly width: number;
  readonly start: number;
  readonly next: Uint16Array;
  readonly kinds: Uint8Array;
  readonly pages: Uint16Array;
  /** The number of characters after which the result is certain; infinite with a loop. */
  readonly readsMax: number;
  readonly bytes: number;
  /** The number of instructions to compute it. */
  readonly work: number;
}

/** The beginning of a text, as code points. */
export interface Characters {
  readonly codes: Int32Array;
  /** False if the text was cut, so that `$` does not match after the last character. */
  readonly isWhole: boolean;
}

/** At most `most` characters of a text; half a surrogate pair is a character of its own, as in the engine. */
export function charactersOf(text: string, most: number): Characters {
  const codes = new Int32Array(Math.min(text.length, most));
  let count = 0;
  let at = 0;
  for (; at < text.length && count < most; count++) {
    const code = text.codePointAt(at) ?? 0;
    codes[count] = code;
    at += code > 0xffff ? 2 : 1;
  }
  return { codes: codes.subarray(0, count), isWhole: at >= text.length };
}

/** Whether the expression matches any part of the text. */
export function matchesTable(table: RegexTable, { codes, isWhole }: Characters): boolean {
  const { width, next, kinds, pages } = table;
  const lastPage = pages.length - 1;
  let state = table.start;
  for (let at = 0; at < codes.length && state > width; at++) {
    const code = codes[at] ?? 0;
    const page = code >> 8;
    const kind = kinds[(pages[page < lastPage ? page : lastPage] ?? 0) + (code & 0xff)] ?? 0;
    state = next[state + kind] ?? 0;
  }
  if (state > width && isWhole) state = next[state + width - 1] ?? 0;
  return state === width;
}

/** The table of an expression, or the limit that it exceeds. */
export function regexTableOf(regex: RE2JS): RegexTable | "entries" | "work" {
  const engine: Engine = regex.re2().dfa;
  engine.stateBudget = Number.MAX_SAFE_INTEGER;
  engine.memBudget = Number.MAX_SAFE_INTEGER;
  const alphabet = alphabetOf(engine);
  if (alphabet === undefined) return "work";
  const width = alphabet.samples.length + 1;
  if (width > kindsMax) return "entries";
  const states = statesOf(engine, alphabet);
  return typeof states === "string" ? states : packed(states, width, pagesOf(engine, alphabet));
}

// A kind is a byte; the end of the text has none.
const kindsMax = 256;

function pagesOf({ classBounds }: Engine, { kindOfClass }: Alphabet) {
  const bounds = classBounds.filter((bound) => bound <= 0x10ffff);
  const lastPage = ((bounds.at(-1) ?? 0) >> 8) + 1;
  const pages = new Uint16Array(lastPage + 1);
  const kinds: number[] = [];
  const uniform = new Map<number, number>();
  let place = 0;
  for (let page = 0; page <= lastPage; page++) {
    const end = (page + 1) << 8;
    while ((bounds[place] ?? end) <= page << 8) place++;
    const kind = kindOfClass[place] ?? 0;
    const isUniform = (bounds[place] ?? end) >= end;
    const known = isUniform ? uniform.get(kind) : undefined;
    pages[page] = known ?? kinds.length;
    if (known !== undefined) continue;
    if (isUniform) uniform.set(kind, kinds.length);
    for (let code = page << 8; code < end; code++) {
      while ((bounds[place] ?? end) <= code) place++;
      kinds.push(kindOfClass[place] ?? 0);
    }
  }
  return { kinds: Uint8Array.from(kinds), pages };
}

/** Merges all states without a way to a match into one, and all states after a match into another. */
function packed(
  { rows, work }: States,
  width: number,
  { kinds, pages }: ReturnType<typeof pagesOf>,
): RegexTable {
  const live = liveOf(rows);
  const places = new Int32Array(rows.length);
  let count = 2;
  for (const [state, row] of rows.entries())
    if (row.length === 0) places[state] = width;
    else if (live[state] === 1) places[state] = width * count++;
  const next = new Uint16Array(width * count);
  next.fill(width, width, 2 * width);
  for (const [state, row] of rows.entries()) {
    const place = places[state] ?? 0;
    if (place <= width) continue;
    for (const [kind, to] of row.entries()) next[place + kind] = places[to] ?? 0;
  }
  const bytes = next.byteLength + kinds.byteLength + pages.byteLength;
  return { width, start: places[0] ?? 0, next, kinds, pages, readsMax: readsOf(next, width), bytes, work };
}

/** 1 for each state with a way to a match. */
function liveOf(rows: States["rows"]): Uint8Array {
  const from: number[][] = rows.map(() => []);
  for (const [state, row] of rows.entries()) for (const to of new Set(row)) from[to]?.push(state);
  const live = Uint8Array.from(rows, (row) => (row.length === 0 ? 1 : 0));
  const open = [...rows.keys()].filter((state) => live[state] === 1);
  for (let state = open.pop(); state !== undefined; state = open.pop())
    for (const before of from[state] ?? []) {
      if (live[before] === 1) continue;
      live[before] = 1;
      open.push(before);
    }
  return live;
}

/** The longest path through undecided states: each round removes the states without a way to others. */
function readsOf(next: Uint16Array, width: number): number {
  const states = next.length / width;
  const from: number[][] = Array.from({ length: states }, () => []);
  const ways = new Int32Array(states);
  for (let state = 2; state < states; state++) {
    const row = next.subarray(state * width, (state + 1) * width - 1);
    for (const place of new Set(row)) {
      if (place <= width) continue;
      from[place / width]?.push(state);
      ways[state] = (ways[state] ?? 0) + 1;
    }
  }
  let left = states - 2;
  let reads = 0;
  let open = [...ways.keys()].filter((state) => state >= 2 && ways[state] === 0);
  for (; open.length > 0; reads++) {
    const before: number[] = [];
    left -= open.length;
    for (const state of open)
      for (const one of from[state] ?? []) {
        ways[one] = (ways[one] ?? 0) - 1;
        if (ways[one] === 0) before.push(one);
      }
    open = before;
  }
  return left === 0 ? reads : Number.POSITIVE_INFINITY;
}
