/**
 * Computes all states of a pattern's deterministic automaton, by stepping the engine's lazy one (re2js, `DFA`) with each kind
 * of character. A kind is a class of characters that the pattern does not distinguish.
 */
import { regexTableEntriesMax, regexWorkMax } from "../core/limits.ts";

/** The part of the engine's `DFA` that is used here. */
export interface Engine {
  readonly prog: { readonly start: number; numInst(): number; getInst(pc: number): Instruction };
  /** The lowest code point of each class but the first, ascending. */
  readonly classBounds: Int32Array;
  readonly numClasses: number;
  stateBudget: number;
  memBudget: number;
  runeClass(code: number): number;
  makeState(pcs: readonly number[], flag: number, ids: readonly number[]): State | null;
  step(state: State, runeClass: number, code: number, anchor: number): State | null;
}

interface Instruction {
  readonly op: number;
  readonly arg: number;
  readonly runes: Int32Array;
  matchRune(code: number): boolean;
}

interface State {
  readonly nfaStates: readonly number[];
  readonly flag: number;
  readonly isMatch: boolean;
}

// From re2js: Inst.RUNE to Inst.RUNE_ANY_NOT_NL; the flags for the start of a text, `\b` and `\B`; DFA.FLAG_NEED_SHIFT; END_TEXT.
const runeOps = { first: 8, last: 11 };
const foldCase = 1;
const atTextStart = 0x01 | 0x04;
const needShift = 16;
const wordConditions = 0x10 | 0x20;
const endOfText = -1;
const unanchored = 0;

export interface Alphabet {
  /** A code point of each kind. */
  readonly samples: readonly number[];
  /** The kind of each of the engine's classes. */
  readonly kindOfClass: Uint16Array;
  /** The number of each instruction's set of characters, or -1. */
  readonly setOf: Int32Array;
  /** For each set, whether it contains the characters of a kind. */
  readonly has: readonly Uint8Array[];
  /** Other differences between kinds: word characters and the line feed. */
  readonly marks: readonly string[];
}

/** Joins the engine's classes that no set in the pattern distinguishes; undefined if that is too much work. */
export function alphabetOf({ prog, classBounds, numClasses }: Engine): Alphabet | undefined {
  const { sets, setOf } = setsOf(prog);
  if ((numClasses * (sets.length + 1)) / cheapPerStep > regexWorkMax) return undefined;
  const kindOfClass = new Uint16Array(numClasses);
  const known = new Map<string, number>();
  const samples: number[] = [];
  const marks: string[] = [];
  for (let place = 0; place < numClasses; place++) {
    const code = place === 0 ? 0 : (classBounds[place - 1] ?? 0);
    const mark = code === 0x0a ? "n" : isWord(code) ? "w" : "-";
    const signature = sets.reduce((text, set) => text + (set.matchRune(code) ? "1" : "0"), mark);
    const kind = known.get(signature) ?? samples.length;
    if (kind === samples.length) {
      known.set(signature, kind);
      samples.push(code);
      marks.push(mark);
    }
    kindOfClass[place] = kind;
  }
  const has = sets.map((set) => Uint8Array.from(samples, (code) => (set.matchRune(code) ? 1 : 0)));
  return { samples, kindOfClass, setOf, has, marks };
}

function isWord(code: number): boolean {
  return code < 0x80 && /\w/.test(String.fromCharCode(code));
}

function setsOf(prog: Engine["prog"]): { sets: readonly Instruction[]; setOf: Int32Array } {
  const sets: Instruction[] = [];
  const setOf = new Int32Array(prog.numInst()).fill(-1);
  const alike = new Map<string, number[]>();
  for (let pc = 0; pc < prog.numInst(); pc++) {
    const one = prog.getInst(pc);
    if (one.op < runeOps.first || one.op > runeOps.last) continue;
    // A class of letters has 1,300 numbers, which are compared only if these four are equal.
    const key = `${one.arg & foldCase} ${one.runes.length} ${one.runes[0]} ${one.runes.at(-1)}`;
    const numbers = alike.get(key) ?? [];
    let number = numbers.find((other) => isSame(sets[other]?.runes, one.runes));
    if (number === undefined) {
      number = sets.length;
      sets.push(one);
      alike.set(key, [...numbers, number]);
    }
    setOf[pc] = number;
  }
  return { sets, setOf };
}

function isSame(one: Int32Array | undefined, other: Int32Array): boolean {
  return one === other || one?.every((code, place) => code === other[place]) === true;
}

export interface States {
  /** For each state the next ones by kind and, last, at the end of the text; empty after a match. */
  readonly rows: readonly (readonly number[])[];
  readonly work: number;
}

/** All reachable states; the first is the start. */
export function statesOf(engine: Engine, alphabet: Alphabet): States | "entries" | "work" {
  const { samples } = alphabet;
  const first = engine.makeState([engine.prog.start], atTextStart, []);
  if (first === null) return "work";
  const states = [first];
  const numbers = new Map([[first, 0]]);
  const numberOf = (state: State): number => {
    const number = numbers.get(state) ?? states.length;
    if (number === states.length) {
      numbers.set(state, number);
      states.push(state);
    }
    return number;
  };
  const rows: number[][] = [];
  let work = engine.prog.numInst() * compileWork;
  for (let at = 0; at < states.length; at++) {
    const state = states[at] ?? first;
    const row: number[] = [];
    rows.push(row);
    if (state.isMatch) continue;
    if (states.length * (samples.length + 1) > regexTableEntriesMax) return "entries";
    const step = (code: number, runeClass: number): number => {
      const next = engine.step(state, runeClass, code, unanchored);
      work += stepWork + state.nfaStates.length + (next?.nfaStates.length ?? 0);
      return next === null ? 0 : numberOf(next);
    };
    const groups = new Map<string, number>();
    const sets = setsIn(state, alphabet);
    work += (sets.length * samples.length + engine.numClasses) / cheapPerStep;
    for (const [kind, code] of samples.entries()) {
      const group = sets.reduce((text, set) => text + alphabet.has[set]?.[kind], alphabet.marks[kind] ?? "");
      const next = groups.get(group) ?? step(code, engine.runeClass(code));
      groups.set(group, next);
      row.push(next);
    }
    row.push(step(endOfText, engine.numClasses));
    if (work > regexWorkMax) return "work";
  }
  return { rows, work: Math.ceil(work) };
}

// The cost of a step of the engine besides its instructions, and the number of comparisons that cost as much as one.
const stepWork = 4;
// The engine takes 1.3 µs to compile an instruction, and 0.13 µs to execute one.
const compileWork = 10;
const cheapPerStep = 8;

/** The sets that decide the next state: kinds that are equal in all of them have the same next state. */
function setsIn({ nfaStates, flag }: State, { setOf, has }: Alphabet): readonly number[] {
  // All sets decide if the state waits at a word condition, because further instructions may follow that. Other conditions
  // hold at the ends of a text and beside a line feed, which is a kind of its own then.
  if (((flag >>> needShift) & wordConditions) !== 0) return [...has.keys()];
  return [...new Set(nfaStates.map((pc) => setOf[pc] ?? -1))].filter((set) => set >= 0);
}
