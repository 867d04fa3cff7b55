/** `**launch.last`: starts what was started last once more. */
import type { ScriptCommand } from "../command.ts";
import { resumeOf, resumeOption } from "./launch.ts";

export const launchLast: ScriptCommand = {
  names: ["launch.last"],
  argsMin: 0,
  argsMax: 0,
  args: "",
  options: resumeOption,
  startsMedia: true,
  allowedUntrusted: true,
  docs: "Starts the media that was started last, whether or not it still plays, and also after the device was off.",
  example: "**launch.last",
  run: (call, ports) => ports.launchLast(resumeOf(call)),
};
