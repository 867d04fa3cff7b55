/**
 * The macros of `input.keyboard` and `input.gamepad`: text to steps, or a sentence. Reading takes linear time, never throws,
 * and limits the number of keys and the duration.
 *
 *   x                       a character as it stands; \x too, without any meaning
 *   {name} {name+name} {x}  keys by name, together; {down*3} three times
 *   {"text"} {text:text}    characters without any meaning, and with *3 three times
 *   {delay:500}             a wait, in milliseconds or as 1s, 250ms (`durationMs`)
 *   {press:k} {_k}          a key, or several with +, that stay down
 *   {release:k} {^k}        and go up again; at the end, all do
 *   {hold:k:1s} {~k:1s}     keys that are held so long
 */
import { assert } from "../core/errors.ts";
import { macroKeysMax, macroMsMax } from "../core/limits.ts";
import type { InputStep } from "../core/operating-system.ts";
import { didYouMean } from "../core/text.ts";
import { type InputTable, keyboard } from "./input-keys.ts";

type InputMacro =
  | { readonly kind: "macro"; readonly steps: readonly InputStep[] }
  | { readonly kind: "error"; readonly message: string };

// A press takes two frames at 50 Hz, because most programs poll their keys once a frame.
const pressMs = 40;
/** The default time from one press to the next. */
export const defaultSpeedMs = 100;

/** Reads a macro; `speedMs` is the time from one press to the next. */
export function readMacro(text: string, table: InputTable, speedMs = defaultSpeedMs): InputMacro {
  const playing: Playing = { table, speedMs, steps: [], held: [], keys: 0, ms: 0 };
  let fault: string | undefined;
  for (let at = 0; at < text.length && fault === undefined; ) {
    const end = text[at] === "{" ? braceEnd(text, at) : undefined;
    if (text[at] === "{" && end === undefined) fault = 'a "{" has no end: close it with }, or write \\{';
    else if (end !== undefined) {
      fault = playBraces(playing, text.slice(at + 1, end - 1));
      at = end;
    } else {
      const isEscaped = text[at] === "\\" && at + 1 < text.length;
      const char = String.fromCodePoint(text.codePointAt(at + (isEscaped ? 1 : 0)) ?? 0);
      fault = playText(playing, [char]);
      at += char.length + (isEscaped ? 1 : 0);
    }
  }
  if (fault !== undefined) return { kind: "error", message: fault };
  if (playing.steps.length === 0) return { kind: "error", message: "there is nothing to press" };
  turn(playing, "up", playing.held.toReversed());
  return { kind: "macro", steps: playing.steps };
}

