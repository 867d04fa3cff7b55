/** `**launch:path?launcher=id&system=id`, and every text that is not a command: starts media. */
import type { Call, LaunchHow, ScriptCommand } from "../command.ts";

/** The option of every command that starts a file. */
export const launcherOption = { launcher: "The id of the player, among those that take the file." } as const;

export const launch: ScriptCommand = {
  names: ["launch"],
  argsMin: 1,
  argsMax: 1,
  args: "path",
  options: {
    ...launcherOption,
    system:
      "The system that the file is for, by any of its names. Its extension must be one of that system, or stated by the player.",
  },
  startsMedia: true,
  allowedUntrusted: true,
  docs: "Starts a file: an absolute path, or `<System>/<relative path>` below a media folder. A folder or a list that no player takes plays as `playlist.play` does. Any text that is not a command is its argument.",
  example: "SNES/Super Game.sfc?launcher=snes9x",
  run: (call, ports) => ports.launch(call.args[0] ?? "", howOf(call)),
};

/** Which player and system a call asks for. */
export function howOf({ options }: Call): LaunchHow {
  const [launcher, system] = [options.get("launcher"), options.get("system")];
  return {
    ...(launcher === undefined ? {} : { launcher }),
    ...(system === undefined ? {} : { system }),
  };
}
