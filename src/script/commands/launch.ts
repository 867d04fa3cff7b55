/** `**launch:path?launcher=id&system=id`, and every text that is not a command: starts media. */
import { ServiceError } from "../../core/errors.ts";
import type { Call, LaunchHow, ScriptCommand } from "../command.ts";

export const resumeOption = {
  resume:
    "`no` starts a game of RetroArch from its beginning, `yes` where it was left; the setting `retroarch.resume` decides where nothing is said. Battery RAM is loaded either way.",
} as const;

/** The options of every command that starts a file. */
export const fileOptions = {
  launcher: "The id of the player, among those that take the file.",
  ...resumeOption,
} as const;

export const launch: ScriptCommand = {
  names: ["launch"],
  argsMin: 1,
  argsMax: 1,
  args: "path",
  options: {
    ...fileOptions,
    system:
      "The system that the file is for, by any of its names. Its extension must be one of that system, or stated by the player.",
  },
  startsMedia: true,
  allowedUntrusted: true,
  docs: "Starts a file: an absolute path, or `<System>/<relative path>` below a media folder. A folder or a list that no player takes plays as `playlist.play` does. Any text that is not a command is its argument.",
  example: "SNES/Super Game.sfc?launcher=snes9x",
  run: (call, ports) => ports.launch(call.args[0] ?? "", howOf(call)),
};

/** How a call asks for media to be started. Throws `ServiceError("failed")`. */
export function howOf(call: Call): LaunchHow {
  const [launcher, system] = [call.options.get("launcher"), call.options.get("system")];
  return {
    ...(launcher === undefined ? {} : { launcher }),
    ...(system === undefined ? {} : { system }),
    ...resumeOf(call),
  };
}

/** Whether a call asks for a game to go on. Throws `ServiceError("failed")`. */
export function resumeOf({ options }: Call): Pick<LaunchHow, "resume"> {
  const resume = options.get("resume")?.trim().toLowerCase();
  if (resume === undefined) return {};
  if (["yes", "true", "1"].includes(resume)) return { resume: true };
  if (["no", "false", "0"].includes(resume)) return { resume: false };
  throw new ServiceError("failed", `resume is yes or no, not "${resume.slice(0, 64)}"`);
}
