/** `**control:pause`, `**control:seek,+10`: has the player of what plays do something. */
import { ServiceError } from "../../core/errors.ts";
import { readAction } from "../../core/playback.ts";
import type { ScriptCommand } from "../command.ts";

export const control: ScriptCommand = {
  names: ["control"],
  argsMin: 1,
  argsMax: 2,
  args: "action, place or volume",
  options: { to: "The place, in another way to write it." },
  startsMedia: false,
  allowedUntrusted: true,
  docs: "Has the player of what plays do something: `pause`, `resume`, `toggle`, `stop`, `seek`, `fast_forward`, `rewind`, `volume`, `mute`, `next`, `previous` (mpv), `save_state`, `load_state`, `reset`, `menu`, `screenshot` (RetroArch), as far as the player can. A place is `+10` or `-10` (seconds from here), `90`, `1:30` or `1m30s` (from the start), or `50%`. `volume` takes `50`, `+5` or `-5`, and is the player's own (mpv): `**volume` finds the device's too. `toggle_pause`, `play`, `ff`, `back`, `save` and `load` mean the same as the nearest of these.",
  example: "**control:seek,+30||**control:resume",
  async run({ args: [action = "", place], options }, ports) {
    const to = options.get("to");
    if (place !== undefined && to !== undefined)
      throw new ServiceError("failed", "control: one place is enough, behind the comma or as to=");
    const read = readAction(action, place ?? to);
    if (read.kind === "error") throw new ServiceError("failed", `control: ${read.message}`);
    await ports.control(read.action);
  },
};
