/** mpv: sound, film and pictures, controlled by its JSON IPC. */
import { resolve } from "node:path";
import { cwd } from "node:process";
import { assert, failed, messageOf } from "../core/errors.ts";
import { mediaMsMax } from "../core/limits.ts";
import { clampVolume, type Progress, type ScreenView, type SeekTarget } from "../core/playback.ts";
import { spawnPlayer } from "../system/process.ts";
import { lastLines } from "../system/stderr-tail.ts";
import { type MpvLine, openMpvLine } from "./mpv-line.ts";
import type { ControlledPlayer, PlayerAction, PlayerOrder, PlayerParts, PlayerState } from "./player.ts";
import { feedStream } from "./web-stream.ts";

// The longest wait for the present position, after which the last known state is used.
const stateMsMax = 250;
const complaintLinesMax = 4;
// A file that was loaded counts as shown after this time without an error.
const loadedMs = 1000;
// A seek waits this long for a file that mpv is still opening, because mpv refuses it until then.
const openingMsMax = 5000;

// mpv sends an event for each change of these. The position changes all the time, so it is requested instead.
const observed = ["pause", "duration", "paused-for-cache", "volume", "speed"] as const;

// Between two requests the position is computed, but not for a player that has not answered for this long.
const calculatedMsMax = 10_000;

/**
 * Options that restrict mpv to its file and its subtitles (mpv 0.35 manual). They follow the launcher's options, so they
 * override them and `mpv.conf`. `mpv.conf` stays in use for sound and picture, because no media file can change it.
 */
const fileOnly = [
  // Playlists, EDL, HLS, archives and ordered chapters refer to other files or to the network.
  "--access-references=no",
  // Subtitles with the name of the file, such as `Film.srt` and `Film.de.srt`, are loaded from its folder. Covers and
  // sound tracks are not.
  "--sub-auto=exact",
  "--audio-file-auto=no",
  "--cover-art-auto=no",
  "--load-unsafe-playlists=no",
  // Settings in the folder of the file are ignored.
  "--use-filedir-conf=no",
  // SDP and RTSP open sockets inside of FFmpeg. mpv itself reads media files, which need no protocol of FFmpeg.
  "--demuxer-lavf-o-append=protocol_whitelist=data",
  // The settings `noScripts` come from a file. An mpv without Lua does not know these settings. It ends if they are
  // options, but not if they are in a file.
  "--include=/dev/stdin",
] as const;

/** A stream comes through the standard input. Without `mpv.conf` and its folder there are also no scripts. */
const streamOnly = [
  ...fileOnly.filter((option) => !option.startsWith("--include=")),
  "--no-config",
  // The default of 150 MiB is too much for a board.
  "--demuxer-max-bytes=8MiB",
  "--demuxer-max-back-bytes=1MiB",
] as const;

const noScripts = new TextEncoder().encode("load-scripts=no\nscripts=\nytdl=no\nload-auto-profiles=no\n");

const sides = ["left", "right", "top", "bottom"] as const;

/**
 * mpv manual, "Video": the angle is clockwise, and a margin is a share of the window, within which the turned video fits. mpv turns
 * no subtitles. The owner's `mpv.conf` applies to everything that is not set here.
 */
function viewOptions({ rotation, overscan }: ScreenView): readonly string[] {
  return [
    ...(rotation === 0 ? [] : [`--video-rotate=${rotation}`]),
    ...(overscan === 0
      ? []
      : [...sides.map((side) => `--video-margin-ratio-${side}=${overscan / 100}`), "--sub-use-margins=no"]),
  ];
}

interface Known {
  isLoaded: boolean;
  positionMs: number | undefined;
  /** The time of the last reported position (`performance.now`). */
  positionAtMs: number;
  /** The last duration, which mpv no longer reports at the end. */
  durationMs: number | undefined;
  /** The number of files that mpv has loaded. */
  files: number;
  isOver: boolean;
  readonly properties: Map<string, unknown>;
  readonly complaints: string[];
}

