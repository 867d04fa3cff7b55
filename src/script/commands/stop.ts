/** `**stop`: ends what plays. */
import type { ScriptCommand } from "../command.ts";

export const stop: ScriptCommand = {
  names: ["stop"],
  argsMin: 0,
  argsMax: 0,
  args: "",
  options: {},
  startsMedia: false,
  endsMedia: true,
  allowedUntrusted: true,
  docs: "Stops what plays.",
  example: '**stop?when=[[active_media.system_id == "Music"]]',
  run: (_call, ports) => ports.stop(),
};
