/** What plays now: one player at a time. The new one starts only after the old one is gone. */
import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import type { ActiveMedia } from "../core/media.ts";
import { mediaNameOf } from "../core/paths.ts";
import { type Exit, type Player, spawnPlayer } from "../system/process.ts";
import type { Choice } from "./launchers.ts";
import type { MediaFile } from "./media-file.ts";

// Players save their games when they are asked to end; a second is what a hand takes to change cards.
export const stopGraceMs = 1000;

export interface Playing {
  active(): ActiveMedia | undefined;
  /** Starts a player; whoever plays must have been stopped. Throws where the program cannot be started. */
  start(file: MediaFile, choice: Choice): void;
  /** Ends what plays, and resolves once nothing of it is left; does nothing where nothing plays. */
  stop(): Promise<void>;
}

interface Current {
  readonly media: ActiveMedia;
  readonly player: Player;
  readonly startedMs: number;
}

export function createPlaying(bus: Bus, clock: Clock): Playing {
  let current: Current | undefined;
  // A player that ended by itself may have left something of its group, which is being ended.
  let lastGone: Promise<void> | undefined;

  const ended = (which: Current, { exitCode }: Exit) => {
    if (current !== which) return;
    current = undefined;
    const elapsed = Math.round((clock.now() - which.startedMs) / 1000);
    bus.emit("media.stopped", { ...which.media, elapsed, exitCode });
  };
  return {
    active: () => current?.media,
    start(file, choice) {
      const player = spawnPlayer(choice.argv);
      const startedMs = clock.now();
      const media: ActiveMedia = {
        systemId: file.system.id,
        systemName: file.system.name,
        mediaPath: file.path,
        mediaName: mediaNameOf(file.path),
        launcherId: choice.launcherId,
        started: rfc3339(startedMs),
      };
      const started: Current = { media, player, startedMs };
      current = started;
      lastGone = player.gone;
      bus.emit("media.started", media);
      void player.exited.then((exit) => ended(started, exit));
    },
    async stop() {
      const stopping = current;
      if (stopping !== undefined) ended(stopping, await stopping.player.stop(stopGraceMs));
      await lastGone;
    },
  };
}