/** Starts mpv. Throws as `spawnPlayer` does. */
export function startMpv(
  order: PlayerOrder,
  {
    clock,
    volume,
    view,
    latenessMs = 0,
    onPause,
  }: Pick<PlayerParts, "clock" | "volume" | "view" | "latenessMs" | "onPause">,
): ControlledPlayer {
  const { argv, optionsAt, environment, folder, startMs, stream } = order;
  const loudness = volume === undefined ? [] : [`--volume=${volume}`];
  const start = startMs === undefined ? [] : [`--start=${(startMs / 1000).toFixed(3)}`];
  const source = stream === undefined ? fileOnly : streamOnly;
  const options = [
    ...source,
    "--input-ipc-client=fd://3",
    ...(view === undefined ? [] : viewOptions(view)),
    ...loudness,
    // A negative delay of the sound is a delay of the picture. The owner's `mpv.conf` may have a delay for a television.
    ...(latenessMs === 0 ? [] : [`--audio-delay=${-latenessMs / 1000}`]),
    ...start,
  ];
  const process = spawnPlayer(argv.toSpliced(optionsAt, 0, ...options), {
    ...(environment === undefined ? {} : { environment }),
    folder,
    ...(stream === undefined ? { input: noScripts } : { hasTalk: true }),
    reach: "offline",
    hasLine: true,
    mayHandOn: false,
  });
  const known: Known = {
    isLoaded: false,
    positionMs: undefined,
    positionAtMs: 0,
    durationMs: undefined,
    files: 0,
    isOver: false,
    properties: new Map(),
    complaints: [],
  };
  const shown = Promise.withResolvers<void>();
  let loading: Disposable | undefined;
  assert(process.line !== undefined, "a player that is started with a line has one");
  const learn = (of: () => void) => {
    const wasPaused = isPaused(known);
    of();
    if (isPaused(known) === wasPaused) return;
    onPause(!wasPaused);
    void askPosition();
  };
  const askPosition = async () => {
    const position = await quietly(line, ["get_property", "time-pos"], stateMsMax);
    if (typeof position === "number") noteTime(known, position);
  };
  let opening = Promise.withResolvers<void>();
  const opened = async () => {
    if (known.isLoaded) return;
    using _late = clock.after(openingMsMax, opening.resolve);
    await opening.promise;
  };
  let onSeek: (() => void) | undefined;
  const line = openMpvLine(process.line, clock, (name, facts) => {
    const wasLoaded = known.isLoaded;
    learn(() => hear(known, name, facts));
    if (name === "seek") onSeek?.();
    if (name === "playback-restart") {
      shown.resolve();
      void askPosition();
    }
    if (name === "start-file" && wasLoaded) opening = Promise.withResolvers();
    if (name !== "file-loaded") return;
    opening.resolve();
    loading ??= clock.after(loadedMs, shown.resolve);
  });
  if (stream !== undefined && process.talk !== undefined) {
    void process.talk.output.pipeTo(new WritableStream()).catch(() => {});
    void feedStream(stream, process.talk, (title) => known.properties.set("streamTitle", title));
  }
  void process.exited.then(() => {
    stream?.close();
    line.close();
    loading?.[Symbol.dispose]();
  });
  observed.forEach((property, index) => void quietly(line, ["observe_property", index + 1, property]));
  void quietly(line, ["request_log_messages", "error"]);
  return {
    process,
    ready: shown.promise,
    async state() {
      // A caller that has just paused mpv may ask for the state before the event of the pause comes.
      const [, pause] = await Promise.all([
        askPosition(),
        quietly(line, ["get_property", "pause"], stateMsMax),
      ]);
      if (typeof pause === "boolean") learn(() => known.properties.set("pause", pause));
      return stateOf(known);
    },
    progress: () => progressOf(known),
    complaint: () => (known.complaints.length === 0 ? undefined : lastLines(known.complaints.join("\n"))),
    async control(action) {
      if (!("to" in action)) return control(line, action);
      // mpv acknowledges a seek before it begins, and reports the old position until then. A stop right after the seek
      // must store the new position.
      const begun = Promise.withResolvers<boolean>();
      await opened();
      onSeek = () => begun.resolve(true);
      const target = targetOf(known, action.to);
      await seek(line, action.to);
      noteTime(known, target / 1000);
      using _late = clock.after(stateMsMax, () => begun.resolve(false));
      if (await begun.promise) await askPosition();
    },
    async picture() {
      const stated = await line.ask(["get_property", "screenshot-directory"]);
      // The folder may begin with `~`. Versions of mpv below 0.37 do not report the name of a picture, so this function
      // chooses one.
      const into = await line.ask(["expand-path", typeof stated === "string" ? stated : ""]);
      const name = `mpv-${new Date(clock.now()).toISOString().replace(/\D/g, "")}.png`;
      const path = resolve(folder ?? cwd(), typeof into === "string" ? into : "", name);
      await savePicture(line, ["screenshot-to-file", path]);
      return path;
    },
    async changeLateness(ms) {
      await line.ask(["set_property", "audio-delay", -ms / 1000]);
    },
    async changeVolume({ kind, percent }, ceiling) {
      const before = kind === "to" ? 0 : await line.ask(["get_property", "volume"]);
      const wanted = (typeof before === "number" ? before : 0) + percent;
      const set = clampVolume(wanted, ceiling);
      await line.ask(["set_property", "volume", set]);
      // The event may come after the next call of `state`.
      known.properties.set("volume", set);
      return set;
    },
  };
}

