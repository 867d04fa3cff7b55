/** The output of `tapdeck --help`. */
import { type CommandName, commandHelp, optionsOf, spelt } from "./help.ts";

function optionLines(command: CommandName | undefined): string {
  const rows = optionsOf(command).map((option) => [spelt(option), option.text] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, text]) => `  ${left.padEnd(width)}   ${text}\n`).join("");
}

export const exitCodeText = `Exit codes: 0 success, 1 refused or failed, 64 wrong usage, 69 service not reachable or port in use,
73 no place for data, 78 wrong settings.`;

export function helpText(command: CommandName | undefined): string {
  if (command !== undefined) {
    const { usage, summary, more } = commandHelp[command];
    const options = optionLines(command);
    return `${[`tapdeck ${usage}\n`, `${summary}\n`, more === "" ? "" : `${more}\n`, options].filter(Boolean).join("\n")}`;
  }
  const list = Object.values(commandHelp).map(
    ({ usage, summary }) => `  tapdeck ${usage.padEnd(36)} ${summary}`,
  );
  return `Tap a card, and the game, song or film on it starts.

  ${"tapdeck".padEnd(44)} start the service
${list.join("\n")}

${optionLines(undefined)}
${exitCodeText}
`;
}
