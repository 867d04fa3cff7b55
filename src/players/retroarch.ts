/**
 * RetroArch: games, by a libretro core for each system, spoken with over its standard input and output. A private file of
 * settings for this one start stands on top of the owner's own, of which nothing is changed.
 */
import { mkdtempSync, rm, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, sleep } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { mediaReadyMsMax } from "../core/limits.ts";
import type { PlainAction, Resuming } from "../core/playback.ts";
import { type Player, spawnPlayer } from "../system/process.ts";
import type {
  ControlledPlayer,
  PlayerAction,
  PlayerOrder,
  PlayerParts,
  PlayerState,
  SavePlace,
} from "./player.ts";
import { openRetroArchLine, type RetroArchLine, type RetroArchStatus } from "./retroarch-line.ts";

// It answers in its next frame; while a core loads, it does not at all.
const stateMsMax = 250;
const answerMsMax = 2000;
const askAgainMs = 50;
const pauseMsMax = 5000;
const pausedAskMs = 2000;
const softest = -80; // dB
const autosaveSeconds = 10;
// With the second or two until it is carried to the disk, battery RAM is there within 10 s of a change.
const carriedAutosaveSeconds = 5;
const noResuming: Resuming = { loadsState: false, savesState: false };

/** Starts it; throws as `spawnPlayer` does. */
export function startRetroArch(
  order: PlayerOrder,
  { clock, volume, onPause }: Pick<PlayerParts, "clock" | "volume" | "onPause">,
): ControlledPlayer {
  const { argv, optionsAt, environment, folder, resuming = noResuming, saves, systemFolder } = order;
  const settings = writeSettings(
    {
      ...usualSettings,
      ...resumeSettings(resuming),
      ...saveSettings(saves),
      ...loudness(volume),
      ...(systemFolder === undefined ? {} : { system_directory: systemFolder }),
    },
    saves?.settings,
  );
  const process = startWith(settings, () =>
    spawnPlayer(argv.toSpliced(optionsAt, 0, `--appendconfig=${settings.path}`), {
      ...(environment === undefined ? {} : { environment }),
      folder,
      hasTalk: true,
      reach: "offline",
      mayHandOn: false,
    }),
  );
  const line = openRetroArchLine(process, clock);
  const ended = new AbortController();
  let last: RetroArchStatus | undefined;
  let turn: Promise<unknown> = Promise.resolve();
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
  // A key of the keyboard may let it go on, and nobody else would tell: what is paused is free of play time.
  const untilResumed = async () => {
    while (last === "paused" && !ended.signal.aborted) {
      await sleep(clock, pausedAskMs, ended.signal).catch(() => {});
      await ask(stateMsMax).catch(() => {});
    }
  };
  return {
    process,
    ready: untilPlaying(ask, clock, ended.signal),
    state: async () => stateOf((await ask(stateMsMax)) ?? last),
    complaint: () => undefined,
    control(action) {
      // A pause is a toggle, and two at once would be none.
      const mine = turn.then(() => control(line, ask, action, clock));
      turn = mine.catch(() => {});
      return mine;
    },
    async quit(msMax) {
      // One that has not answered yet does not listen.
      if (last === undefined) return;
      line.say("QUIT");
      await sleep(clock, msMax, ended.signal).catch(() => {});
    },
  };
}

/** Undefined where it does not answer within `msMax`. */
type Ask = (msMax: number) => Promise<RetroArchStatus | undefined>;

interface SettingsFile {
  readonly path: string;
  /** Takes it away; call it once. */
  release(): void;
}

/** In a folder that only this user may enter. It reads them again when a core or a game changes. */
function writeSettings(settings: RetroArchSettings, parent = tmpdir()): SettingsFile {
  const folder = mkdtempSync(join(parent, "tapdeck-retroarch-"));
  const path = join(folder, "settings.cfg");
  // Nothing depends on when it is gone.
  const release = () => rm(folder, { recursive: true, force: true }, () => {});
  const lines = Object.entries(settings).map(([key, value]) => `${key} = "${value}"\n`);
  writeFileSync(path, lines.join(""), { mode: 0o600 });
  return { path, release };
}

