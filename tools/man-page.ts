/** The man page tapdeck(1), made from the table of commands: `bun tools/man-page.ts >tapdeck.1` */
import { version } from "../package.json";
import { type CommandName, commandHelp, commandNames } from "../src/cli/help.ts";
import { exitCodeText, optionsOf, spelt } from "../src/cli/help-text.ts";

if (import.meta.main) process.stdout.write(manPage());

export function manPage(): string {
  return `.TH TAPDECK 1 "" "tapdeck ${version}" "User Commands"
.SH NAME
tapdeck ${"\\-"} tap a card on a reader, and what is on it starts
.SH SYNOPSIS
.B tapdeck
[options]
.br
.B tapdeck
.I command
[words] [options]
.SH DESCRIPTION
Without a command, tapdeck starts the service.
With one, it asks the service that runs on this device.
.SH OPTIONS
${optionParts(undefined)}.SH COMMANDS
${commandNames.map(commandPart).join("")}.SH EXIT STATUS
${roff(exitCodeText)}
.SH SEE ALSO
${roff("/usr/share/doc/tapdeck/README.md")}
`;
}

function commandPart(command: CommandName): string {
  const { usage, summary, more } = commandHelp[command];
  const text = more === "" ? "" : `.PP\n.nf\n${roff(more)}\n.fi\n`;
  return `.SS "${roff(`tapdeck ${usage}`)}"\n${roff(summary)}\n${text}${optionParts(command)}`;
}

function optionParts(command: CommandName | undefined): string {
  return optionsOf(command)
    .map((option) => `.TP\n.B ${roff(spelt(option))}\n${roff(option.text)}\n`)
    .join("");
}

/**
 * Text for roff, in which a backslash and a dash have a meaning, and so has a full stop or an apostrophe at the start of
 * a line.
 */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll(/^[.']/gm, "\\&$&");
}
