/**
 * Makes docs/SCRIPT.md from the commands' and variables' own facts: `bun tools/script-page.ts`. A test fails where the page
 * is not what this makes.
 */
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
import { commands, notYet } from "../src/script/commands/index.ts";
import { precedences } from "../src/script/expression.ts";
import { variables } from "../src/script/variables.ts";

export const pagePath = join(import.meta.dir, "../docs/SCRIPT.md");

export function scriptPage(): string {
  return `# Launch scripts

What a card says. Made by \`tools/script-page.ts\` from what the commands say of themselves.

\`\`\`
SNES/Super Game.sfc
**stop||**delay:2s||Music/Song.mp3?launcher=mpv
@SNES/Super Game (USA)
**echo:nothing plays?when=[[!media_playing]]
\`\`\`

- \`||\` separates commands. They run in order, and the first that fails ends the script; but a script that is written wrong
  anywhere does not run at all.
- A command is \`**name:argument,argument?option=value&option=value\`. Names may be written in capitals. What does not begin
  with \`**\` is the path of a file, in which commas are plain letters; what begins with \`@\` is a title.
- White space at the ends of an argument is dropped. An argument that begins with \`"\` or \`'\` is kept as it is up to the
  next such sign. \`^\` takes the meaning from the character behind it, as in \`^,\` \`^?\` \`^^\`; \`^n\` \`^t\` \`^r\` are the ends
  of lines and the tabulator.
- A \`?\` that no \`name=\` follows is a plain letter: file names have it.
- Every command takes \`when\`: where it comes to \`false\`, \`no\`, \`0\` or nothing, the command is left out.
- A script may be ${scriptBytesMax} bytes long and have ${scriptCommandsMax} commands.

## Commands

${commands.map(commandPart).join("\n")}
To come, and refused until then: ${notYet.map((name) => `\`${name}\``).join(", ")}.

## Expressions

\`[[ ... ]]\` in an argument or an option is worked out when its command is reached. What it comes to is taken as it is: nothing
in it is read as script again. For two plain brackets write \`^[^[\`.

| variable | type | |
|---|---|---|
${Object.entries(variables)
  .map(([name, { type, docs }]) => `| \`${name}\` | ${type === "flag" ? "true or false" : type} | ${docs} |`)
  .join("\n")}

Operators, from the loosest to the tightest: ${operators()}, \`!\`, brackets. \`==\` and \`!=\` compare what is of one type; \`<\` and
\`>\` compare numbers, or texts in the order of people, so that \`"1.9"\` comes before \`"1.10"\`; \`+\` adds numbers, and joins a
text with anything. Texts stand in \`"\` or \`'\`, and there are \`true\` and \`false\`. All expressions of a script may have
${expressionPartsMax} variables, texts, numbers and operators together.

## What a script may do

A link or a page (\`GET /l/...\`) is something that anybody may have made: the commands marked above never run from there. On
a card they do what the owner's lists allow, and no list allows anything until somebody writes it:

- \`script.allow_http\`: patterns (RE2), one of which must match the whole address, again at each redirect. Addresses of this
  device and of the home network are opened only by a pattern that names the host letter by letter, such as
  \`http://192\\.168\\.1\\.20:8123/.*\` or \`http://hub\\.local/.*\`; Tapdeck's own ports only with the port too. A name is resolved
  once, and the connection goes to the address that was looked at. An answer may take ${webRequestMsMax / 1000} s.
- \`script.allow_execute\`: patterns, one of which must match the whole command line: the words with single spaces between
  them, each that is empty or holds spaces, quotes or backslashes written as in JSON. A program may run for ${executeMsMax / 1000} s.

Keys, buttons and tags to write have no list: whoever holds a card may press what it says. A macro may press
${macroKeysMax} keys and take ${macroMsMax / 1000} s. It takes \`/dev/uinput\`, which the Debian package gives to the service; elsewhere, copy
\`packaging/udev/70-tapdeck.rules\` and add yourself to the group \`input\`.

A wait is at most ${delayMsMax / 60_000} minutes long.
`;
}

function commandPart({ names, args, options, docs, example, ...facts }: ScriptCommand): string {
  const [name = "", ...aliases] = names;
  const lines = [
    aliases.length === 0 ? "" : `- also: ${aliases.map((alias) => `\`${alias}\``).join(", ")}`,
    ...Object.entries(options).map(([option, what]) => `- \`${option}=\`: ${what}`),
    facts.startsMedia ? "- starts media" : "",
    facts.allowedUntrusted ? "" : "- reaches outside the device: never from a link or a page",
    facts.needsIndex === true ? "- needs the media index" : "",
    `- example: \`${example}\``,
  ];
  return `### ${name}

\`**${name}${args === "" ? "" : `:${args}`}\`

${docs}

${lines.filter((line) => line !== "").join("\n")}
`;
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
