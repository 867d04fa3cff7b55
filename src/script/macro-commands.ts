/**
 * Commands whose argument is a macro and no text of the script's own: there `^` is a direction, quotes and commas are keys,
 * and `\\` escapes. Cards of this kind are older than the rest of the language.
 */
export const macroCommands: ReadonlySet<string> = new Set(["input.keyboard", "input.gamepad"]);
