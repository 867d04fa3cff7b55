/** The `[[buttons]]` of the config file: buttons, keys and knobs of the case, each with a script. */
import { type ButtonCode, buttonCode, buttonNames } from "../core/button-codes.ts";
import { buttonsMax } from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import { known, list, SettingError, shown, type Table, tableOf, text } from "./checks.ts";

export interface ButtonConfig {
  /** The name of the device as the kernel reports it, with `*` for any characters; absent for every device. */
  readonly device?: string;
  readonly code: ButtonCode;
  readonly script: string;
}

/** Throws `SettingError` with the index of the button. */
export function buttonsOf(value: unknown): readonly ButtonConfig[] {
  if (typeof value === "object" && !Array.isArray(value))
    throw new SettingError("buttons", "a button begins with [[buttons]], in double brackets");
  const tables = list((one) => tableOf(one, "buttons"), buttonsMax)(value ?? [], "buttons");
  return tables.map((table, nth) => {
    try {
      return buttonOf(table);
    } catch (error) {
      throw error instanceof SettingError ? new SettingError(error.key, error.message, nth) : error;
    }
  });
}

function buttonOf(table: Table): ButtonConfig {
  known(table, ["device", "key", "script"], "buttons.");
  const key = text(table.key, "buttons.key");
  const code = buttonCode(key);
  if (code === undefined)
    throw new SettingError(
      "buttons.key",
      `buttons.key is no key, such as "KEY_VOLUMEUP" or "REL_DIAL+": ${shown(key)}${didYouMean(key.toUpperCase(), buttonNames)}`,
    );
  return {
    ...(table.device === undefined ? {} : { device: text(table.device, "buttons.device") }),
    code,
    script: text(table.script, "buttons.script"),
  };
}

export const buttonsHelp = `# Buttons, keys and knobs that run a script, as a card on the device would. key is a name of linux/input-event-codes.h, which
# the program evtest shows, or a number such as "KEY_530"; "REL_DIAL+" and "REL_DIAL-" are a knob that is turned. device is the name
# of one device, with * for any characters; without it, all are heard. Readers that type, and devices of macros, are not heard.
#
# [[buttons]]
# key = "KEY_VOLUMEUP"
# script = "**volume:+5"
#
# [[buttons]]
# device = "gpio-keys*"
# key = "KEY_POWER"
# script = "**shutdown"
`;
