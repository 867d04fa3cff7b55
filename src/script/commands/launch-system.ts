/** `**launch.system:id`: starts a system without media. */
import type { ScriptCommand } from "../command.ts";

export const launchSystem: ScriptCommand = {
  names: ["launch.system", "system"],
  argsMin: 1,
  argsMax: 1,
  args: "system",
  options: {},
  startsMedia: true,
  allowedUntrusted: true,
  docs: "Starts a system without media, such as its menu. It needs a launcher in the config file that names the system and has no `{path}` in its command.",
  example: "**launch.system:SNES",
  run: ({ args: [system = ""] }, ports) => ports.launchSystem(system),
};
