/** `**launch.random:System,folder,System/*words*`: starts any file of them. */
import { ServiceError } from "../../core/errors.ts";
import type { RandomSource, ScriptCommand } from "../command.ts";
import { indexOf, queryOf } from "../media-queries.ts";
import { fileOptions, howOf } from "./launch.ts";

export const launchRandom: ScriptCommand = {
  names: ["launch.random", "random"],
  argsMin: 1,
  argsMax: 64,
  args: "system, folder or query, ...",
  options: fileOptions,
  startsMedia: true,
  allowedUntrusted: true,
  needsIndex: true,
  docs: "Starts any file of the systems, folders (`/absolute` or `System/folder`) and searches (`System/*words*`) given, each file with even odds. `all` stands for every system.",
  example: "**launch.random:SNES,NES/Puzzles,all/*race*",
  async run(call, ports) {
    const sources = call.args.map(sourceOf);
    await ports.launch(await indexOf(ports, "a random choice needs it").random(sources), howOf(call));
  },
};

export function sourceOf(text: string): RandomSource {
  if (text === "")
    throw new ServiceError("failed", "launch.random takes systems, folders and searches, not nothing");
  if (text.includes("*")) return { kind: "query", ...queryOf(text) };
  if (text.includes("/")) return { kind: "folder", path: text };
  return text.toLowerCase() === "all" ? { kind: "all" } : { kind: "system", system: text };
}