/** The file goes with the player, or at once where that could not be started. */
function startWith(settings: SettingsFile, start: () => Player): Player {
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
  // Its ports for commands and for a remote gamepad are open to every address of the device.
  network_cmd_enable: "false",
  network_remote_enable: "false",
  // It would ask a server for each game.
  cheevos_enable: "false",
  // What holds for this start must not get into the owner's own file.
  config_save_on_exit: "false",
  // So that one QUIT is enough.
  quit_press_twice: "false",
  // There is no window manager that could give it the focus.
  pause_nonactive: "false",
  // Battery RAM that has changed is written so often, for a plug that is pulled.
  autosave_interval: String(autosaveSeconds),
};

/**
 * One state for each game, `<game>.state.auto`. RetroArch writes it at its end, and only where it finds the core in its
 * `libretro_directory` and an info file for it. A state that it cannot load is left out, and the game starts.
 */
function resumeSettings({ loadsState, savesState }: Resuming): RetroArchSettings {
  return {
    savestate_auto_load: String(loadsState),
    savestate_auto_save: String(savesState),
    ...(loadsState || savesState ? stateSettings : {}),
  };
}

const stateSettings: RetroArchSettings = {
  // A state is named after the file alone: without a folder for each system and core, games of one name would share it.
  sort_savestates_enable: "true",
  sort_savestates_by_content_enable: "true",
  // After a crash or a pulled plug the state is older than battery RAM, which must not go back to what it was.
  block_sram_overwrite: "true",
};

/** Saves lie by the name of the folder around the game, and states below that by core too (`src/launch/saves/save-names.ts`). */
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
 * How loud it begins: a gain in dB, -80 to 12, by which all samples are multiplied (RetroArch 1.14, `audio_driver.c`), and
 * none where it is muted. It cannot be asked for it, nor told another one later but in steps. `percent` is undefined where
 * the owner's own setting holds.
 */
function loudness(percent: number | undefined): RetroArchSettings {
  if (percent === undefined) return {};
  return percent <= 0
    ? { audio_mute_enable: "true", audio_volume: softest.toFixed(1) }
    : { audio_volume: Math.max(softest, 20 * Math.log10(percent / 100)).toFixed(2) };
}

/** Never rejects; a RetroArch that never answers is never ready. */
async function untilPlaying(ask: Ask, clock: Clock, ended: AbortSignal): Promise<void> {
  const deadline = performance.now() + mediaReadyMsMax;
  while (performance.now() < deadline && !ended.aborted) {
    const status = await ask(stateMsMax);
    if (status === "playing" || status === "paused") return;
    // Ended meanwhile: the loop ends too.
    await sleep(clock, askAgainMs, ended).catch(() => {});
  }
  return new Promise(() => {});
}

function stateOf(status: RetroArchStatus | undefined): PlayerState {
  if (status === undefined) return { playbackState: "loading" };
  return status === "contentless" ? {} : { playbackState: status };
}

/** docs.libretro.com, "Network control interface": the same commands. */
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
  if (now === undefined) throw new ServiceError("failed", "RetroArch does not answer");
  if (kind === "pause" || kind === "resume" || kind === "toggle") {
    const isWanted = kind === "toggle" ? now !== "paused" : kind === "pause";
    return setPause({ line, ask, clock }, isWanted, now);
  }
  const command = kind === "seek" || kind === "rewind" ? undefined : commandOf(kind);
  if (command === undefined)
    throw new ServiceError(
      "failed",
      `RetroArch has no ${kind.replace("-", " ")} that it could be told to do`,
    );
  line.say(command);
}

function commandOf(kind: PlainAction | "fast-forward"): string | undefined {
  return commands[kind];
}

interface Asking {
  readonly line: RetroArchLine;
  readonly ask: Ask;
  readonly clock: Clock;
}

/** Toggles once, and makes sure: the next frame may be late. */
async function setPause(
  { line, ask, clock }: Asking,
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
  throw new ServiceError("failed", `RetroArch did not ${isWanted ? "pause" : "go on"}`);
}