/** Takes an event (mpv manual, "List of events"). `end-file` has a `file_error` if the file could not be played. */
function hear(known: Known, name: string, facts: Readonly<Record<string, unknown>>): void {
  if (name === "file-loaded") {
    known.isLoaded = true;
    known.files += 1;
  }
  if (name === "start-file") {
    known.isLoaded = false;
    known.positionMs = undefined;
  }
  if (name === "end-file") known.isOver = facts.reason === "eof";
  if (name === "property-change" && typeof facts.name === "string") {
    // The position is computed from the values so far.
    noteTime(known, (positionNow(known) ?? Number.NaN) / 1000);
    known.properties.set(facts.name, facts.data);
    if (facts.name === "duration" && typeof facts.data === "number") known.durationMs = toMs(facts.data);
  }
  const said = name === "log-message" ? facts.text : name === "end-file" ? facts.file_error : undefined;
  if (typeof said !== "string") return;
  known.complaints.push(said.trim());
  if (known.complaints.length > complaintLinesMax) known.complaints.shift();
}

const isPaused = ({ properties }: Known) => properties.get("pause") === true;

function noteTime(known: Known, seconds: number): void {
  if (Number.isNaN(seconds)) return;
  known.positionMs = toMs(seconds);
  known.positionAtMs = performance.now();
}

function positionNow({ positionMs, positionAtMs, properties }: Known): number | undefined {
  if (positionMs === undefined) return undefined;
  const [pause, waits, speed] = ["pause", "paused-for-cache", "speed"].map((name) => properties.get(name));
  if (pause === true || waits === true) return positionMs;
  const sinceMs = Math.min(performance.now() - positionAtMs, calculatedMsMax);
  return Math.round(positionMs + sinceMs * (typeof speed === "number" ? speed : 1));
}

/** The position; undefined if there is none, or if mpv has continued with another file. */
function progressOf(known: Known): Progress | undefined {
  const { durationMs, files, isOver } = known;
  const positionMs = positionNow(known);
  if (positionMs === undefined || durationMs === undefined || files !== 1) return undefined;
  return { positionMs: Math.min(positionMs, durationMs), durationMs, isOver };
}

function stateOf(known: Known): PlayerState {
  const { isLoaded, positionMs, properties } = known;
  if (!isLoaded) return { playbackState: "loading" };
  const duration = properties.get("duration");
  const volume = properties.get("volume");
  const title = properties.get("streamTitle");
  const waits = properties.get("paused-for-cache") === true;
  return {
    ...(positionMs === undefined ? {} : { positionMs }),
    ...(typeof duration === "number" ? { durationMs: toMs(duration) } : {}),
    ...(typeof title === "string" ? { streamTitle: title } : {}),
    ...(typeof volume === "number" ? { volume: Math.round(volume) } : {}),
    playbackState: isPaused(known) ? "paused" : waits ? "buffering" : "playing",
  };
}

const commands: Partial<Readonly<Record<PlayerAction["kind"], readonly (string | boolean)[]>>> = {
  pause: ["set_property", "pause", true],
  resume: ["set_property", "pause", false],
  toggle: ["cycle", "pause"],
  mute: ["cycle", "mute"],
  next: ["playlist-next"],
  previous: ["playlist-prev"],
};

/** The target of a seek in milliseconds; NaN if it depends on something unknown. */
function targetOf(known: Known, to: SeekTarget): number {
  if (to.kind === "part") return (to.percent / 100) * (known.durationMs ?? Number.NaN);
  return Math.max(0, to.kind === "by" ? (positionNow(known) ?? Number.NaN) + to.ms : to.ms);
}

async function control(line: MpvLine, action: Exclude<PlayerAction, { to: SeekTarget }>): Promise<void> {
  if (action.kind === "screenshot") {
    await savePicture(line);
    return;
  }
  const { kind } = action;
  const command = commands[kind];
  if (command === undefined) throw failed(`mpv has no ${kind.replace("-", " ")}`);
  try {
    await line.ask(command);
  } catch (error) {
    // mpv gives no reason. If it still answers, it has no further file.
    const isStep = kind === "next" || kind === "previous";
    const place = isStep ? await quietly(line, ["get_property", "playlist-pos"]) : undefined;
    throw place === undefined ? error : failed(`there is no ${kind} item in what plays`, error);
  }
}

async function savePicture(line: MpvLine, command: readonly string[] = ["screenshot"]): Promise<void> {
  try {
    await line.ask(command);
  } catch (cause) {
    throw failed(`mpv shows no picture that could be saved: ${messageOf(cause)}`, cause);
  }
}

async function seek(line: MpvLine, to: SeekTarget): Promise<void> {
  const flags = { by: "relative", to: "absolute", part: "absolute-percent" } as const;
  const amount = to.kind === "part" ? to.percent : to.ms / 1000;
  try {
    await line.ask(["seek", amount, `${flags[to.kind]}+exact`]);
  } catch (cause) {
    throw failed(`mpv cannot go there: ${messageOf(cause)}`, cause);
  }
}

/** Sends a command and ignores a failure. */
function quietly(line: MpvLine, command: readonly (string | number)[], msMax?: number): Promise<unknown> {
  return line.ask(command, msMax).catch(() => undefined);
}

/**
 * The milliseconds of a time, limited to the range of positions in the database and in backups, because a file may state
 * any length.
 */
function toMs(seconds: number): number {
  return Math.min(Math.max(0, Math.round(seconds * 1000)), mediaMsMax);
}
