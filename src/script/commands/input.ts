/** `**input.keyboard:keys` and `**input.gamepad:buttons`: presses what is written, on a virtual keyboard or gamepad. */
import { ServiceError } from "../../core/errors.ts";
import { macroMsMax } from "../../core/limits.ts";
import type { InputKind } from "../../core/operating-system.ts";
import type { ScriptCommand } from "../command.ts";
import { gamepad, keyboard } from "../input-keys.ts";
import { defaultSpeedMs, readMacro } from "../input-macro.ts";
import { timeMs } from "../time.ts";

/** Of every command that presses something. */
export const permission = "Only where the config file says `script.allow_input = true`.";
const macros =
  'Braces also repeat (`{down*3}`), wait (`{delay:500}`, `{delay:1s}`), hold (`{hold:a:1s}`, or `{press:shift}` and `{release:shift}`), and take a text as it is (`{"text"}`); `\\` takes the meaning from what stands behind it, as in `\\{`. `^`, commas, quotes and `[[` have no other meaning here.';

export const inputKeyboard = inputCommand("keyboard", {
  args: "keys",
  docs: `Types on a virtual keyboard with US layout: characters as they stand, other keys in braces, such as \`{enter}\` \`{esc}\` \`{f1}\` \`{up}\`, and several together, such as \`{ctrl+c}\`. ${macros} ${permission}`,
  example: "**input.keyboard:load{enter}{delay:2s}{f1}",
});

export const inputGamepad = inputCommand("gamepad", {
  args: "buttons",
  docs: `Presses buttons of a virtual gamepad, which a game sees as one more: \`^\` \`v\` \`<\` \`>\` for the directions, \`A\` (east) \`B\` (south) \`X\` (north) \`Y\` (west) \`L\` \`R\`, and in braces \`{start}\` \`{select}\` \`{menu}\` \`{l2}\` \`{r2}\` \`{l3}\` \`{r3}\` \`{up}\` and so on. ${macros} ${permission}`,
  example: "**input.gamepad:^^vv<><>BA{start}",
});

const tables = { keyboard, gamepad } as const;

function inputCommand(
  kind: InputKind,
  facts: Pick<ScriptCommand, "args" | "docs" | "example">,
): ScriptCommand {
  const name = `input.${kind}`;
  return {
    names: [name],
    argsMin: 1,
    argsMax: 1,
    ...facts,
    options: { speed: `the time from one press to the next; \`${defaultSpeedMs}ms\` where it says nothing.` },
    startsMedia: false,
    waits: true,
    allowedUntrusted: false,
    async run({ args: [text = ""], options }, ports, signal) {
      const macro = readMacro(text, tables[kind], speedOf(options.get("speed")));
      if (macro.kind === "error") throw new ServiceError("failed", `${name}: ${macro.message}`);
      await ports.input(kind, macro.steps, signal);
    },
  };
}

function speedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = timeMs(text);
  if (ms === undefined || ms > macroMsMax)
    throw new ServiceError(
      "failed",
      `speed= is milliseconds, or a time such as 250ms, not "${text.slice(0, 32)}"`,
    );
  return ms;
}
