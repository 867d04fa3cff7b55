/**
 * Sound feedback: short generated sounds, played by the first program of the system that can. The process of a sound is
 * pre-forked: a waiting shell execs the player, and a tap only writes one line into its pipe. On an emulated Cortex-A53
 * the line blocks the service for 2.7 ms, and a spawn blocks it for 8.9 ms (medians of 20). One sound plays at a time,
 * and a rate limit drops the rest. If no program can play, one log line reports it.
 *
 * A sound is a WAV file (RIFF, format 1) of sine notes that begin softly and fade:
 *
 *   0 "RIFF"  4 bytes that follow u32  8 "WAVE"
 *   12 "fmt "  16 16 u32  20 format 1 u16  22 channels u16  24 frames a second u32  28 bytes a second u32
 *   32 bytes of a frame u16  34 bits of a sample u16
 *   36 "data"  40 bytes that follow u32  44 samples, s16, little-endian, left and right in turn
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Subprocess } from "bun";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { soundsPerWindowMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { confined } from "./confine.ts";
import { giveInput } from "./own-program.ts";
import { playerEnvironment } from "./start-process.ts";

/** The sounds in the order of importance, the least important first. None is longer than 400 ms. */
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
  // The sound of a card that the launch guard holds back.
  guarded: [
    { pitch: 784, ms: 100 },
    { pitch: 0, ms: 40 },
    { pitch: 784, ms: 100 },
  ],
  // The play time is nearly over.
  warning: [
    { pitch: 988, ms: 110 },
    { pitch: 784, ms: 110 },
    { pitch: 659, ms: 160 },
  ],
} as const satisfies Readonly<Record<string, readonly Note[]>>;

export type SoundName = keyof typeof sounds;
const ranks = Object.keys(sounds);

export interface SoundParts {
  /** A folder for the files, which is made and removed by this code. */
  readonly folder: string;
  readonly isOn: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly which?: (program: string) => string | null;
  /** A monotonic clock. */
  readonly elapsedMs?: () => number;
}

/** Programs that play the file at a path, the best first. */
const players = [["pw-play"], ["paplay"], ["aplay", "--quiet"]] as const;
const soundMsMax = 3000; // A player that hangs at its device is killed after this time. No sound is longer than 400 ms.
const windowMs = 4000;
// After a failure no player is tried for this time. A sound device may appear later, and a try at each tap would take too long.
const silenceMs = 60_000;
// Waits for a line and execs the player of the named file, confined, because the player loads the user's settings and plug-ins.
// If the service ends, the pipe closes without a line, and the shell ends.
const readyScript = 'read -r file && exec "$@" "$file"';

type Shell = Subprocess<"pipe", "ignore", "ignore">;