/** A macro that types the text, without special characters. */
export function typed(text: string): string {
  return text.replace(/[\\{]/g, "\\$&");
}

/** The steps that press the keys together, `times` times: at most `macroKeysMax` keys, and within `macroMsMax`. */
export function pressedTimes(codes: readonly number[], times: number): readonly InputStep[] {
  const playing: Playing = { table: keyboard, speedMs: defaultSpeedMs, steps: [], held: [], keys: 0, ms: 0 };
  const fault = repeat(times, () => playKeys(playing, codes));
  assert(fault === undefined, "the number of presses is within the limits");
  return playing.steps;
}

/**
 * The place after the `}` that closes the brace at `at`; undefined if none does. An escaped `}`, or one in a quoted
 * text, closes nothing.
 */
export function braceEnd(text: string, at: number): number | undefined {
  let quoted = false;
  for (let end = at + 1; end < text.length; end++) {
    const char = text[end];
    if (char === "\\") end++;
    else if (char === '"' && (quoted || end === at + 1)) quoted = !quoted;
    else if (char === "}" && !quoted) return end + 1;
  }
  return undefined;
}

interface Playing {
  readonly table: InputTable;
  readonly speedMs: number;
  readonly steps: InputStep[];
  /** Keys that are held down, in the order of their presses. */
  held: number[];
  keys: number;
  ms: number;
}

type Fault = string | undefined;

const verbs: readonly (readonly [
  form: RegExp,
  play: (playing: Playing, key: string, time: string) => Fault,
])[] = [
  [/^delay:(.*)$/s, (playing, time) => wait(playing, time)],
  [/^(?:press:|_)(.+)$/s, playPress],
  [/^(?:release:|\^)(.+)$/s, playRelease],
  [/^(?:hold:|~)(.+):([^:]*)$/s, playHold],
];

function playBraces(playing: Playing, content: string): Fault {
  // {^*3} presses ^ three times; it releases nothing.
  const isOneChar = /^.(?:\*\d{1,5})?$/su.test(content);
  for (const [form, play] of isOneChar ? [] : verbs) {
    const [, first, second = ""] = form.exec(content) ?? [];
    if (first !== undefined) return play(playing, first, second);
  }
  const [, inner = content, times = "1"] = /^(.+)\*(\d{1,5})$/s.exec(content) ?? [];
  const literal = /^(?:"(.*)"|text:(.*))$/s.exec(inner);
  if (literal !== null)
    return repeat(Number(times), () => playText(playing, charsOf(literal[1] ?? literal[2] ?? "")));
  const chord = chordOf(inner, playing.table);
  if (typeof chord === "string") return chord;
  return repeat(Number(times), () => playKeys(playing, chord));
}

function repeat(times: number, play: () => Fault): Fault {
  if (times > macroKeysMax) return tooMany;
  for (let time = 0; time < times; time++) {
    const fault = play();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The characters without their escaping backslashes. */
function charsOf(text: string): readonly string[] {
  return [...text.replace(/\\(.)/gsu, "$1")];
}

function playText(playing: Playing, chars: readonly string[]): Fault {
  for (const char of chars) {
    const codes = playing.table.chars.get(char);
    const fault = codes === undefined ? unknownChar(char, playing.table) : playKeys(playing, codes);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function playKeys(playing: Playing, codes: readonly number[]): Fault {
  return playFor(playing, codes, pressMs) ?? pause(playing, Math.max(0, playing.speedMs - pressMs));
}

function playHold(playing: Playing, key: string, time: string): Fault {
  const chord = chordOf(key, playing.table);
  if (typeof chord === "string") return chord;
  const ms = durationMs(time);
  return ms === undefined ? noTime(time) : (playFor(playing, chord, ms) ?? pause(playing, pressMs));
}

/** A key that is already held down stays down. */
function playFor(playing: Playing, codes: readonly number[], ms: number): Fault {
  const mine = codes.filter((code) => !playing.held.includes(code));
  turn(playing, "down", mine);
  const fault = pause(playing, ms);
  turn(playing, "up", mine.toReversed());
  playing.keys += 1;
  return fault ?? (playing.keys > macroKeysMax ? tooMany : undefined);
}

function playPress(playing: Playing, key: string): Fault {
  const chord = chordOf(key, playing.table);
  if (typeof chord === "string") return chord;
  const mine = chord.filter((code) => !playing.held.includes(code));
  turn(playing, "down", mine);
  playing.held.push(...mine);
  playing.keys += 1;
  return playing.keys > macroKeysMax ? tooMany : pause(playing, pressMs);
}

function playRelease(playing: Playing, key: string): Fault {
  const chord = chordOf(key, playing.table);
  if (typeof chord === "string") return chord;
  if (!chord.every((code) => playing.held.includes(code)))
    return `{release:${key.slice(0, 32)}} releases a key that is not held: write {press:${key.slice(0, 32)}} before it`;
  turn(playing, "up", chord.toReversed());
  playing.held = playing.held.filter((code) => !chord.includes(code));
  return pause(playing, pressMs);
}

function turn({ steps }: Playing, kind: "down" | "up", codes: readonly number[]): void {
  if (codes.length > 0) steps.push({ kind, codes });
}

function wait(playing: Playing, time: string): Fault {
  const ms = durationMs(time);
  return ms === undefined ? noTime(time) : pause(playing, ms);
}

function pause(playing: Playing, ms: number): Fault {
  playing.ms += ms;
  if (ms > 0) playing.steps.push({ kind: "wait", ms });
  return playing.ms > macroMsMax ? `it takes longer than ${macroMsMax / 1000} seconds` : undefined;
}

/** The codes of a chord such as `ctrl+c`, `shift+esc` or `a`; a sentence if there is no such key. */
function chordOf(text: string, table: InputTable): readonly number[] | string {
  const names = [...text.matchAll(/\\?(.[^+]*)(?:\+|$)/gsu)].map(([, name = ""]) => name);
  const codes = new Set<number>();
  for (const name of names) {
    // Ctrl+C means ctrl+c; a capital on its own includes Shift.
    const meant = names.length > 1 && /^[A-Z]$/.test(name) ? name.toLowerCase() : name;
    const found = table.chars.get(meant) ?? table.names.get(meant.trim().toLowerCase());
    if (found === undefined) return unknownKey(name, table);
    for (const code of found) codes.add(code);
  }
  return codes.size === 0
    ? "there is nothing between { and }: for plain braces write \\{ and \\}"
    : [...codes];
}

const tooMany = `it presses more than ${macroKeysMax} keys`;

function unknownChar(char: string, { chars, names }: InputTable): string {
  if (chars.has("1")) return `a US keyboard has no key for ${JSON.stringify(char)}`;
  return `a gamepad has no ${JSON.stringify(char)}: it has ${[...chars.keys()].join(" ")} and, in braces, ${[...names.keys()].join(" ")}`;
}

function unknownKey(name: string, { names }: InputTable): string {
  const known = [...names.keys()];
  const help =
    didYouMean(name.toLowerCase(), known) ||
    `: there are ${known.join(" ")}; for plain braces write \\{ and \\}`;
  return `there is no {${name.slice(0, 32)}}${help}`;
}

function noTime(time: string): string {
  return `a time is milliseconds, or such as 1s or 250ms, not "${time.slice(0, 32)}"`;
}

/** Milliseconds of `1500`, `1m30s`, `250ms` (`h`, `m`, `s`, `ms`, in this order); undefined for any other text. */
export function durationMs(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const parts = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/i.exec(text);
  if (text === "" || parts === null) return undefined;
  const [hours = 0, minutes = 0, seconds = 0, rest = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + rest;
}
