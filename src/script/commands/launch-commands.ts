/** Commands that start media: a file, a title, the result of a search, a system. */
import { publicError, wrongScript } from "../../core/errors.ts";
import {
  type Call,
  type LaunchHow,
  type MediaLookup,
  type NameQuery,
  type RandomSource,
  readFlag,
  type ScriptCommand,
  type ScriptPorts,
  type WantedTitle,
} from "../command.ts";

const resumeOption = {
  resume:
    "`no` starts from the beginning, and `yes` continues. Without this option `retroarch.resume` decides for games of RetroArch, and `playback.resume` for sounds and films of mpv, and for playlists. Battery RAM is loaded in both cases.",
} as const;

/** The options of every command that starts a file. */
export const fileOptions = {
  launcher: "The id of the player, among those that take the file.",
  ...resumeOption,
} as const;

const common = {
  ignores: { action: "run", name: "", pre_notice: "", set_name: "", set_name_same_dir: "" },
  argsMin: 1,
  argsMax: 1,
  options: fileOptions,
  startsMedia: true,
  takesSlot: true,
  allowedUntrusted: true,
} as const;

export const launchCommands: readonly ScriptCommand[] = [
  {
    ...common,
    names: ["launch"],
    args: "path",
    options: {
      ...fileOptions,
      system:
        "The system that the file is for, by any of its names. Its extension must belong to that system, or be listed by the player.",
    },
    docs: "Starts a file: an absolute path, or `<System>/<relative path>` below a media folder. A folder or a list without a player of its own is played like `playlist.play`. If there is no such file, `<System>/<Title>` without an extension is a title, and a text with `*` a search. A text that is not a command is an argument of this command.",
    example: "SNES/Super Game.sfc?launcher=snes9x",
    run: (call, ports) => ports.launch(call.args[0] ?? "", howOf(call)),
  },
  {
    ...common,
    names: ["launch.title"],
    args: "System/Title (tag)",
    needsIndex: true,
    options: { ...fileOptions, tags: "More tags, with commas between them." },
    docs: "Looks a title up in the media index and starts the file that fits best. Without a system, it looks in all systems. Tags in brackets narrow the choice, as `(USA)` or `(region:us)`. `-` before a tag excludes it, and of the tags after `~` one is enough. `@System/Title (tag)` is the short form, in which commas are plain characters.",
    example: "@SNES/Super Game (USA)",
    async run(call, ports) {
      const named = titleOf(call.args[0] ?? "");
      const more = (call.options.get("tags") ?? "").split(",").map((tag) => tag.trim());
      const wanted = { ...named, tags: [...named.tags, ...more.filter((tag) => tag !== "")] };
      const { path, why } = await indexOf(ports, "titles need it").title(wanted);
      await ports.launch(path, { ...howOf(call), ...(why === undefined ? {} : { why }) });
    },
  },
  {
    ...common,
    names: ["launch.search", "search"],
    args: "System/query",
    needsIndex: true,
    docs: "Starts the best result of a search in the media index. `*` stands for any text. Without a system, or with `all`, it searches all systems.",
    example: "**launch.search:SNES/*super*game*",
    async run(call, ports) {
      const query = queryOf(call.args[0] ?? "");
      await ports.launch(await indexOf(ports, "a search needs it").search(query), howOf(call));
    },
  },
  {
    ...common,
    names: ["launch.random", "random"],
    argsMax: 64,
    args: "system, folder or query, ...",
    needsIndex: true,
    docs: "Starts a random file of the given systems, folders (`/absolute` or `System/folder`) and searches (`System/*words*`). All files are equally likely. `all` stands for every system.",
    example: "**launch.random:SNES,NES/Puzzles,all/*race*",
    async run(call, ports) {
      const sources = call.args.map(randomSourceOf);
      await ports.launch(await indexOf(ports, "a random choice needs it").random(sources), howOf(call));
    },
  },
  {
    ...common,
    names: ["launch.system", "system"],
    args: "system",
    options: {},
    docs: "Starts a system without media, such as its menu. It needs a launcher in the config file that names the system and has no `{path}` in its command. `menu` stops the player.",
    example: "**launch.system:SNES",
    run: ({ args: [system = ""] }, ports) =>
      system.toLowerCase() === "menu" ? ports.stop() : ports.launchSystem(system),
  },
  {
    ...common,
    names: ["launch.last"],
    argsMin: 0,
    args: "how many back",
    options: resumeOption,
    docs: "Starts the media that was started last, also if it still plays, and also after a restart. `2` is the media before it, `3` the one before that, and so on. Media that were started twice count once.",
    example: "**launch.last:2",
    async run(call, ports) {
      const [text = "1"] = call.args;
      if (!/^[1-9]\d{0,2}$/.test(text))
        throw wrongScript(`launch.last takes a number from 1 to 999, not "${text.slice(0, 64)}"`);
      await ports.launchLast({ ...(text === "1" ? {} : { nth: Number(text) }), ...resumeOf(call) });
    },
  },
];

