/** What a player is to the rest: a process, and, where it can be spoken with, a state and things that it does. */
import type { Clock } from "../core/clock.ts";
import type { PlaybackState } from "../core/media.ts";
import type { ControlAction, PlayerKind, VolumeChange } from "../core/playback.ts";
import type { Player } from "../system/process.ts";

/** How a player is to be started: a launcher with the file in its place. */
export interface PlayerOrder {
  readonly kind: PlayerKind;
  readonly argv: readonly string[];
  /** Where in `argv` further options may stand: before the file. */
  readonly optionsAt: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

export interface PlayerParts {
  /** The launcher's, for sentences. */
  readonly name: string;
  readonly clock: Clock;
  /** The owner's ceiling, in percent. */
  readonly volumeMax: number;
}

export interface PlayerState {
  readonly positionMs?: number;
  readonly durationMs?: number;
  readonly playbackState?: PlaybackState;
}

export interface ControlledPlayer {
  readonly process: Player;
  /** Resolves when it shows what it was started with; absent where it does not tell. */
  readonly ready?: Promise<void>;
  /** What it says of itself now, or, where it does not answer at once, what it said last. Empty where it says nothing. */
  state(): Promise<PlayerState>;
  /** All that it knows by other means than its exit code of why it ended; undefined where there is nothing. */
  complaint(): string | undefined;
  /** Rejects with `ServiceError("failed")`, and a sentence, for what it cannot, or where it does not answer. */
  control(action: ControlAction): Promise<void>;
  /** As `control`, never beyond `volumeMax`; absent where it has no volume of its own that can be set. */
  changeVolume?(change: VolumeChange, volumeMax: number): Promise<void>;
}
