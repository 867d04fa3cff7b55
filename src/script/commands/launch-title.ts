/** `@System/Title (tag)`, or `**launch.title:System/Title (tag)`: starts media by its name. */
import { ServiceError } from "../../core/errors.ts";
import type { ScriptCommand, WantedTitle } from "../command.ts";
import { indexOf } from "../media-queries.ts";
import { fileOptions, howOf } from "./launch.ts";

export const launchTitle: ScriptCommand = {
  names: ["launch.title"],
  argsMin: 1,
  argsMax: 1,
  args: "System/Title (tag)",
  options: fileOptions,
  startsMedia: true,
  allowedUntrusted: true,
  needsIndex: true,
  docs: "Looks a title up in the media index and starts the file that fits best. Tags in brackets narrow it down. `@System/Title (tag)` is the short form, in which commas mean nothing.",
  example: "@SNES/Super Game (USA)",
  async run(call, ports) {
    const wanted = titleOf(call.args[0] ?? "");
    const { path, why } = await indexOf(ports, "titles need it").title(wanted);
    await ports.launch(path, { ...howOf(call), ...(why === undefined ? {} : { why }) });
  },
};

/** Takes it apart at the first slash, and the groups in brackets off its end. Throws `ServiceError("failed")`. */
export function titleOf(text: string): WantedTitle {
  const slash = text.indexOf("/");
  const system = text.slice(0, Math.max(0, slash)).trim();
  const tags: string[] = [];
  let title = text.slice(slash + 1).trim();
  while (title.endsWith(")")) {
    const open = title.lastIndexOf("(");
    // A title of nothing but brackets is a title.
    if (open <= 0) break;
    tags.unshift(title.slice(open + 1, -1).trim());
    title = title.slice(0, open).trimEnd();
  }
  if (system === "" || title === "")
    throw new ServiceError("failed", `a title is written System/Title (tag), not "${text.slice(0, 64)}"`);
  return { system, title, tags: tags.filter((tag) => tag !== "") };
}
