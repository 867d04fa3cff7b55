/** Makes docs/SCRIPT.md from the facts of commands and variables: `bun tools/script-page.ts`. A test compares the page with its output. */
import { join } from "node:path";
import {
  delayMsMax,
  executeMsMax,
  expressionPartsMax,
  macroKeysMax,
  macroMsMax,
  scriptBytesMax,
  scriptCommandsMax,
  webRequestMsMax,
} from "../src/core/limits.ts";
import type { ScriptCommand } from "../src/script/command.ts";
import { misterCommands, scriptCommands } from "../src/script/commands/index.ts";
import { precedences, variables } from "../src/script/expression.ts";
import { scriptDifferences } from "./script-differences.ts";

export const pagePath = join(import.meta.dir, "../docs/SCRIPT.md");

export function scriptPage(): string {
  return `# Launch scripts

The text of a card is a launch script. \`tools/script-page.ts\` makes this page from the commands.

\`\`\`
SNES/Super Game.sfc
**stop||**delay:2s||Music/Song.mp3?launcher=mpv
@SNES/Super Game (USA)
**echo:nothing plays?when=[[!media_playing]]
\`\`\`

- \`||\` separates commands. They run in order, and the first command that fails ends the script. A script with a syntax error
  does not run at all. A \`||\` or \`|\` at the end has no effect.
- A command is \`**name:argument,argument?option=value&option=value\`. Names may have capital letters. \`**stop:\` is \`**stop\`.
- A text that does not begin with \`**\` is the path of a file, and its commas are plain characters. A text that begins with \`@\` is
  a title.
- White space at the ends of an argument is dropped. An argument in \`"\` or \`'\` is kept as it is.
- \`^\` escapes the next character: \`^,\` \`^?\` \`^^\`. \`^n\` is a line feed, \`^t\` a tabulator and \`^r\` a carriage return.
- An argument of a \`**\` command that begins with \`{\` is JSON up to its \`}\`, and is kept as it is. For a plain \`{\` write \`^{\`.
- A \`?\` without \`name=\` after it is a plain character, because file names contain it. Options before a \`&\` without \`name=\` are also plain characters, and a \`^\` in them escapes nothing. After a command name without \`:\`, an option may lack its value: \`**name?option\`. A \`?\` there that begins no option begins the arguments.
- A part between two \`||\` that has \`#key=value\` or \`#key\` words only is the script's traits. They start nothing, and \`launch.finished\`
  carries them. \`**traits:{"key":"value"}\` is their long form. Values may be in quotes. \`#key\` alone is \`true\`. With any
  other word the part is a path, because file names contain \`#\`.
- \`slot\` of the commands for media is \`primary\`, or \`background\` for music behind a game. One player runs at a time here. So
  with \`background\`, media start only while nothing plays, and all other commands do nothing.
- Every command takes \`when\`. If its value is \`false\`, \`no\`, \`0\` or empty, the command is skipped.
- A script has at most ${scriptBytesMax} bytes and ${scriptCommandsMax} commands.

## Commands

${scriptCommands.map(commandPart).join("\n")}
Refused, because they work on a MiSTer only: ${misterCommands.map((name) => `\`${name}\``).join(", ")}.

## Expressions

\`[[ ... ]]\` in an argument or an option is evaluated when its command runs. The result is text, and never parsed as script again.
For two plain brackets write \`^[^[\`.

| variable | type | |
|---|---|---|
${Object.entries(variables)
  .map(([name, { type, docs }]) => `| \`${name}\` | ${type === "flag" ? "true or false" : type} | ${docs} |`)
  .join("\n")}

Operators, from the lowest precedence to the highest: ${operators()}, \`!\`, brackets.

- \`==\` and \`!=\` compare two values of one type.
- \`<\` and \`>\` compare numbers, or texts in natural order: \`"1.9"\` comes before \`"1.10"\`.
- \`+\` adds numbers, and joins a text with any value.
- Texts are in \`"\` or \`'\`. \`true\` and \`false\` are values.
- All expressions of a script have at most ${expressionPartsMax} variables, texts, numbers and operators together.

## What a script may do

Anybody can make a link or a page (\`GET /l/...\`), so the commands marked above never run from there. On a card they do what the
owner's lists allow. Each list is empty by default:

- \`script.allow_http\`: patterns (RE2). One of them must match the whole address, again at each redirect. An answer may take
  ${webRequestMsMax / 1000} s. A name is resolved once, and the connection goes to the address that was checked.
  Addresses of this device and of the home network need a pattern with the literal host, such as
  \`http://192\\.168\\.1\\.20:8123/.*\` or \`http://hub\\.local/.*\`. Tapdeck's own ports also need the literal port.
- \`script.allow_execute\`: patterns. One of them must match the whole command line, with single spaces between the words. A word
  that is empty, or has spaces, quotes or backslashes, is written as in JSON. A program may run for ${executeMsMax / 1000} s.

Keys and buttons need \`script.allow_input = true\`, and have no list of single keys. Writing a tag has no list. A macro may press
${macroKeysMax} keys and take ${macroMsMax / 1000} s. It needs \`/dev/uinput\`, which the SD image and the Debian package give to the service. Elsewhere,
copy \`packaging/udev/70-tapdeck.rules\` and add yourself to the group \`input\`.

A \`**delay\` takes at most ${delayMsMax / 60_000} minutes.

## Differences from the public language

Existing cards are written in ZapScript. Each difference from its public documentation, or from its public parser, is a decision with
a name. \`test/conformance/scripts\` has scripts for each.

| name | documented | here | because |
|---|---|---|---|
${scriptDifferences.map(({ name, documented, here, why }) => `| \`${name}\` | ${documented} | ${here} | ${why} |`).join("\n")}
`;
}

function commandPart({ names, args, options, docs, example, ...facts }: ScriptCommand): string {
  const [name = "", ...aliases] = names;
  const lines = [
    aliases.length === 0 ? "" : `- also: ${aliases.map((alias) => `\`${alias}\``).join(", ")}`,
    ...Object.entries(options).map(([option, what]) => `- \`${option}=\`: ${what}`),
    ignored(facts.ignores),
    facts.startsMedia ? "- starts media" : "",
    facts.allowedUntrusted ? "" : "- never runs from a link or a page",
    facts.needsIndex === true ? "- needs the media index" : "",
    `- example: \`${example}\``,
  ];
  return `### ${name}

\`**${name}${args === "" ? "" : `:${args}`}\`

${docs}

${lines.filter((line) => line !== "").join("\n")}
`;
}

/** The options that other devices use. */
function ignored(options: ScriptCommand["ignores"] = {}): string {
  const listed = Object.entries(options).map(([name, only]) => `\`${name}=${only}\``);
  return listed.length === 0
    ? ""
    : `- accepted without effect, because cards of other devices have them: ${listed.join(" ")}`;
}

function operators(): string {
  const all = Object.entries(precedences);
  const levels = [...new Set(all.map(([, precedence]) => precedence))].sort((a, b) => a - b);
  return levels
    .map((level) =>
      all
        .filter(([, precedence]) => precedence === level)
        .map(([operator]) => `\`${operator}\``)
        .join(" "),
    )
    .join(", ");
}

if (import.meta.main) await Bun.write(pagePath, scriptPage());
