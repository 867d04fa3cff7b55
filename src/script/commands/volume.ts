/** `**volume:50`, `**volume:+5`: how loud it is. */
import { ServiceError } from "../../core/errors.ts";
import { readVolume } from "../../core/playback.ts";
import type { ScriptCommand } from "../command.ts";

export const volume: ScriptCommand = {
  names: ["volume"],
  argsMin: 1,
  argsMax: 1,
  args: "percent",
  options: {},
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Sets the volume from 0 to 100, or changes it by `+5` or `-5`: that of the player of what plays where it has its own (mpv), else that of the device, by `wpctl`, `pactl` or `amixer`. A player's volume holds for what is started after it, too; where nothing plays and the device has none that can be set, it holds for what is started next.",
  example: "**volume:40||Audio/Lullaby.mp3",
  async run({ args: [text = ""] }, ports, signal) {
    const change = readVolume(text);
    if (change === undefined)
      throw new ServiceError(
        "failed",
        `volume takes a number from 0 to 100, +5 or -5, not "${text.slice(0, 64)}"`,
      );
    await ports.changeVolume(change, signal);
  },
};
