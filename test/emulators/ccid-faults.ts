import { seededRandom } from "./emulated-line.ts";
/** Faults between an emulated CCID reader and its host. All are off at first, and tests switch them on one by one. */

/** The step that revives a hung reader: a recovery step of the driver, or a re-plugging. */
export type Cure = "abort" | "power" | "reset" | "replug";

export interface CcidFaults {
  /** Stops all answers from now on, until this step or a stronger one. */
  hang(cure: Cure): void;
  /** The next transfer on this pipe is answered by a halt, which lasts until it is cleared. */
  stall(pipe: "bulk-in" | "bulk-out" | "interrupt-in"): void;
  /** The next `count` answers never arrive. */
  loseAnswers(count: number): void;
  /** The next `count` answers arrive twice. */
  doubleAnswers(count: number): void;
  /** In the next answer one bit of the byte at this offset is flipped. */
  alterAnswer(offset: number): void;
  /** Delays every answer by this many milliseconds. */
  delayAnswers(ms: number): void;
  /** A request for more time precedes each of the next `count` answers. */
  askForTime(count: number): void;
  /**
   * Sends a transfer of random bytes before about `rate` (0..1) of the answers. The same seed gives the same bytes. A
   * rate of 0 ends the noise.
   */
  noise(seed: number, rate: number): void;
}

/** The faults, as the pipes of the emulated reader ask for them. */
export interface FaultyPipes {
  readonly cure: Cure | undefined;
  readonly delayMs: number;
  cured(): void;
  isHalted(pipe: "bulk-in" | "bulk-out" | "interrupt-in"): boolean;
  clearHalt(pipe: "bulk-in" | "bulk-out" | "interrupt-in"): void;
  /** True while another request for more time is due. */
  takeTime(): boolean;
  /** The part of an answer that arrives. Each of its messages has transfers of its own. */
  spoil(answer: Uint8Array): readonly Uint8Array[];
}

const noiseBytesMax = 80; // This number of bytes is more than a packet holds.

export function createCcidFaults(): CcidFaults & FaultyPipes {
  const halted = new Set<string>();
  let random: () => number = () => 1;
  let [noiseRate, lose, double, times, delayMs] = [0, 0, 0, 0, 0];
  let alter: number | undefined;
  let cure: Cure | undefined;

  const noiseBefore = (): readonly Uint8Array[] => {
    if (noiseRate === 0 || random() >= noiseRate) return [];
    const count = 1 + Math.floor(random() * noiseBytesMax);
    return [Uint8Array.from({ length: count }, () => Math.floor(random() * 256))];
  };
  return {
    hang: (by) => {
      cure = by;
    },
    stall: (pipe) => halted.add(pipe),
    loseAnswers: (count) => {
      lose = count;
    },
    doubleAnswers: (count) => {
      double = count;
    },
    alterAnswer: (offset) => {
      alter = offset;
    },
    delayAnswers: (ms) => {
      delayMs = ms;
    },
    askForTime: (count) => {
      times = count;
    },
    noise(seed, rate) {
      random = seededRandom(seed);
      noiseRate = rate;
    },
    get cure() {
      return cure;
    },
    get delayMs() {
      return delayMs;
    },
    cured() {
      cure = undefined;
    },
    isHalted: (pipe) => halted.has(pipe),
    clearHalt: (pipe) => halted.delete(pipe),
    takeTime() {
      times -= 1;
      return times >= 0;
    },
    spoil(answer) {
      if (lose > 0) {
        lose -= 1;
        return [];
      }
      const arrives = answer.slice();
      if (alter !== undefined) arrives[alter] = (arrives[alter] ?? 0) ^ 0x40;
      alter = undefined;
      const twice = double > 0;
      double = Math.max(0, double - 1);
      return [...noiseBefore(), arrives, ...(twice ? [arrives] : [])];
    },
  };
}
