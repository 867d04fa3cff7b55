/** `**write:text`: makes a card. */
import type { ScriptCommand } from "../command.ts";

export const write: ScriptCommand = {
  names: ["write"],
  argsMin: 1,
  argsMax: 1,
  args: "text",
  options: {},
  startsMedia: false,
  waits: true,
  allowedUntrusted: false,
  docs: "Writes a text to the next tag, and reads it back: take this card off and lay the other one on within 30 seconds. The card that says it is left as it is, and the one that is written does nothing until it was taken off. `||`, commas and a `?` in the text are plain letters where it stands in quotes.",
  example: '**write:"SNES/Super Game.sfc"',
  run: ({ args: [text = ""] }, ports, signal) => ports.write(text, signal),
};
