/** `**launch:path?launcher=id&system=id`, and every text that is not a command: starts media. */
import type { ScriptCommand } from "../command.ts";

export const launch: ScriptCommand = {
  names: ["launch"],
  argsMin: 1,
  argsMax: 1,
  options: ["launcher", "system"],
  startsMedia: true,
  allowedUntrusted: true,
  docs: "Starts a file: an absolute path, or <System>/<relative path> below a media folder.",
  run({ args: [path = ""], options }, ports) {
    const [launcher, system] = [options.get("launcher"), options.get("system")];
    return ports.launch(path, {
      ...(launcher === undefined ? {} : { launcher }),
      ...(system === undefined ? {} : { system }),
    });
  },
};
