/**
 * Where each statement of a TOML text stands, in UTF-16 offsets: the parser hands over values without their places.
 * It reads texts that the parser has taken already, and so checks no more than it needs to find its way (TOML 1.0,
 * and of 1.1 the line breaks in inline tables and the escapes in quoted keys).
 */

export interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

export type ValueSpan =
  | (Span & { readonly kind: "scalar" })
  | (Span & { readonly kind: "array"; readonly items: readonly Member<ValueSpan>[] })
  | (Span & { readonly kind: "table"; readonly entries: readonly Member<EntrySpan>[] });

/** A member of an array or inline table, and the comma behind it; undefined where there is none. */
export interface Member<T> {
  readonly member: T;
  readonly comma: number | undefined;
}

/** `key = value`. */
export interface EntrySpan extends Span {
  /** The key's parts as they are meant, quotes and escapes resolved. */
  readonly key: readonly string[];
  /** The first part as it is written. */
  readonly firstPart: Span;
  readonly value: ValueSpan;
}

export type Statement =
  | (Span & { readonly kind: "entry"; readonly entry: EntrySpan })
  | (Span & { readonly kind: "header"; readonly key: readonly string[]; readonly isArray: boolean });

/** The statements in their order. Throws where it loses its way, which no text does that the parser takes. */
export function spansOf(text: string): readonly Statement[] {
  const cursor = createCursor(text);
  const statements: Statement[] = [];
  for (cursor.skipBlank(); !cursor.isAtEnd(); cursor.skipBlank()) {
    const start = cursor.at();
    if (!cursor.take("[")) {
      const entry = entryAt(cursor);
      statements.push({ kind: "entry", start, end: entry.end, entry });
      continue;
    }
    const isArray = cursor.take("[");
    const { key } = keyAt(cursor);
    cursor.must("]");
    if (isArray) cursor.must("]");
    statements.push({ kind: "header", start, end: cursor.at(), key, isArray });
  }
  return statements;
}

interface Cursor {
  at(): number;
  isAtEnd(): boolean;
  /** Skips spaces and tabs. */
  skipSpace(): void;
  /** Skips white space, line ends and comments. */
  skipBlank(): void;
  /** Steps over `word` where it comes next. */
  take(word: string): boolean;
  must(word: string): void;
  /** Steps over a string of any of the four kinds, and returns it as written; undefined where none comes next. */
  takeString(): string | undefined;
  /** Steps over the characters for which `belongs` holds, and returns them. */
  takeWhile(belongs: (char: string) => boolean): string;
}

// Loops instead of patterns: a pattern that repeats a group runs out of memory on a long file, and then says "no match".
function createCursor(text: string): Cursor {
  let place = 0;
  const take = (word: string): boolean => {
    if (!text.startsWith(word, place)) return false;
    place += word.length;
    return true;
  };
  const takeWhile = (belongs: (char: string) => boolean): string => {
    const start = place;
    while (place < text.length && belongs(text.charAt(place))) place++;
    return text.slice(start, place);
  };
  const stepTo = (found: number) => {
    place = found < 0 ? text.length : found;
  };
  return {
    at: () => place,
    isAtEnd: () => place >= text.length,
    skipSpace: () => void takeWhile(isSpace),
    skipBlank() {
      takeWhile(isBlank);
      while (text[place] === "#") {
        stepTo(text.indexOf("\n", place));
        takeWhile(isBlank);
      }
    },
    take,
    must(word) {
      if (!take(word)) throw new Error(`no ${word} at ${place}`);
    },
    takeString() {
      const start = place;
      const mark = ['"""', "'''", '"', "'"].find(take);
      if (mark === undefined) return undefined;
      while (!take(mark)) {
        if (place >= text.length) throw new Error(`no end of the string at ${start}`);
        place += text[place] === "\\" && mark.startsWith('"') ? 2 : 1;
      }
      // Up to two quotes may stand right before the three that close (TOML 1.0, String).
      if (mark.length === 3) for (let more = 0; more < 2 && take(mark.charAt(0)); more++);
      return text.slice(start, place);
    },
    takeWhile,
  };
}

const isSpace = (char: string) => char === " " || char === "\t";
const isBlank = (char: string) => isSpace(char) || char === "\r" || char === "\n" || char === "\ufeff";
const isBareKey = (char: string) => /[A-Za-z0-9_-]/.test(char);
/** Numbers, dates with a space in them, true and false. */
const isBareValue = (char: string) => !",]}#\r\n".includes(char);

function entryAt(cursor: Cursor): EntrySpan {
  const start = cursor.at();
  const { key, firstPart } = keyAt(cursor);
  cursor.must("=");
  cursor.skipSpace();
  const value = valueAt(cursor);
  return { start, end: value.end, key, firstPart, value };
}

/** A dotted key and the space around it. */
function keyAt(cursor: Cursor): { readonly key: readonly string[]; readonly firstPart: Span } {
  const key: string[] = [];
  cursor.skipSpace();
  const start = cursor.at();
  let end = start;
  do {
    cursor.skipSpace();
    key.push(keyPartAt(cursor));
    if (key.length === 1) end = cursor.at();
    cursor.skipSpace();
  } while (cursor.take("."));
  return { key, firstPart: { start, end } };
}

function keyPartAt(cursor: Cursor): string {
  const bare = cursor.takeWhile(isBareKey);
  if (bare !== "") return bare;
  const written = cursor.takeString();
  if (written === undefined) throw new Error(`no key at ${cursor.at()}`);
  return written.startsWith("'") ? written.slice(1, -1) : unescaped(written.slice(1, -1));
}

function valueAt(cursor: Cursor): ValueSpan {
  const start = cursor.at();
  if (cursor.take("[")) {
    const items = membersUntil(cursor, "]", valueAt);
    return { kind: "array", start, end: cursor.at(), items };
  }
  if (cursor.take("{")) {
    const entries = membersUntil(cursor, "}", entryAt);
    return { kind: "table", start, end: cursor.at(), entries };
  }
  if (cursor.takeString() !== undefined) return { kind: "scalar", start, end: cursor.at() };
  const { length } = cursor.takeWhile(isBareValue).trimEnd();
  if (length === 0) throw new Error(`no value at ${start}`);
  return { kind: "scalar", start, end: start + length };
}

function membersUntil<T>(
  cursor: Cursor,
  close: string,
  memberAt: (cursor: Cursor) => T,
): readonly Member<T>[] {
  const members: Member<T>[] = [];
  for (cursor.skipBlank(); !cursor.take(close); cursor.skipBlank()) {
    const member = memberAt(cursor);
    cursor.skipBlank();
    const comma = cursor.at();
    if (cursor.take(",")) members.push({ member, comma });
    else members.push({ member, comma: undefined });
  }
  return members;
}

const escapes: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\x1b" };

function unescaped(text: string): string {
  return text.replace(
    /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))/g,
    (_whole, short?: string, long?: string, byte?: string, letter?: string) => {
      const hex = short ?? long ?? byte;
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      return escapes[letter ?? ""] ?? letter ?? "";
    },
  );
}
