/** Starts a player of any kind. */
import { failed } from "../core/errors.ts";
import { spawnPlayer } from "../system/process.ts";
import { startMpv } from "./mpv.ts";
import type { ControlledPlayer, PlayerOrder, PlayerParts } from "./player.ts";
import { startRetroArch } from "./retroarch.ts";

/** Starts the player that the order names. Throws `ServiceError("failed")` with a sentence if the program cannot be started. */
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

/** Starts a player that has no controls, which may be any program. Throws as `spawnPlayer` does. */
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
      throw failed(
        `the player ${name} can only be started and stopped: ${kind.replace("-", " ")} needs kind = "mpv" or "retroarch" in its [[launchers]]`,
      );
    },
  };
}
