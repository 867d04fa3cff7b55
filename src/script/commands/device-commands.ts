/** Commands for other devices: they press keys of virtual devices, write tags, switch the device off and pair a phone. */
import { wrongScript } from "../../core/errors.ts";
import { macroKeysMax, macroMsMax } from "../../core/limits.ts";
import type { InputKind } from "../../core/operating-system.ts";
import { didYouMean } from "../../core/text.ts";
import type { ScriptCommand } from "../command.ts";
import { codesOf, inputTables, keyboard } from "../input-keys.ts";
import { defaultSpeedMs, durationMs, pressedTimes, readMacro, typed } from "../input-macro.ts";

const permission = "The config file must have `script.allow_input = true`.";
const macroDocs =
  'Braces also repeat (`{down*3}`), wait (`{delay:500}`, `{delay:1s}`), hold (`{hold:a:1s}`, or `{press:shift}` and `{release:shift}`), and type a text unchanged (`{"text"}`). `\\` escapes the next character, as in `\\{`. `^`, commas, quotes and `[[` have no other meaning here.';

const common = { argsMin: 1, argsMax: 1, options: {}, startsMedia: false, allowedUntrusted: false } as const;

export const deviceCommands: readonly ScriptCommand[] = [
  inputCommand("keyboard", {
    args: "keys",
    docs: `Types on a virtual keyboard with US layout. Plain characters stand for themselves, other keys are in braces, such as \`{enter}\` \`{esc}\` \`{f1}\` \`{up}\`, and several keys together are \`{ctrl+c}\`. ${macroDocs} ${permission}`,
    example: "**input.keyboard:load{enter}{delay:2s}{f1}",
  }),
  inputCommand("gamepad", {
    args: "buttons",
    docs: `Presses buttons of a virtual gamepad, which games see as an additional one. The buttons are \`^\` \`v\` \`<\` \`>\` for the directions, \`A\` (east) \`B\` (south) \`X\` (north) \`Y\` (west) \`L\` \`R\`. In braces there are \`{start}\` \`{select}\` \`{menu}\` \`{l2}\` \`{r2}\` \`{l3}\` \`{r3}\` \`{up}\` and so on. ${macroDocs} ${permission}`,
    example: "**input.gamepad:^^vv<><>BA{start}",
  }),
  {
    ...common,
    names: ["input.key", "key"],
    args: "key",
    docs: `Presses one key of the virtual keyboard, by its name in the braces of \`input.keyboard\`, or by its number in Linux. \`88\` is the key F12, and \`6\` the key with the digit 5. ${permission}`,
    example: "**input.key:f12",
    async run({ args: [key = ""] }, ports, signal) {
      await ports.input("keyboard", pressedTimes(codesOfKey(key.trim()), 1), signal);
    },
  },
  {
    ...common,
    names: ["input.text"],
    args: "text",
    waits: true,
    docs: `Types a text on the virtual keyboard, as it is written up to the next \`||\`: spaces, \`{\`, \`^\`, commas, quotes and \`[[\` are typed. A line feed is Enter. Only \`?when=\` is an option; any other \`?\` is typed. ${permission}`,
    example: "**input.text:https://example.com/search?q=games",
    async run({ args: [text = ""] }, ports, signal) {
      const macro = readMacro(typed(text), keyboard);
      if (macro.kind === "error") throw wrongScript(`input.text: ${macro.message}`);
      await ports.input("keyboard", macro.steps, signal);
    },
  },
  coinCommand(1, "5"),
  coinCommand(2, "6"),
  coinCommand(3, "7"),
  coinCommand(4, "8"),
  {
    ...common,
    names: ["write"],
    args: "text",
    waits: true,
    docs: "Writes a text to the next tag, and reads it back. Take this card off and put the other tag on within 28 seconds. This card is not changed. The written tag starts nothing until it was taken off. In quotes, `||`, commas and a `?` of the text are plain characters.",
    example: '**write:"SNES/Super Game.sfc"',
    run: ({ args: [text = ""] }, ports, signal) => ports.write(text, signal),
  },
  {
    ...common,
    names: ["shutdown"],
    argsMin: 0,
    argsMax: 0,
    args: "",
    endsMedia: true,
    needsReader: true,
    docs: "Stops the media, keeps their positions and saves, and switches the device off, on the SD image only. It works only from a card on a reader of the device, not over the API and not from a simulated reader.",
    example: "**shutdown",
    run: (_call, ports) => ports.shutdown(),
  },
  {
    ...common,
    names: ["pair"],
    argsMin: 0,
    argsMax: 0,
    args: "",
    needsReader: true,
    docs: "Shows a QR code and six digits on the screen of the SD image for ten minutes. A phone that scans the code, or on which the digits are typed, can use the device from then on. It is for devices without a keyboard; elsewhere, use `tapdeck pair`. It works only from a card on a reader of the device, not over the API and not from a simulated reader.",
    example: "**pair",
    run: (_call, ports) => ports.pair(),
  },
];

