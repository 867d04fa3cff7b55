/** What a player is to the rest: a process, and, where it can be spoken with, a state and things that it does. */
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { PlaybackState } from "../core/media.ts";
import type { ControlAction, PlayerKind, Resuming, StopHow, VolumeChange } from "../core/playback.ts";
import { type Player, spawnPlayer } from "../system/process.ts";
import { startMpv } from "./mpv.ts";
import { startRetroArch } from "./retroarch.ts";

/** How a player is to be started: a launcher with the file in its place. */
export interface PlayerOrder {
  readonly kind: PlayerKind;
  readonly argv: readonly string[];
  /** Where in `argv` further options may stand: before the file. */
  readonly optionsAt: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** It runs without tapdeck-confine. */
  readonly isUnconfined?: true;
  /** Where it is not ended in the usual way. */
  readonly stop?: StopHow;
  /** Of RetroArch: neither is done where absent. */
  readonly resuming?: Resuming;
  /** Of RetroArch: where it keeps what games save; its own settings decide where absent. */
  readonly saves?: SavePlace;
  /** Of RetroArch: where BIOS files are, where that is not its own folder. */
  readonly systemFolder?: string;
}

export interface SavePlace {
  readonly folder: string;
  /** The folder for settings of this start; one in the usual place where absent. */
  readonly settings?: string;
}

export interface PlayerParts {
  /** The launcher's, for sentences. */
  readonly name: string;
  readonly clock: Clock;
  /** How loud it is to begin, in percent, not beyond the owner's ceiling; undefined where it may be as it is by itself. */
  readonly volume: number | undefined;
  /** Told each time that it pauses or goes on, as far as it tells; where it begins to play, nothing is told. */
  readonly onPause: (isPaused: boolean) => void;
}

export interface PlayerState {
  readonly positionMs?: number;
  readonly durationMs?: number;
  readonly playbackState?: PlaybackState;
  /** Percent. */
  readonly volume?: number;
}

/** What a player is told to do; its volume has a way of its own. */
export type PlayerAction = Exclude<ControlAction, { readonly kind: "volume" }>;

export interface ControlledPlayer {
  readonly process: Player;
  /** Resolves when it shows what it was started with; absent where it does not tell. */
  readonly ready?: Promise<void>;
  /** What it says of itself now, or, where it does not answer at once, what it said last. Empty where it says nothing. */
  state(): Promise<PlayerState>;
  /** All that it knows by other means than its exit code of why it ended; undefined where there is nothing. */
  complaint(): string | undefined;
  /** Rejects with `ServiceError("failed")`, and a sentence, for what it cannot, or where it does not answer. */
  control(action: PlayerAction): Promise<void>;
  /**
   * Asks it to end by a command of its own, and resolves once it has, or after `msMax`: it may not have heard. Absent where
   * a signal is all that it knows.
   */
  quit?(msMax: number): Promise<void>;
  /**
   * As `control`, never beyond `volumeMax`, and resolves with the volume that it has then; absent where it has none of its
   * own that can be set.
   */
  changeVolume?(change: VolumeChange, volumeMax: number): Promise<number>;
}

/** Throws `ServiceError("failed")` with a sentence where the program cannot be started. */
export function startPlayer(order: PlayerOrder, parts: PlayerParts): ControlledPlayer {
  switch (order.kind) {
    case "mpv":
      return startMpv(order, parts);
    case "retroarch":
      return startRetroArch(order, parts);
    case "process":
      return startPlain(order, parts);
  }
}

/** Starts it; throws as `spawnPlayer` does. */
export function startPlain(
  { argv, environment, folder, isUnconfined }: PlayerOrder,
  { name }: Pick<PlayerParts, "name">,
): ControlledPlayer {
  const process = spawnPlayer(argv, {
    ...(environment === undefined ? {} : { environment }),
    folder,
    ...(isUnconfined === true ? { reach: "everything" } : {}),
  });
  return {
    process,
    state: async () => ({}),
    complaint: () => undefined,
    async control({ kind }) {
      throw new ServiceError(
        "failed",
        `the player ${name} can only be started and stopped: ${kind.replace("-", " ")} needs kind = "mpv" or "retroarch" in its [[launchers]]`,
      );
    },
  };
}
