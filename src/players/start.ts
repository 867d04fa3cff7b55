/** Starts a player of any kind. */

import { startMpv } from "./mpv.ts";
import { startPlain } from "./plain.ts";
import type { ControlledPlayer, PlayerOrder, PlayerParts } from "./player.ts";
import { startRetroArch } from "./retroarch.ts";

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
