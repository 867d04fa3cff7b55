/**
 * Reads a regular expression just far enough to tell which plain words a text must hold to match it, so that one pass
 * over the text says which expressions are worth trying. Syntax: RE2 (github.com/google/re2/wiki/Syntax). Where it is
 * not certain it gives up: an expression without words is merely tried more often.
 */
import { foldText } from "./automaton.ts";

// The automaton has a node for each unit, but what many words begin with it has once: long enough to tell apart the
// files of one folder.
export const wordUnitsMax = 96;
const wordsMax = 32;

const choicesMax = 8;

/** Words, folded by `foldText`, of which at least one must occur. */
export type Choice = readonly string[];

/** What every text that matches the valid pattern holds: a word of each choice. Empty where nothing can be told. */
export function requiredWords(pattern: string): readonly Choice[] {
  const cursor: Cursor = { pattern, at: 0, lost: false, foldsCase: /\(\?[a-zA-Z-]*i/.test(pattern) };
  const choices = alternation(cursor);
  return cursor.lost || cursor.at < pattern.length ? [] : choices;
}

interface Cursor {
  readonly pattern: string;
  at: number;
  /** Something was read that is not understood: nothing is certain any more. */
  lost: boolean;
  readonly foldsCase: boolean;
}

function alternation(cursor: Cursor): readonly Choice[] {
  const first = concatenation(cursor);
  const branches = [first];
  while (take(cursor, "|")) branches.push(concatenation(cursor));
  if (branches.length === 1) return first;
  const words = new Set<string>();
  for (const branch of branches) {
    const best = branch.toSorted((a, b) => shortest(b) - shortest(a))[0];
    if (best === undefined) return [];
    for (const word of best) words.add(word);
  }
  return words.size <= wordsMax ? [[...words]] : [];
}

/** The longer the shortest word of a choice, the fewer texts it lets through. */
export function shortest(choice: Choice): number {
  return Math.min(...choice.map((word) => word.length));
}

function concatenation(cursor: Cursor): readonly Choice[] {
  const choices: Choice[] = [];
  let run = "";
  const endRun = () => {
    if (run !== "") choices.push([run.slice(0, wordUnitsMax)]);
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
      if (times !== "maybe") choices.push(...(part.choices ?? []));
    }
  }
  endRun();
  if (choices.length <= choicesMax) return choices;
  return choices.sort((a, b) => shortest(b) - shortest(a)).slice(0, choicesMax);
}

interface Piece {
  /** It matches this and nothing else (but for case). */
  readonly literal?: string;
  /** Where it occurs, a word of each of these does. */
  readonly choices?: readonly Choice[];
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
  const choices = alternation(cursor);
  if (!take(cursor, ")")) lose(cursor);
  return { choices };
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
