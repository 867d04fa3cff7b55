/** Any program: started, watched and ended. It is not spoken with. */
import { ServiceError } from "../core/errors.ts";
import { spawnPlayer } from "../system/process.ts";
import type { ControlledPlayer, PlayerOrder, PlayerParts } from "./player.ts";

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
