/** The volume of the device, set by the first of the usual programs that is installed and finds a sound device. */
import { failed, launchFailed, ServiceError } from "../core/errors.ts";
import { clampVolume, type VolumeChange } from "../core/playback.ts";
import { type ProgramEnd, runProgram } from "./program.ts";
import { lastLines } from "./stderr-tail.ts";

const mixerMsMax = 3000;

interface Mixer {
  readonly program: string;
  /** The arguments that print the volume. */
  readonly get: readonly string[];
  /** The percentage in that output. */
  read(answer: string): number | undefined;
  set(percent: number): readonly string[];
}

const percentIn = (answer: string): number | undefined => {
  const [, percent] = /\b(\d{1,3})%/.exec(answer) ?? [];
  return percent === undefined ? undefined : Number(percent);
};

/** The programs that set the volume: those of sound servers first, then that of the card. */
const mixers: readonly Mixer[] = [
  {
    // The output of PipeWire: `Volume: 0.50`.
    program: "wpctl",
    get: ["get-volume", "@DEFAULT_AUDIO_SINK@"],
    read(answer) {
      const [, part] = /Volume: (\d(?:\.\d+)?)/.exec(answer) ?? [];
      return part === undefined ? undefined : Number(part) * 100;
    },
    set: (percent) => ["set-volume", "@DEFAULT_AUDIO_SINK@", `${percent}%`],
  },
  {
    // The output of PulseAudio: `Volume: front-left: 32768 /  50% / ...`.
    program: "pactl",
    get: ["get-sink-volume", "@DEFAULT_SINK@"],
    read: percentIn,
    set: (percent) => ["set-sink-volume", "@DEFAULT_SINK@", `${percent}%`],
  },
  {
    // The output of ALSA, on a perceptual scale: `Front Left: Playback 32768 [50%] [on]`.
    program: "amixer",
    get: ["--mapped-volume", "get", "Master"],
    read: percentIn,
    set: (percent) => ["--mapped-volume", "--quiet", "set", "Master", `${percent}%`],
  },
];

/**
 * Changes the volume, but never above `ceiling`, in percent. `find` returns the path of a program. Rejects with
 * `ServiceError("failed")` and a remedy if no program can change it. The reason is `busy` if a program did not answer, so
 * the device may have a volume.
 */
export async function changeSystemVolume(
  change: VolumeChange,
  ceiling: number,
  find: (program: string) => string | null,
  signal: AbortSignal,
): Promise<void> {
  const complaints: string[] = [];
  let isSilent = false;
  for (const mixer of mixers) {
    const path = find(mixer.program);
    if (path === null) continue;
    const complaint = await changeBy(mixer, path, change, ceiling, signal).catch((error: unknown) => {
      isSilent = true;
      return silenceOf(error, signal).message;
    });
    if (complaint === undefined) return;
    complaints.push(`${mixer.program}: ${complaint}`);
  }
  if (complaints.length === 0)
    throw failed(
      "the volume cannot be changed: the player has none of its own, and none of wpctl, pactl and amixer is installed",
    );
  const sentence = `the volume could not be changed: ${complaints.join("; ")}`;
  throw isSilent ? launchFailed("busy", sentence) : failed(sentence);
}

/** The error of a program that did not answer in time. Throws every other error again. */
function silenceOf(error: unknown, signal: AbortSignal): ServiceError {
  if (signal.aborted || !(error instanceof ServiceError)) throw error;
  return error;
}

/**
 * The volume in percent, by the first program that reports one; undefined if no program does. Rejects with
 * `ServiceError("failed")` if a program did not answer, and none reports one.
 */
export async function readSystemVolume(
  find: (program: string) => string | null,
  signal: AbortSignal,
): Promise<number | undefined> {
  let silence: ServiceError | undefined;
  for (const { program, get, read } of mixers) {
    const path = find(program);
    if (path === null) continue;
    try {
      const asked = await runProgram([path, ...get], signal, mixerMsMax);
      const now = asked.exitCode === 0 ? read(asked.output) : undefined;
      if (now !== undefined) return now;
    } catch (error) {
      silence = silenceOf(error, signal);
    }
  }
  if (silence !== undefined) throw silence;
  return undefined;
}

/** Runs the program, and returns its complaint; undefined after a success. */
async function changeBy(
  { get, read, set }: Mixer,
  path: string,
  { kind, percent }: VolumeChange,
  ceiling: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const run = (words: readonly string[]) => runProgram([path, ...words], signal, mixerMsMax);
  let before = 0;
  if (kind === "by") {
    const asked = await run(get);
    const now = asked.exitCode === 0 ? read(asked.output) : undefined;
    if (now === undefined) return complaintOf(asked);
    before = now;
  }
  const done = await run(set(clampVolume(before + percent, ceiling)));
  return done.exitCode === 0 ? undefined : complaintOf(done);
}

function complaintOf({ exitCode, output }: ProgramEnd): string {
  const [why = ""] = lastLines(output).split("\n");
  if (why !== "") return why;
  return exitCode === null ? "a signal ended it" : `it ended with code ${exitCode}`;
}
