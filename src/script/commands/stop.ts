/** `**stop`: ends what plays. */
import type { ScriptCommand } from "../command.ts";

export const stop: ScriptCommand = {
  names: ["stop"],
  argsMin: 0,
  argsMax: 0,
  options: [],
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Stops what plays.",
  run: (_command, ports) => ports.stop(),
};
