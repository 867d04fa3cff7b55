/** `**input.key:f12` and `**input.coinp1:2`: one key, and coins for arcade machines, as cards have them that are older than macros. */
import { ServiceError } from "../../core/errors.ts";
import { macroKeysMax } from "../../core/limits.ts";
import { didYouMean } from "../../core/text.ts";
import type { ScriptCommand } from "../command.ts";
import { codesOf, keyboard } from "../input-keys.ts";
import { pressedTimes } from "../input-macro.ts";
import { permission } from "./input.ts";

const common = { argsMin: 0, argsMax: 1, options: {}, startsMedia: false, allowedUntrusted: false } as const;

export const inputKey: ScriptCommand = {
  ...common,
  names: ["input.key", "key"],
  argsMin: 1,
  args: "key",
  docs: `Presses one key of the virtual keyboard: by its name, as \`input.keyboard\` has it in braces, or by its number in Linux, so that \`88\` is F12, and \`6\` is the key of the 5. ${permission}`,
  example: "**input.key:f12",
  async run({ args: [key = ""] }, ports, signal) {
    await ports.input("keyboard", pressedTimes(codesOfKey(key.trim()), 1), signal);
  },
};

// Keys 5 and 6 put coins in, by the custom of MAME that other programs for arcade games keep to.
export const inputCoinP1 = coinCommand(1, "5");
export const inputCoinP2 = coinCommand(2, "6");

function coinCommand(player: 1 | 2, key: string): ScriptCommand {
  const name = `coinp${player}`;
  return {
    ...common,
    names: [`input.${name}`, name],
    args: "coins",
    docs: `Puts a coin into an arcade machine for player ${player}, or so many: presses the key \`${key}\` of the virtual keyboard, which is what most emulators take for it. ${permission}`,
    example: `**input.${name}:2`,
    async run({ args: [text = ""] }, ports, signal) {
      const coins = text === "" ? 1 : /^\d{1,5}$/.test(text) ? Number(text) : 0;
      if (coins < 1 || coins > macroKeysMax)
        throw new ServiceError(
          "failed",
          `input.${name} takes a number of coins from 1 to ${macroKeysMax}, not "${text.slice(0, 32)}"`,
        );
      await ports.input("keyboard", pressedTimes(codesOfKey(`{${key}}`), coins), signal);
    },
  };
}

/** `f12`, `{f12}`, `a`, or a number of linux/input-event-codes.h. */
function codesOfKey(key: string): readonly number[] {
  const { chars, names } = keyboard;
  if (/^\d+$/.test(key)) {
    const code = Number(key);
    if (codesOf(keyboard).includes(code)) return [code];
    throw new ServiceError("failed", `input.key: the virtual keyboard has no key number ${key.slice(0, 8)}`);
  }
  const name = /^\{(.+)\}$/s.exec(key)?.[1] ?? key;
  const codes = chars.get(name) ?? names.get(name.toLowerCase());
  if (codes !== undefined) return codes;
  const known = [...names.keys()];
  const help = didYouMean(name.toLowerCase(), known) || `: there are ${known.join(" ")}`;
  throw new ServiceError("failed", `input.key: there is no key "${name.slice(0, 32)}"${help}`);
}
