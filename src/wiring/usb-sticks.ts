/** USB sticks join the media while they are plugged in. What plays from one that is removed is stopped. */
import { basename } from "node:path";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import type { Launcher } from "../launch/launcher.ts";
import { watchRemovable } from "../media/sticks/removable.ts";
import type { MediaWithSticks } from "../media/sticks/stick-library.ts";

export interface SticksParts {
  readonly media: Pick<MediaWithSticks, "plug">;
  readonly settings: Settings;
  readonly launcher: Pick<Launcher, "stopMediaIn">;
  readonly clock: Clock;
}

/** Follows the folders of the settings until disposed. */
export function followSticks({ media, settings, launcher, clock }: SticksParts): Disposable {
  const watching = watchRemovable({
    clock,
    changed: (present) => stopPlayersOn(launcher, media.plug(present)),
  });
  const aim = () => watching.aim(settings.current().systems.removableFolders);
  aim();
  const changes = settings.onChange(aim);
  return {
    [Symbol.dispose]() {
      changes[Symbol.dispose]();
      watching[Symbol.dispose]();
    },
  };
}

export function stopPlayersOn(launcher: SticksParts["launcher"], gone: readonly string[]): void {
  for (const folder of gone) launcher.stopMediaIn(folder, `the USB stick ${basename(folder)} was removed`);
}
