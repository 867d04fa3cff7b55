/**
 * RetroArch: games, with a libretro core for each system, controlled over its standard input and output. A private settings
 * file for this start overrides the owner's settings, which stay unchanged.
 */
import { existsSync, mkdirSync, mkdtempSync, rm, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { env } from "node:process";
import { type Clock, sleep } from "../core/clock.ts";
import { failed } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { mediaReadyMsMax } from "../core/limits.ts";
import { clampVolume, type PlainAction, type Resuming, type ScreenView } from "../core/playback.ts";
import { createCoalesced } from "../core/serial-queue.ts";
import { playersFolder } from "../system/folders.ts";
import { type Player, spawnPlayer } from "../system/process.ts";
import type {
  ControlledPlayer,
  DiscSet,
  PlayerAction,
  PlayerOrder,
  PlayerParts,
  PlayerState,
  SavePlace,
} from "./player.ts";
import { type ServiceEnvironment, settingsFolder, statedFolder, statedFolders } from "./retroarch-cores.ts";
import { openRetroArchLine, type RetroArchLine, type RetroArchStatus } from "./retroarch-line.ts";

// RetroArch answers in its next frame, but not while a core loads.
const stateMsMax = 250;
const answerMsMax = 2000;
const askAgainMs = 50;
const pauseMsMax = 5000;
const pausedAskMs = 2000;
// RetroArch runs equal commands that arrive within one frame only once, and a slow game has few frames.
const discStepMs = 100;
const driveOpenMs = 1000;
// RetroArch writes a picture in a thread of its own, which takes less than this time.
const pictureMsMax = 5000;
// RetroArch names pictures by the second, and a later picture replaces one of the same name.
const picturesApartMs = 1200;
const softest = -80; // The lowest gain in dB that RetroArch accepts.
const volumeStep = 0.5; // The gain in dB that RetroArch changes by a command.
const autosaveSeconds = 10;
// Saves in memory are written to the disk one or two seconds later, so battery RAM is safe within 10 s of a change.
const carriedAutosaveSeconds = 5;
const noResuming: Resuming = { loadsState: false, savesState: false };

/** Starts RetroArch. Throws as `spawnPlayer` does. */
export function startRetroArch(
  order: PlayerOrder,
  { clock, volume, view, onPause }: Pick<PlayerParts, "clock" | "volume" | "view" | "onPause">,
): ControlledPlayer {
  const { environment, folder, discs, resuming = noResuming, saves, systemFolder } = order;
  const settings = writeSettings(
    {
      ...usualSettings,
      ...resumeSettings(resuming),
      ...saveSettings(saves),
      ...loudness(volume),
      ...viewSettings(view),
      ...(systemFolder === undefined ? {} : { system_directory: systemFolder }),
    },
    saves?.settings,
    discs,
  );
  const argv = settings.discList === undefined ? order.argv : withList(order, settings.discList);
  const process = startWith(settings, () =>
    spawnPlayer(argv.toSpliced(order.optionsAt, 0, `--appendconfig=${settings.path}`), {
      ...(environment === undefined ? {} : { environment }),
      folder,
      hasTalk: true,
      reach: "offline",
      mayHandOn: false,
    }),
  );
  void removeLeftSettings().catch(() => {});
  const line = openRetroArchLine(process, clock);
  const ended = new AbortController();
  let last: RetroArchStatus | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const drive = discs === undefined ? undefined : createDrive(line, discs, clock);
  const loud = createGain(line, volume, ended.signal);
  void process.exited.then(() => ended.abort());
  const ask = async (msMax: number) => {
    const status = await line.status(msMax);
    const wasPaused = last === "paused";
    last = status ?? last;
    if ((last === "paused") === wasPaused) return status;
    onPause(!wasPaused);
    if (!wasPaused) void untilResumed();
    return status;
  };
  // A key of the keyboard may resume the game without an event. It is polled, because a pause does not count as play time.
  let isFollowed = false;
  const untilResumed = async () => {
    if (isFollowed) return;
    isFollowed = true;
    while (last === "paused" && !ended.signal.aborted) {
      await sleep(clock, pausedAskMs, ended.signal).catch(() => {});
      await ask(stateMsMax).catch(() => {});
    }
    isFollowed = false;
  };
  // Runs actions one after another, because two toggles of the pause at once would cancel each other.
  const inTurn = (act: () => Promise<void>) => {
    const mine = turn.then(act);
    turn = mine.catch(() => {});
    return mine;
  };
  let picturedMs = Number.NEGATIVE_INFINITY;
  const untilPicture = async () => {
    const nowMs = performance.now();
    const waitMs = Math.max(0, picturedMs + picturesApartMs - nowMs);
    picturedMs = nowMs + waitMs;
    // After the end of the game, the question that follows has no answer.
    if (waitMs > 0) await sleep(clock, waitMs, ended.signal).catch(() => {});
  };
  const insert = async (place: number) => {
    const status = await ask(answerMsMax);
    if (status === undefined) throw failed("RetroArch does not answer");
    await drive?.insert(place, () => setPause({ line, ask, clock }, false, status));
  };
  return {
    process,
    ready: untilPlaying(ask, clock, ended.signal),
    state: async () => ({
      ...stateOf((await ask(stateMsMax)) ?? last),
      ...drive?.state(),
      volume: loud.percent(),
    }),
    complaint: () => undefined,
    async changeVolume({ kind, percent }, ceiling) {
      if ((await ask(answerMsMax)) === undefined) throw failed("RetroArch does not answer");
      return loud.set(clampVolume((kind === "to" ? 0 : loud.percent()) + percent, ceiling));
    },
    control(action) {
      return inTurn(async () => {
        const way = action.kind === "next" ? 1 : action.kind === "previous" ? -1 : 0;
        if (drive !== undefined && way !== 0) return insert(drive.place() + way);
        if (action.kind === "screenshot") await untilPicture();
        await control(line, ask, action, clock);
        if (action.kind === "mute") loud.toggleMute();
      });
    },
    ...(drive && { insertDisc: (place) => inTurn(() => insert(place)) }),
    async picture() {
      await untilPicture();
      if ((await ask(answerMsMax)) === undefined) throw failed("RetroArch does not answer");
      return savePicture(line, pictureFolders(argv, { ...env, ...environment }), clock);
    },
    async quit(msMax) {
      // A RetroArch that has not answered yet does not read commands.
      if (last === undefined) return;
      line.say("QUIT");
      await sleep(clock, msMax, ended.signal).catch(() => {});
    },
  };
}

/** Asks for the status; undefined without an answer within `msMax`. */
type Ask = (msMax: number) => Promise<RetroArchStatus | undefined>;

/**
 * Writes the settings into a folder of this user alone. RetroArch reads the file again when a core or a game changes. Throws
 * `ServiceError("failed")` if there is no room, because players may fill the folder.
 */
function writeSettings(settings: RetroArchSettings, parent = playersFolder(process.env), discs?: DiscSet) {
  try {
    const folder = mkdtempSync(join(parent, `tapdeck-retroarch-${process.pid}-`));
    const path = join(folder, "settings.cfg");
    // Removes the file. Nothing waits for the removal.
    const release = () => rm(folder, { recursive: true, force: true }, () => {});
    const lines = Object.entries(settings).map(([key, value]) => `${key} = "${value}"\n`);
    writeFileSync(path, lines.join(""), { mode: 0o600 });
    return { path, release, discList: discs && writeDiscList(folder, discs) };
  } catch (error) {
    throw failed(`the settings for RetroArch cannot be written: ${fileFault(error)}`, error);
  }
}

/**
 * Makes a list of the discs that begins with the one in the drive; undefined if the game has a list of its own.
 * RetroArch names saves after the list and its folder.
 */
function writeDiscList(folder: string, { content, paths, inserted }: DiscSet): string | undefined {
  if (isList(content)) return undefined;
  const list = join(folder, basename(dirname(content)), `${basename(content, extname(content))}.m3u`);
  mkdirSync(dirname(list), { mode: 0o700 });
  const inOrder = [...paths.slice(inserted), ...paths.slice(0, inserted)];
  writeFileSync(list, inOrder.map((path) => `${path}\n`).join(""), { mode: 0o600 });
  return list;
}

const isList = (path: string) => extname(path).toLowerCase() === ".m3u";

function withList({ argv, discs }: PlayerOrder, list: string): readonly string[] {
  const file = discs?.paths[discs.inserted] ?? "";
  return argv.map((part) => part.replaceAll(file, () => list));
}

/** Removes the temporary settings of services that were killed. */
async function removeLeftSettings(): Promise<void> {
  const parent = playersFolder(process.env);
  for (const name of await readdir(parent)) {
    const [, pid] = /^tapdeck-retroarch-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    rm(join(parent, name), { recursive: true, force: true }, () => {});
  }
}

/** Removes the file after the player's end, or at once if the player cannot be started. */
function startWith(settings: ReturnType<typeof writeSettings>, start: () => Player): Player {
  try {
    const player = start();
    void player.gone.finally(settings.release);
    return player;
  } catch (error) {
    settings.release();
    throw error;
  }
}

type RetroArchSettings = Readonly<Record<string, string>>;

const usualSettings: RetroArchSettings = {
  stdin_cmd_enable: "true",
  // The ports for commands and for a remote gamepad would listen on every address.
  network_cmd_enable: "false",
  network_remote_enable: "false",
  // Achievements query a server for each game.
  cheevos_enable: "false",
  // The settings of this start must not be written to the owner's file.
  config_save_on_exit: "false",
  // One QUIT is enough.
  quit_press_twice: "false",
  // Without a window manager, RetroArch never has the focus.
  pause_nonactive: "false",
  // RetroArch writes changed battery RAM in this interval, in case of a power cut.
  autosave_interval: String(autosaveSeconds),
};

/**
 * One state for each game, `<game>.state.auto`. RetroArch writes it at its end, if the core is in its `libretro_directory` and
 * has an info file. The game also starts if its state cannot be loaded.
 */
function resumeSettings({ loadsState, savesState }: Resuming): RetroArchSettings {
  return {
    savestate_auto_load: String(loadsState),
    savestate_auto_save: String(savesState),
    ...(loadsState || savesState ? stateSettings : {}),
  };
}

const stateSettings: RetroArchSettings = {
  // The name of a state has only the file name, so games of one name need a folder for each system and core.
  sort_savestates_enable: "true",
  sort_savestates_by_content_enable: "true",
  // After a crash or a power cut the state is older than the battery RAM, so it must not overwrite the battery RAM.
  block_sram_overwrite: "true",
};

/**
 * Saves are in a folder named after the game's folder, and states in a folder of the core below
 * (`src/launch/saves/retroarch-saves.ts`).
 */
function saveSettings(saves: SavePlace | undefined): RetroArchSettings {
  if (saves === undefined) return {};
  return {
    savefile_directory: saves.folder,
    savestate_directory: saves.folder,
    savefiles_in_content_dir: "false",
    savestates_in_content_dir: "false",
    sort_savefiles_by_content_enable: "true",
    sort_savefiles_enable: "false",
    sort_savestates_by_content_enable: "true",
    sort_savestates_enable: "true",
    autosave_interval: String(saves.settings === undefined ? autosaveSeconds : carriedAutosaveSeconds),
  };
}

/**
 * The initial volume: a gain of -80 to 12 dB for all samples (RetroArch 1.14, `audio_driver.c`), or mute. `percent` is
 * undefined for the owner's setting.
 */
function loudness(percent: number | undefined): RetroArchSettings {
  if (percent === undefined) return {};
  return {
    audio_volume: firstGain(percent).toFixed(2),
    ...(percent <= 0 ? { audio_mute_enable: "true" } : {}),
  };
}

/** The gain in dB. */
const gainOf = (percent: number) => Math.max(softest, 20 * Math.log10(percent / 100));

/** A game that begins muted has the gain of 1 %, so it is heard soon after its volume is raised. */
const firstGain = (percent: number) => gainOf(Math.max(1, percent));

/**
 * The volume of a game that runs. RetroArch does not report it, and changes it in steps, also while it is paused (1.14,
 * `runloop.c`). 100 % is the owner's setting if `first` is undefined. Keys of RetroArch that change the volume are not seen.
 */
function createGain(line: RetroArchLine, first: number | undefined, ended: AbortSignal) {
  let percent = first ?? 100;
  let gain = firstGain(percent);
  let isMuted = percent <= 0;
  /** The steps from the gain to the highest step that is not above the wanted volume. */
  const missing = () => Math.floor((gainOf(percent) - gain) / volumeStep + 1e-6);
  /** Goes on until RetroArch has the wanted volume, or ends. */
  const step = createCoalesced(async () => {
    for (let steps = missing(); steps !== 0 && !ended.aborted; steps = missing()) {
      line.say(steps < 0 ? "VOLUME_DOWN" : "VOLUME_UP");
      gain += Math.sign(steps) * volumeStep;
      // The first answer is of the frame that runs the command. A frame without the command comes next, because RetroArch takes
      // commands in consecutive frames for a key that is held, which repeats slowly.
      for (let ask = line.freshStatus, answers = 0; answers < 2 && !ended.aborted; ask = line.status)
        if ((await ask(answerMsMax)) !== undefined) answers += 1;
    }
  });
  const toggleMute = () => {
    isMuted = !isMuted;
  };
  return {
    percent: () => percent,
    /** Called when RetroArch is asked to mute, or to end that. */
    toggleMute,
    /** Changes the volume within the next frames. */
    set(wanted: number): number {
      if (isMuted && percent <= 0 && wanted > 0) {
        toggleMute();
        line.say("MUTE");
      }
      percent = wanted;
      void step();
      return percent;
    },
  };
}

/**
 * RetroArch turns counterclockwise, in quarters (`retroarch.cfg` of 1.14). Since version 1.20 it also turns the
 * proportions that a core states (`video_driver.c`). RetroArch has no margin that keeps a game's proportions.
 */
function viewSettings(view: ScreenView | undefined): RetroArchSettings {
  const { rotation = 0 } = view ?? {};
  return rotation === 0 ? {} : { video_rotation: String((360 - rotation) / 90) };
}

/** Resolves when RetroArch plays. It never rejects, and stays pending for a RetroArch that never answers. */
async function untilPlaying(ask: Ask, clock: Clock, ended: AbortSignal): Promise<void> {
  const deadline = performance.now() + mediaReadyMsMax;
  while (performance.now() < deadline && !ended.aborted) {
    const status = await ask(stateMsMax);
    if (status === "playing" || status === "paused") return;
    // An abort also ends the loop.
    await sleep(clock, askAgainMs, ended).catch(() => {});
  }
  return new Promise(() => {});
}

function stateOf(status: RetroArchStatus | undefined): PlayerState {
  if (status === undefined) return { playbackState: "loading" };
  return status === "contentless" ? {} : { playbackState: status };
}

/** The commands of docs.libretro.com, "Network control interface". */
const commands: Partial<Readonly<Record<PlainAction | "fast-forward", string>>> = {
  mute: "MUTE",
  "save-state": "SAVE_STATE",
  "load-state": "LOAD_STATE",
  reset: "RESET",
  menu: "MENU_TOGGLE",
  screenshot: "SCREENSHOT",
  "fast-forward": "FAST_FORWARD",
};

async function control(line: RetroArchLine, ask: Ask, action: PlayerAction, clock: Clock): Promise<void> {
  const { kind } = action;
  const now = await ask(answerMsMax);
  if (now === undefined) throw failed("RetroArch does not answer");
  if (kind === "pause" || kind === "resume" || kind === "toggle") {
    const isWanted = kind === "toggle" ? now !== "paused" : kind === "pause";
    return setPause({ line, ask, clock }, isWanted, now);
  }
  const command = kind === "seek" || kind === "rewind" ? undefined : commands[kind];
  if (command === undefined) throw failed(`RetroArch has no ${kind.replace("-", " ")} command`);
  if (now === "paused" && ignoredInPause.has(kind)) return runBriefly(line, command, clock);
  line.say(command);
}

/** A paused RetroArch 1.14 ignores these commands (`runloop.c`). */
const ignoredInPause: ReadonlySet<PlayerAction["kind"]> = new Set(["save-state", "load-state", "reset"]);

/**
 * Says the command to a paused RetroArch, which runs for a few frames. The status is asked without a report of these
 * frames, because the game remains paused for everybody else.
 */
async function runBriefly(line: RetroArchLine, command: string, clock: Clock): Promise<void> {
  const quietly = { line, ask: line.status, clock };
  await setPause(quietly, false, "paused");
  line.say(command);
  // The response is of the frame that runs the command.
  await line.freshStatus(answerMsMax);
  await setPause(quietly, true, "playing");
}

/**
 * The drive of a game with several discs, as RetroArch's disk control interface operates it (1.14,
 * `disk_control_interface.c`).
 */
function createDrive(line: RetroArchLine, { content, paths, inserted }: DiscSet, clock: Clock) {
  // The list of this start begins with the disc that was inserted; a list of the game does not.
  const shift = isList(content) ? 0 : inserted;
  let place = inserted;
  const say = async (command: string) => {
    line.say(command);
    await sleep(clock, discStepMs);
  };
  return {
    place: () => place,
    state: () => ({ disc: { number: place + 1, of: paths.length } }),
    /** A paused RetroArch ignores the keys of the drive, and its game would not notice the open drive, so it must `resume`. */
    async insert(wanted: number, resume: () => Promise<void>): Promise<void> {
      if (wanted < 0 || wanted >= paths.length)
        throw failed(`the game has ${paths.length} discs, and disc ${place + 1} is in the drive`);
      await resume();
      const steps = (wanted - shift + paths.length) % paths.length;
      await say("DISK_EJECT_TOGGLE");
      // The keys of the drive stop at the first disc, whichever disc a player has chosen in the menu.
      for (let back = 1; back < paths.length; back++) await say("DISK_PREV");
      for (let on = 0; on < steps; on++) await say("DISK_NEXT");
      place = wanted;
      // Games notice an open drive within a second.
      await sleep(clock, driveOpenMs);
      await say("DISK_EJECT_TOGGLE");
    },
  };
}

/**
 * The folders in which a picture may be. These are `screenshot_directory` of RetroArch's settings, RetroArch's own
 * folder, and the game's folder, which RetroArch uses without a setting.
 */
function pictureFolders(argv: readonly string[], environment: ServiceEnvironment): readonly string[] {
  const key = "screenshot_directory";
  const named = argv.flatMap((word) => (word.startsWith("--config=") ? word.slice("--config=".length) : []));
  return [
    ...named.flatMap((file) => statedFolder(file, key) ?? []),
    ...statedFolders(key, environment),
    join(settingsFolder(environment), "screenshots"),
    dirname(argv.at(-1) ?? ""),
  ];
}

/** RetroArch does not report the name of a picture, so this waits for a new one. */
async function savePicture(line: RetroArchLine, folders: readonly string[], clock: Clock): Promise<string> {
  const before = new Set(await picturesIn(folders));
  line.say("SCREENSHOT");
  for (const deadline = performance.now() + pictureMsMax; performance.now() < deadline; ) {
    await sleep(clock, askAgainMs);
    const saved = (await picturesIn(folders)).find((path) => !before.has(path));
    if (saved !== undefined && (await isWholePng(saved))) return saved;
  }
  throw failed(`RetroArch saved no picture in ${folders[0]}`);
}

async function picturesIn(folders: readonly string[]): Promise<readonly string[]> {
  const lists = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => name.endsWith(".png")).map((name) => join(folder, name));
    }),
  );
  return lists.flat();
}

/** Whether the file ends with the chunk IEND and its sum (W3C, PNG specification, 11.2.5). */
async function isWholePng(path: string): Promise<boolean> {
  const bytes = await readFile(path);
  return bytes.subarray(-8, -4).toString("latin1") === "IEND";
}

/** Toggles once, and waits for the effect, because the next frame may be late. */
async function setPause(
  { line, ask, clock }: { readonly line: RetroArchLine; readonly ask: Ask; readonly clock: Clock },
  isWanted: boolean,
  before: RetroArchStatus,
): Promise<void> {
  if ((before === "paused") === isWanted) return;
  line.say("PAUSE_TOGGLE");
  const wanted = isWanted ? "paused" : "playing";
  for (const deadline = performance.now() + pauseMsMax; performance.now() < deadline; ) {
    await sleep(clock, askAgainMs);
    if ((await ask(stateMsMax)) === wanted) return;
  }
  throw failed(`RetroArch did not ${isWanted ? "pause" : "go on"}`);
}