/** Reads the options of a command that starts a file. Throws `ServiceError("failed")`. */
export function howOf(call: Call): LaunchHow {
  const launcher = call.options.get("launcher");
  const system = call.options.get("system");
  return {
    ...(launcher === undefined ? {} : { launcher }),
    ...(system === undefined ? {} : { system }),
    ...resumeOf(call),
  };
}

function resumeOf({ options }: Call): Pick<LaunchHow, "resume"> {
  const text = options.get("resume")?.trim().toLowerCase();
  if (text === undefined) return {};
  const resume = readFlag(text);
  if (resume !== undefined) return { resume };
  throw wrongScript(`resume is yes or no, not "${text.slice(0, 64)}"`);
}

/**
 * Reads a title. The system stands before the first slash, and the tags in brackets at the end. Throws
 * `ServiceError("failed")`.
 */
export function titleOf(text: string): WantedTitle {
  const slash = text.indexOf("/");
  const system = text.slice(0, Math.max(0, slash)).trim();
  const tags: string[] = [];
  let title = text.slice(slash + 1).trim();
  while (title.endsWith(")")) {
    const open = title.lastIndexOf("(");
    // A title may have brackets only.
    if (open <= 0) break;
    tags.unshift(title.slice(open + 1, -1).trim());
    title = title.slice(0, open).trimEnd();
  }
  if (title === "") throw wrongScript(`a title is written System/Title (tag), not "${text.slice(0, 64)}"`);
  return { ...(system === "" ? {} : { system }), title, tags: tags.filter((tag) => tag !== "") };
}

function randomSourceOf(text: string): RandomSource {
  if (text === "") throw wrongScript("launch.random takes systems, folders and searches, not nothing");
  if (text.includes("*")) return { kind: "query", ...queryOf(text) };
  if (text.includes("/")) return { kind: "folder", path: text };
  return text.toLowerCase() === "all" ? { kind: "all" } : { kind: "system", system: text };
}

/** The media index. Throws `ServiceError("failed")` if there is no index; `why` names the command that needs it. */
function indexOf({ index }: ScriptPorts, why: string): MediaLookup {
  if (index === undefined)
    throw publicError(
      "failed",
      `there is no media index here, and ${why}: write the path of a file`,
      "index-missing",
    );
  return index;
}

/** Reads `System/pattern`, or a pattern for all systems, which may also be written `all/pattern`. */
export function queryOf(text: string): NameQuery {
  const slash = text.indexOf("/");
  const system = text.slice(0, Math.max(0, slash)).trim();
  const pattern = text.slice(slash + 1).trim();
  if (pattern === "") throw wrongScript(`a search says what to look for, not "${text.slice(0, 64)}"`);
  return system === "" || system.toLowerCase() === "all" ? { pattern } : { system, pattern };
}