export function createSounds(parts: SoundParts) {
  const { folder, clock, log, which = Bun.which, elapsedMs = () => performance.now() } = parts;
  const files = writeSounds(folder);
  // The first sound that plays reports a failure.
  files.catch(() => {});
  let isOn = parts.isOn;
  let isClosed = false;
  let available: readonly (readonly string[])[] | undefined;
  let chosen = 0;
  let hasLogged = false;
  let silentUntilMs = Number.NEGATIVE_INFINITY;
  let lastMs: readonly number[] = [];
  let armed: { readonly shell: Shell; readonly command: readonly string[] } | undefined;
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
    if (player === undefined || isClosed || !isOn) return;
    const command = confined(player, "network");
    if (Bun.deepEquals(armed?.command, command)) return;
    // The places of players have changed.
    disarm();
    const shell = Bun.spawn(["/bin/sh", "-c", readyScript, "sh", ...command], {
      stdio: ["pipe", "ignore", "ignore"],
      env: playerEnvironment,
    });
    armed = { shell, command };
  };
  const disarm = () => {
    armed?.shell.kill();
    armed = undefined;
  };
  /** Plays a sound once. Resolves with true if the player ended well. */
  const playOnce = async (name: SoundName): Promise<boolean> => {
    arm();
    const shell = armed?.shell;
    armed = undefined;
    if (shell === undefined) return false;
    current = shell;
    const late = clock.after(soundMsMax, () => shell.kill("SIGKILL"));
    await giveInput(shell, `${join(folder, `${name}.wav`)}\n`);
    const exitCode = await shell.exited;
    late[Symbol.dispose]();
    current = undefined;
    return exitCode === 0;
  };
  const fallSilent = () => {
    chosen = 0;
    available = undefined;
    silentUntilMs = elapsedMs() + silenceMs;
    if (hasLogged || isClosed) return;
    hasLogged = true;
    log.info(
      "sound",
      "nothing plays sounds here: they are left out. It takes a sound device, and pw-play, paplay or aplay",
    );
  };
  /** Tries the players in order, and keeps the first that works. */
  const playOne = async (name: SoundName) => {
    await files;
    for (; found()[chosen] !== undefined; chosen++) {
      if (await playOnce(name)) {
        hasLogged = false;
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
    /** Plays a sound after the present one. Returns at once and never throws. */
    play(name: SoundName): void {
      const nowMs = elapsedMs();
      if (!isOn || isClosed || nowMs < silentUntilMs) return;
      lastMs = lastMs.filter((ms) => ms > nowMs - windowMs);
      if (lastMs.length >= soundsPerWindowMax) return;
      lastMs = [...lastMs, nowMs];
      // At most one sound waits: the more important one.
      if (next === undefined || ranks.indexOf(name) >= ranks.indexOf(next)) next = name;
      playing ??= playAll(name).catch((error) => {
        playing = undefined;
        isOn = false;
        log.warn("sound", "no sounds until they are switched on again", { error: messageOf(error) });
      });
    },
    configure(now: boolean): void {
      if (now === isOn) return;
      isOn = now;
      // A person who switches sounds on ends this pause after a failure.
      silentUntilMs = Number.NEGATIVE_INFINITY;
      if (!isOn) disarm();
      else if (playing === undefined) arm();
    },
    /** Resolves when the programs of this code have ended and its files are removed. */
    async close(): Promise<void> {
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

interface Note {
  /** The pitch in Hz; 0 is a rest. */
  readonly pitch: number;
  readonly ms: number;
}

// The format that every device plays without conversion.
const framesPerSecond = 48_000;
const channels = 2;
const sampleBytes = 2;
const headerBytes = 44;
const peak = 0.25; // The amplitude is a quarter of full scale, -12 dB. It is audible beside a game, and not too loud in silence.
const attackMs = 4; // A shorter attack would be heard as a click.
const releaseMs = 12;

export function waveOf(notes: readonly Note[]): Uint8Array {
  const frames = notes.map(({ ms }) => Math.round((ms * framesPerSecond) / 1000));
  const dataBytes = frames.reduce((sum, count) => sum + count, 0) * channels * sampleBytes;
  const bytes = Buffer.alloc(headerBytes + dataBytes);
  writeHeader(bytes, dataBytes);
  let at = headerBytes;
  for (const [index, { pitch }] of notes.entries()) {
    const count = frames[index] ?? 0;
    for (let frame = 0; frame < count; frame++) {
      const level = peak * loudness(frame, count) * Math.sin((2 * Math.PI * pitch * frame) / framesPerSecond);
      const sample = Math.round(level * 0x7fff);
      for (let channel = 0; channel < channels; channel++, at += sampleBytes) bytes.writeInt16LE(sample, at);
    }
  }
  return bytes;
}

/** The envelope, 0 to 1: a short attack, an exponential decay, and 0 at the end. */
function loudness(frame: number, frames: number): number {
  const ms = (1000 * frame) / framesPerSecond;
  const leftMs = (1000 * (frames - 1 - frame)) / framesPerSecond;
  const fading = Math.exp((-2 * frame) / frames);
  return Math.min(1, ms / attackMs) * Math.min(1, leftMs / releaseMs) * fading;
}

function writeHeader(bytes: Buffer, dataBytes: number): void {
  const frameBytes = channels * sampleBytes;
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(headerBytes - 8 + dataBytes, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(framesPerSecond, 24);
  bytes.writeUInt32LE(framesPerSecond * frameBytes, 28);
  bytes.writeUInt16LE(frameBytes, 32);
  bytes.writeUInt16LE(8 * sampleBytes, 34);
  bytes.write("data", 36);
  bytes.writeUInt32LE(dataBytes, 40);
}
