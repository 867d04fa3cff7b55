/**
 * Sound feedback: short sounds of ours, played by whichever program of the system can. What is asked for is never waited
 * for: a shell stands ready for the next sound, and all that a tap costs is one line into its pipe. One sound at a time; a
 * flood of taps is a few beeps. Where nothing can play, it is told once.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Subprocess } from "bun";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { soundsPerWindowMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { type Note, waveOf } from "./wave.ts";

/** From the least news to the greatest. None is longer than 400 ms. */
export const sounds = {
  scanned: [{ pitch: 1319, ms: 70 }],
  ready: [
    { pitch: 523, ms: 90 },
    { pitch: 659, ms: 90 },
    { pitch: 784, ms: 160 },
  ],
  written: [
    { pitch: 880, ms: 80 },
    { pitch: 1319, ms: 140 },
  ],
  failed: [
    { pitch: 233, ms: 120 },
    { pitch: 0, ms: 30 },
    { pitch: 175, ms: 180 },
  ],
  // A question: put the card on once more.
  guarded: [
    { pitch: 784, ms: 100 },
    { pitch: 0, ms: 40 },
    { pitch: 784, ms: 100 },
  ],
  // Play time comes to its end.
  warning: [
    { pitch: 988, ms: 110 },
    { pitch: 784, ms: 110 },
    { pitch: 659, ms: 160 },
  ],
} as const satisfies Readonly<Record<string, readonly Note[]>>;

export type SoundName = keyof typeof sounds;
const ranks = Object.keys(sounds);

export interface SoundParts {
  /** Where the files are put while it runs: a folder of our own, made and removed here. */
  readonly folder: string;
  readonly isOn: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Finds a program by its name. */
  readonly which?: (program: string) => string | null;
  /** Milliseconds that never go back. */
  readonly elapsedMs?: () => number;
}

export interface Sounds {
  /** Plays it, after the one that plays now; returns at once and never throws. */
  play(name: SoundName): void;
  /** Takes effect with the next sound. */
  configure(isOn: boolean): void;
  /** Resolves when no program and no file of it is left. */
  close(): Promise<void>;
}

/** The best that there is comes first: the others work beside it, or in its place. Each takes the path of a file. */
const players = [["pw-play"], ["paplay"], ["aplay", "--quiet"]] as const;
const soundMsMax = 3000; // A player that hangs at a device is ended: no sound is longer than 400 ms.
const windowMs = 4000;
// A sound device may be plugged in, or come up late; asking for it at each tap would cost more than it is worth.
const silenceMs = 60_000;
// Waits for a line, and becomes the player of the file that it names. Where we are gone, there is no line.
const readyScript = 'read -r file && exec "$@" "$file"';

type Shell = Subprocess<"pipe", "ignore", "ignore">;

export function createSounds(parts: SoundParts): Sounds {
  const { folder, clock, log, which = Bun.which, elapsedMs = () => performance.now() } = parts;
  const files = writeSounds(folder);
  // The first sound tells.
  files.catch(() => {});
  let isOn = parts.isOn;
  let isClosed = false;
  let available: readonly (readonly string[])[] | undefined;
  let chosen = 0;
  let wasTold = false;
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  let lastMs: readonly number[] = [];
  let armed: Shell | undefined;
  let current: Shell | undefined;
  let playing: Promise<void> | undefined;
  let next: SoundName | undefined;

  const found = () => {
    available ??= players.flatMap(([program, ...options]) => {
      const path = which(program);
      return path === null ? [] : [[path, ...options]];
    });
    return available;
  };
  const arm = () => {
    const player = found()[chosen];
    if (player === undefined || armed !== undefined || isClosed || !isOn) return;
    armed = Bun.spawn(["/bin/sh", "-c", readyScript, "sh", ...player], {
      stdio: ["pipe", "ignore", "ignore"],
      env: playerEnvironment,
    });
  };
  const disarm = () => {
    armed?.kill();
    armed = undefined;
  };
  /** Whether it was heard, as far as the player knows. */
  const playOnce = async (name: SoundName): Promise<boolean> => {
    arm();
    const shell = armed;
    armed = undefined;
    if (shell === undefined) return false;
    current = shell;
    shell.stdin.write(`${join(folder, `${name}.wav`)}\n`);
    const late = clock.after(soundMsMax, () => shell.kill("SIGKILL"));
    // A shell that was killed takes no line; its exit code tells.
    await Promise.resolve(shell.stdin.end()).catch(() => {});
    const exitCode = await shell.exited;
    late[Symbol.dispose]();
    current = undefined;
    return exitCode === 0;
  };
  const fallSilent = () => {
    chosen = 0;
    available = undefined;
    silentUntilMs = elapsedMs() + silenceMs;
    if (wasTold || isClosed) return;
    wasTold = true;
    log.info(
      "sound",
      "nothing plays sounds here: they are left out. It takes a sound device, and pw-play, paplay or aplay",
    );
  };
  /** With the first player that can; they are tried in their order, and the one that could is kept. */
  const playOne = async (name: SoundName) => {
    await files;
    for (; found()[chosen] !== undefined; chosen++) {
      if (await playOnce(name)) {
        wasTold = false;
        return;
      }
      if (isClosed || !isOn) return;
    }
    fallSilent();
  };
  const playAll = async (first: SoundName) => {
    for (let name: SoundName | undefined = first; name !== undefined; name = next) {
      next = undefined;
      await playOne(name);
      if (isClosed || !isOn || elapsedMs() < silentUntilMs) break;
    }
    next = undefined;
    playing = undefined;
    if (elapsedMs() >= silentUntilMs) arm();
  };
  return {
    play(name) {
      const nowMs = elapsedMs();
      if (!isOn || isClosed || nowMs < silentUntilMs) return;
      lastMs = lastMs.filter((ms) => ms > nowMs - windowMs);
      if (lastMs.length >= soundsPerWindowMax) return;
      lastMs = [...lastMs, nowMs];
      // One waits at most: what was read says less than what came of it.
      if (next === undefined || ranks.indexOf(name) >= ranks.indexOf(next)) next = name;
      playing ??= playAll(name).catch((error) => {
        playing = undefined;
        isOn = false;
        log.warn("sound", "no sounds until they are switched on anew", { error: messageOf(error) });
      });
    },
    configure(now) {
      if (now === isOn) return;
      isOn = now;
      // Switched on by hand, it is tried at once.
      silentUntilMs = Number.NEGATIVE_INFINITY;
      if (!isOn) disarm();
      else if (playing === undefined) arm();
    },
    async close() {
      isClosed = true;
      disarm();
      current?.kill();
      await playing;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writeSounds(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [name, notes] of Object.entries(sounds))
    await writeFile(join(folder, `${name}.wav`), waveOf(notes), { mode: 0o600 });
}

// What steers our own runtime must not steer a player.
const playerEnvironment: Record<string, string | undefined> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("BUN_")),
);
