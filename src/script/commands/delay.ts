/** `**delay:1500`, `**delay:1m30s`, `**delay:media_ready`: waits. */
import { ServiceError } from "../../core/errors.ts";
import { delayMsMax } from "../../core/limits.ts";
import type { ScriptCommand } from "../command.ts";
import { timeMs } from "../time.ts";

export const delay: ScriptCommand = {
  names: ["delay"],
  argsMin: 1,
  argsMax: 1,
  args: "milliseconds, time or media_ready",
  options: {},
  startsMedia: false,
  waits: true,
  allowedUntrusted: true,
  docs: "Waits before the next command: so many milliseconds, a time such as `1m30s` (`h`, `m`, `s`, `ms`), or until the player shows what it was started with (`media_ready`; a player that does not tell is ready when it has run for 3 s). Other cards have their turn meanwhile, and one that starts or stops something ends the wait.",
  example: "SNES/Super Game.sfc||**delay:2s||**echo:it should run by now",
  async run({ args: [text = ""] }, ports, signal) {
    if (text.toLowerCase() !== "media_ready") return ports.delay(durationMs(text), signal);
    return ports.mediaReady(signal);
  },
};

/** Throws `ServiceError("failed")` for what is no time, or one beyond `delayMsMax`. */
export function durationMs(text: string): number {
  const ms = timeMs(text);
  if (ms === undefined || ms > delayMsMax) {
    throw new ServiceError(
      "failed",
      `delay takes milliseconds from 0 to ${delayMsMax}, a time such as 1m30s, or media_ready, not "${text.slice(0, 64)}"`,
    );
  }
  return ms;
}
