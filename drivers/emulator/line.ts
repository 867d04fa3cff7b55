/**
 * The chip's end of a serial line: ten bits a byte at the current rate in both directions, one thing after another,
 * and what a bad line does to bytes.
 */
export interface LineFaults {
  /** Random bytes before each run of bytes that leaves, from this seeded source. */
  noise?: (() => Uint8Array) | undefined;
  /** Bytes that will be lost, of what leaves next. */
  loseBytes?: number | undefined;
  /** Answers whose next byte arrives altered. */
  corrupt?: number | undefined;
  /** How each run of bytes is cut into several reads; whole where absent. */
  split?: ((bytes: Uint8Array) => readonly Uint8Array[]) | undefined;
  /** More milliseconds before each answer. */
  delayMs?: number | undefined;
  /** Holds bytes back until so many have gathered: reads that hold several frames. */
  mergeBytes?: number | undefined;
}

export interface LineOptions {
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Baud; Infinity for a line that costs nothing. */
  readonly baudRate: () => number;
  readonly faults: LineFaults;
  readonly precise: boolean;
}

export interface Line {
  /** The host's bytes that have just come: they took their time too. */
  received(bytes: number): void;
  /** Sends `bytes` once `afterMs` have passed and the line is free; `sent` is called when the last one has left. */
  send(bytes: Uint8Array, afterMs: number, sent?: () => void): void;
  /** Forgets what has not left yet. */
  cancel(): void;
}

// Timers fire up to a millisecond late; whoever wants better spins for that long.
const timerSlackMs = 1.5;
const mergeWaitMs = 5;

export function createLine({ write, baudRate, faults, precise }: LineOptions): Line {
  let freeAtMs = 0;
  let generation = 0;
  let held: Uint8Array = new Uint8Array();

  const lineMs = (bytes: number) => (bytes * 10_000) / baudRate();
  const put = async (bytes: Uint8Array) => {
    // A line that was unplugged meanwhile takes nothing.
    for (const piece of faults.split?.(bytes) ?? [bytes]) {
      await write(piece).catch(() => {});
      if (faults.split !== undefined) await Bun.sleep(0);
    }
  };
  const release = async (bytes: Uint8Array) => {
    held = Uint8Array.of(...held, ...bytes);
    if (held.length >= (faults.mergeBytes ?? 0)) {
      const all = held;
      held = new Uint8Array();
      return put(all);
    }
    // What would never become enough leaves a little later.
    setTimeout(() => {
      const all = held;
      held = new Uint8Array();
      if (all.length > 0) void put(all);
    }, mergeWaitMs);
  };
  const at = (dueMs: number, run: () => void) => {
    const born = generation;
    const attempt = () => {
      if (born !== generation) return;
      const leftMs = dueMs - performance.now();
      if (leftMs <= 0) return run();
      if (precise && leftMs < timerSlackMs) setImmediate(attempt);
      else setTimeout(attempt, precise ? leftMs - timerSlackMs : Math.ceil(leftMs));
    };
    attempt();
  };

  return {
    received(bytes) {
      freeAtMs = Math.max(freeAtMs, performance.now()) + lineMs(bytes);
    },
    send(bytes, afterMs, sent) {
      const spoiled = spoil(bytes, faults);
      const startMs =
        Math.max(freeAtMs, performance.now()) + afterMs + (sent === undefined ? 0 : (faults.delayMs ?? 0));
      freeAtMs = startMs + lineMs(spoiled.length);
      at(freeAtMs, () => {
        const done = faults.mergeBytes === undefined ? put(spoiled) : release(spoiled);
        if (sent !== undefined) sent();
        void done;
      });
    },
    cancel() {
      generation += 1;
      freeAtMs = 0;
    },
  };
}

function spoil(bytes: Uint8Array, faults: LineFaults): Uint8Array {
  const lost = Math.min(faults.loseBytes ?? 0, bytes.length);
  if (lost > 0) faults.loseBytes = (faults.loseBytes ?? 0) - lost;
  const kept = bytes.slice(lost);
  if ((faults.corrupt ?? 0) > 0 && kept.length > 7) {
    faults.corrupt = (faults.corrupt ?? 0) - 1;
    kept[kept.length - 3] = (kept[kept.length - 3] ?? 0) ^ 0x40;
  }
  return faults.noise === undefined ? kept : Uint8Array.of(...faults.noise(), ...kept);
}
