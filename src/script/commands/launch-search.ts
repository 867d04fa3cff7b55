/** `**launch.search:System/*words*`: starts the first file that a search finds. */
import type { ScriptCommand } from "../command.ts";
import { indexOf, queryOf } from "../media-queries.ts";
import { fileOptions, howOf } from "./launch.ts";

export const launchSearch: ScriptCommand = {
  names: ["launch.search", "search"],
  argsMin: 1,
  argsMax: 1,
  args: "System/query",
  options: fileOptions,
  startsMedia: true,
  allowedUntrusted: true,
  needsIndex: true,
  docs: "Starts what fits best of a search in the media index. `*` stands for anything; without a system, or with `all`, it looks in all of them.",
  example: "**launch.search:SNES/*super*game*",
  async run(call, ports) {
    const query = queryOf(call.args[0] ?? "");
    await ports.launch(await indexOf(ports, "a search needs it").search(query), howOf(call));
  },
};