function inputCommand(
  kind: InputKind,
  facts: Pick<ScriptCommand, "args" | "docs" | "example">,
): ScriptCommand {
  const name = `input.${kind}`;
  return {
    ...common,
    ...facts,
    names: [name],
    options: { speed: `the time from one press to the next; \`${defaultSpeedMs}ms\` by default.` },
    waits: true,
    async run({ args: [text = ""], options }, ports, signal) {
      const macro = readMacro(text, inputTables[kind], speedOf(options.get("speed")));
      if (macro.kind === "error") throw wrongScript(`${name}: ${macro.message}`);
      await ports.input(kind, macro.steps, signal);
    },
  };
}

/** MAME and most other arcade emulators take the keys 5 to 8 for coins of the players 1 to 4. */
function coinCommand(player: 1 | 2 | 3 | 4, key: string): ScriptCommand {
  const name = `coinp${player}`;
  return {
    ...common,
    names: [`input.${name}`, name],
    argsMin: 0,
    args: "coins",
    docs: `Puts one or more coins into an arcade machine for player ${player}. It presses the key \`${key}\` of the virtual keyboard, which most emulators use for coins. ${permission}`,
    example: `**input.${name}:2`,
    async run({ args: [text = ""] }, ports, signal) {
      const coins = text === "" ? 1 : /^\d{1,5}$/.test(text) ? Number(text) : 0;
      if (coins < 1 || coins > macroKeysMax)
        throw wrongScript(
          `input.${name} takes a number of coins from 1 to ${macroKeysMax}, not "${text.slice(0, 32)}"`,
        );
      await ports.input("keyboard", pressedTimes(codesOfKey(`{${key}}`), coins), signal);
    },
  };
}

function speedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  if (ms === undefined || ms > macroMsMax)
    throw wrongScript(`speed= is milliseconds, or a time such as 250ms, not "${text.slice(0, 32)}"`);
  return ms;
}

/** The codes of a key such as `f12`, `{f12}`, `a`, or a number of linux/input-event-codes.h. */
function codesOfKey(key: string): readonly number[] {
  const { chars, names } = keyboard;
  if (/^\d+$/.test(key)) {
    const code = Number(key);
    if (codesOf(keyboard).includes(code)) return [code];
    throw wrongScript(`input.key: the virtual keyboard has no key number ${key.slice(0, 8)}`);
  }
  const name = /^\{(.+)\}$/s.exec(key)?.[1] ?? key;
  const codes = chars.get(name) ?? names.get(name.toLowerCase());
  if (codes !== undefined) return codes;
  const known = [...names.keys()];
  const help = didYouMean(name.toLowerCase(), known) || `: there are ${known.join(" ")}`;
  throw wrongScript(`input.key: there is no key "${name.slice(0, 32)}"${help}`);
}
