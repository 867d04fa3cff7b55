/** `**echo:text`: says something in the log. */
import type { ScriptCommand } from "../command.ts";

export const echo: ScriptCommand = {
  names: ["echo"],
  argsMin: 0,
  argsMax: 64,
  args: "text, ...",
  options: {},
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Writes its arguments to the log.",
  example: "**echo:[[last_scanned.id]] was read on [[device.hostname]]",
  async run({ args }, ports) {
    ports.echo(args.join(", "));
  },
};
