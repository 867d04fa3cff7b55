/** `**delay:1500`: waits, in milliseconds. */
import { ServiceError } from "../../core/errors.ts";
import { delayMsMax } from "../../core/limits.ts";
import type { ScriptCommand } from "../command.ts";

export const delay: ScriptCommand = {
  names: ["delay"],
  argsMin: 1,
  argsMax: 1,
  options: [],
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Waits so many milliseconds before the next command.",
  async run({ args: [text = ""] }, ports, signal) {
    const ms = Number(text);
    if (!/^\d+$/.test(text) || ms > delayMsMax) {
      throw new ServiceError("failed", `delay takes milliseconds from 0 to ${delayMsMax}, not "${text}"`);
    }
    await ports.delay(ms, signal);
  },
};
