/** The contract of a player: the order to start it, then a process with a state and controls. */
import type { Clock } from "../core/clock.ts";
import type { ActiveMedia } from "../core/media.ts";
import type {
  ControlAction,
  PlayerKind,
  Progress,
  Resuming,
  ScreenView,
  StopHow,
  VolumeChange,
} from "../core/playback.ts";
import type { WebBody } from "../system/http-exchange.ts";
import type { Player } from "../system/process.ts";

/** The order to start a player: a launcher's command with the file in its place. */
export interface PlayerOrder {
  readonly kind: PlayerKind;
  readonly argv: readonly string[];
  /** The index in `argv` for further options, before the file. */
  readonly optionsAt: number;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly folder?: string | undefined;
  /** True if the player runs without tapdeck-confine. */
  readonly isUnconfined?: true | undefined;
  /** The way to stop the player; absent for the usual stop by signals. */
  readonly stop?: StopHow | undefined;
  /** The position of the start, if it is not the beginning. Only mpv has it. */
  readonly startMs?: number;
  /** Whether a state is loaded and saved; neither if absent. Only RetroArch has states. */
  readonly resuming?: Resuming;
  /** The folder of saves; RetroArch's own settings decide if absent. */
  readonly saves?: SavePlace;
  /** The bytes that mpv plays from its standard input, instead of a file. */
  readonly stream?: WebBody;
  /** The discs of a game that has several. Only RetroArch takes them. */
  readonly discs?: DiscSet;
  /** The folder of BIOS files, if it is not RetroArch's own. */
  readonly systemFolder?: string;
}

export interface DiscSet {
  /** The path of the list that names the discs, or otherwise that of the first disc. Saves are named after this file. */
  readonly content: string;
  /** The absolute paths of the discs, in order. */
  readonly paths: readonly string[];
  /** The place in `paths` of the disc that is in the drive at the start. */
  readonly inserted: number;
}

export interface SavePlace {
  readonly folder: string;
  /** The folder for the settings of this start; a temporary one if absent. */
  readonly settings?: string;
}

export interface PlayerParts {
  /** The name of the launcher, for error messages. */
  readonly name: string;
  readonly clock: Clock;
  /** How pictures are placed on the screen; the player's own way if absent. */
  readonly view?: ScreenView;
  /** The initial volume in percent, below the owner's ceiling; undefined for the player's own volume. */
  readonly volume: number | undefined;
  /** How much later than the player assumes its sound is heard, in milliseconds; 0 if absent. */
  readonly latenessMs?: number;
  /** Called after each pause and each resume that the player reports, but not when it starts to play. */
  readonly onPause: (isPaused: boolean) => void;
}

export type PlayerState = Pick<
  ActiveMedia,
  "positionMs" | "durationMs" | "playbackState" | "volume" | "streamTitle" | "disc"
>;

/** A control of a player, without the volume (`changeVolume`). */
export type PlayerAction = Exclude<ControlAction, { readonly kind: "volume" }>;

export interface ControlledPlayer {
  readonly process: Player;
  /** Resolves when the media is shown; absent if the player does not report it. */
  readonly ready?: Promise<void>;
  /** The present state, or the last known state if the player does not answer at once. */
  state(): Promise<PlayerState>;
  /** The position by the last report, without a request to the player; absent if the player has none. */
  progress?(): Progress | undefined;
  /** The player's error messages over its control line; undefined without any. */
  complaint(): string | undefined;
  /** Rejects with `ServiceError("failed")` and a sentence if the player cannot do it or does not answer. */
  control(action: PlayerAction): Promise<void>;
  /** Changes the disc to the one of this place, from 0. Rejects as `control` does; absent for a game of one disc. */
  insertDisc?(place: number): Promise<void>;
  /** Saves a picture in the player's own folder, and resolves with its path. Rejects as `control` does; absent without pictures. */
  picture?(): Promise<string>;
  /** Sends a command to quit, and resolves after the player ended or after `msMax`. Absent if it only knows signals. */
  quit?(msMax: number): Promise<void>;
  /** The sound is heard so much later from now on. Rejects as `control` does; absent if the player cannot delay its picture. */
  changeLateness?(ms: number): Promise<void>;
  /** Like `control`, never beyond `volumeMax`. Resolves with the new volume. Absent if the player has no volume of its own. */
  changeVolume?(change: VolumeChange, volumeMax: number): Promise<number>;
}
