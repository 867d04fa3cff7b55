/**
 * Reads a regular expression just far enough to tell which plain words a text must hold to match it, so that one pass
 * over the text says which expressions are worth trying. Syntax: RE2 (github.com/google/re2/wiki/Syntax). Where it is
 * not certain it gives up: an expression without words is merely tried more often.
 */
import { foldText } from "./automaton.ts";

// Longer words find no more, and make the automaton larger.
export const wordUnitsMax = 32;
const wordsMax = 32;

/**
 * Words, folded by `foldText`, at least one of which is in every text that matches the valid pattern; undefined where
 * none can be told.
 */
export function requiredWords(pattern: string): readonly string[] | undefined {
  const cursor: Cursor = { pattern, at: 0, lost: false, foldsCase: /\(\?[a-zA-Z-]*i/.test(pattern) };
  const words = alternation(cursor);
  return cursor.lost || cursor.at < pattern.length ? undefined : words;
}

interface Cursor {
  readonly pattern: string;
  at: number;
  /** Something was read that is not understood: nothing is certain any more. */
  lost: boolean;
  readonly foldsCase: boolean;
}

type Words = readonly string[] | undefined;

function alternation(cursor: Cursor): Words {
  const branches = [concatenation(cursor)];
  while (take(cursor, "|")) branches.push(concatenation(cursor));
  const words = new Set<string>();
  for (const branch of branches) {
    if (branch === undefined) return undefined;
    for (const word of branch) words.add(word);
  }
  return words.size <= wordsMax ? [...words] : undefined;
}

function concatenation(cursor: Cursor): Words {
  let best: Words;
  let run = "";
  const endRun = () => {
    if (run !== "") best = better(best, [run.slice(0, wordUnitsMax)]);
    run = "";
  };
  while (!cursor.lost && cursor.at < cursor.pattern.length && !/[|)]/.test(here(cursor))) {
    const part = piece(cursor);
    const times = repetition(cursor);
    if (part.literal !== undefined && times !== "maybe") {
      run += part.literal;
      if (times === "more") {
        endRun();
        run = part.literal;
      }
    } else {
      endRun();
      if (times !== "maybe") best = better(best, part.words);
    }
  }
  endRun();
  return best;
}

/** The choice whose shortest word is the longer: it lets fewer texts through. */
function better(one: Words, other: Words): Words {
  if (one === undefined || other === undefined) return one ?? other;
  const shortest = (words: readonly string[]) => Math.min(...words.map((word) => word.length));
  return shortest(other) > shortest(one) ? other : one;
}

interface Piece {
  /** It matches this and nothing else (but for case). */
  readonly literal?: string;
  /** Where it occurs, one of these does. */
  readonly words?: Words;
}

function piece(cursor: Cursor): Piece {
  const char = next(cursor);
  switch (char) {
    case "(":
      return group(cursor);
    case "[":
      cursor.at = classEnd(cursor.pattern, cursor.at - 1) ?? lose(cursor);
      return {};
    case "\\":
      return escaped(cursor);
    case ".":
    case "^":
    case "$":
      return {};
    case "*":
    case "+":
    case "?":
      lose(cursor);
      return {};
    default:
      return literal(cursor, char);
  }
}

function literal(cursor: Cursor, char: string): Piece {
  const code = char.codePointAt(0) ?? 0;
  // Half a pair and U+FFFD stand for one another in the engine; of other letters, only it knows all the cases.
  const isPlain = code < 0x80 || !(cursor.foldsCase || code === 0xfffd || (code >= 0xd800 && code <= 0xdfff));
  return isPlain ? { literal: foldText(char) } : {};
}

function group(cursor: Cursor): Piece {
  if (here(cursor) === "?") {
    if (skip(cursor, /\?[imsU-]*\)/y)) {
      // Flags stand outside of the pieces: a sign of repetition behind them is of the piece before them.
      if (/[*+?{]/.test(here(cursor))) lose(cursor);
      return {};
    }
    if (!skip(cursor, /\?[imsU-]*:/y) && !skip(cursor, /\?P?<\w+>/y)) lose(cursor);
  }
  if (cursor.lost) return {};
  const words = alternation(cursor);
  if (!take(cursor, ")")) lose(cursor);
  return { words };
}

function escaped(cursor: Cursor): Piece {
  const char = next(cursor);
  if (/^[dDsSwWbBAzntrfva]$/.test(char)) return {};
  if (/^[pP]$/.test(char)) {
    if (!skip(cursor, /\{[^}]*\}/y)) next(cursor);
    return {};
  }
  if (char === "x") {
    if (!skip(cursor, /\{[^}]*\}|[0-9a-fA-F]{2}/y)) lose(cursor);
    return {};
  }
  // All punctuation of ASCII may be escaped; what else there is, such as \Q and octal, is rare.
  if (!/^[!-/:-@[-`{-~ ]$/.test(char)) {
    lose(cursor);
    return {};
  }
  return literal(cursor, char);
}

/** How often the piece before stands here: once, at least once, or maybe not at all. */
function repetition(cursor: Cursor): "once" | "more" | "maybe" {
  const form = /(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/y;
  form.lastIndex = cursor.at;
  const found = form.exec(cursor.pattern);
  if (found === null) return "once";
  cursor.at = form.lastIndex;
  const least = found[1] ?? (found[0].startsWith("+") ? "1" : "0");
  // `{01}` is plain text to RE2, and what is repeated twice is not valid.
  if (/^0\d/.test(least) || /[*+?]/.test(here(cursor))) lose(cursor);
  return Number(least) === 0 ? "maybe" : "more";
}

/** Where a class `[...]` that begins at `start` ends: the place behind its bracket; undefined where it does not end. */
export function classEnd(pattern: string, start: number): number | undefined {
  const form = /\[\^?\]?(?:\\[\s\S]|\[:[^\]]*?:\]|[^\]\\])*\]/y;
  form.lastIndex = start;
  return form.test(pattern) ? form.lastIndex : undefined;
}

function here(cursor: Cursor): string {
  return cursor.pattern[cursor.at] ?? "";
}

/** The next whole character. */
function next(cursor: Cursor): string {
  const code = cursor.pattern.codePointAt(cursor.at);
  if (code === undefined) {
    lose(cursor);
    return "";
  }
  const char = String.fromCodePoint(code);
  cursor.at += char.length;
  return char;
}

function take(cursor: Cursor, char: string): boolean {
  const isThere = here(cursor) === char;
  if (isThere) cursor.at++;
  return isThere;
}

function skip(cursor: Cursor, form: RegExp): boolean {
  form.lastIndex = cursor.at;
  const isThere = form.test(cursor.pattern);
  if (isThere) cursor.at = form.lastIndex;
  return isThere;
}

function lose(cursor: Cursor): number {
  cursor.lost = true;
  return cursor.pattern.length;
}
