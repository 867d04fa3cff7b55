/** `**echo:text`: says something in the log. */
import type { ScriptCommand } from "../command.ts";

export const echo: ScriptCommand = {
  names: ["echo"],
  argsMin: 0,
  argsMax: 64,
  options: [],
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Writes its arguments to the log.",
  async run({ args }, ports) {
    ports.echo(args.join(", "));
  },
};
