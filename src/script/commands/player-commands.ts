/** Commands for the player: stop it, control it, change the volume, wait for it. */
import { wrongScript } from "../../core/errors.ts";
import { delayMsMax, sleepMinutesMax } from "../../core/limits.ts";
import { readAction, readVolume } from "../../core/playback.ts";
import type { ScriptCommand } from "../command.ts";
import { durationMs } from "../input-macro.ts";

const sleepMsMin = 60_000;

const common = { argsMin: 1, argsMax: 1, options: {}, startsMedia: false, allowedUntrusted: true } as const;

export const playerCommands: readonly ScriptCommand[] = [
  {
    ...common,
    names: ["stop"],
    argsMin: 0,
    argsMax: 0,
    args: "",
    endsMedia: true,
    docs: "Stops the player.",
    example: '**stop?when=[[active_media.system_id == "Music"]]',
    run: (_call, ports) => ports.stop(),
  },
  {
    ...common,
    names: ["control"],
    argsMax: 2,
    args: "action, place or volume",
    options: {
      to: "The place; the same as the second argument.",
      seconds: "The seconds of `fast_forward` and `rewind`; the same as the second argument.",
    },
    takesSlot: true,
    docs: "Controls the player. Actions are `pause`, `resume`, `toggle`, `stop`, `seek`, `fast_forward`, `rewind`, `volume` and `mute`. mpv also knows `next` and `previous`. RetroArch also knows `save_state`, `load_state`, `reset`, `menu` and `screenshot`, and `next` and `previous` for the discs of a game. A player refuses an action that it lacks. A place is `+10` or `-10` (seconds from here), `90`, `1:30` or `1m30s` (from the start), or `50%`. `volume` takes `50`, `+5` or `-5`, and changes the volume of the player (mpv); `**volume` can also change that of the device. `toggle_pause`, `play`, `ff`, `back`, `save` and `load` are other names of these.",
    example: "**control:seek,+30||**control:resume",
    async run({ args: [action = "", place], options }, ports) {
      const [first, ...others] = [place, options.get("to"), options.get("seconds")].filter(
        (one) => one !== undefined,
      );
      if (others.length > 0)
        throw wrongScript("control: one place is enough, after the comma or as to= or seconds=");
      const read = readAction(action, first);
      if (read.kind === "error") throw wrongScript(`control: ${read.message}`);
      await ports.control(read.action);
    },
  },
  {
    ...common,
    names: ["volume"],
    args: "percent",
    docs: "Sets the volume from 0 to 100, or changes it by `+5` or `-5`. It changes the volume of the player if that has one (mpv, RetroArch), and otherwise that of the device, by `wpctl`, `pactl` or `amixer`. The volume of a player stays for the next players. If nothing plays and the device has no volume, the value is for the next player.",
    example: "**volume:40||Audio/Lullaby.mp3",
    async run({ args: [text = ""] }, ports, signal) {
      const change = readVolume(text);
      if (change === undefined)
        throw wrongScript(`volume takes a number from 0 to 100, +5 or -5, not "${text.slice(0, 64)}"`);
      await ports.changeVolume(change, signal);
    },
  },
  {
    ...common,
    names: ["screenshot"],
    argsMin: 0,
    argsMax: 0,
    args: "",
    docs: "Saves a picture of RetroArch or of the film in mpv, as `control:screenshot` does, in that player's folder for screenshots. The SD image also saves its own screen while no player uses it. There, all pictures are in `/data/tapdeck/screenshots`. Other players cannot do this.",
    example: "**screenshot",
    run: (_call, ports) => ports.screenshot(),
  },
  {
    ...common,
    names: ["sleep"],
    args: "time",
    docs: "Sets the sleep timer: the media stop after this time, such as `30m` or `1h`, and keep their position. Songs and films fade out in the last 20 seconds. A second tap of the same card ends the timer, and so does `off`. The script ends at once, and other cards work as before; what they start is stopped at the same time.",
    example: "**sleep:30m",
    async run({ args: [text = ""] }, ports) {
      const ms = /^(off|0)$/i.test(text.trim()) ? 0 : durationMs(text);
      if (ms === undefined || (ms !== 0 && ms < sleepMsMin) || ms > sleepMinutesMax * 60_000)
        throw wrongScript(
          `sleep takes a time from 1m to ${sleepMinutesMax / 60}h, such as 30m, or off, not "${text.slice(0, 64)}"`,
        );
      ports.sleep(ms);
    },
  },
  {
    ...common,
    names: ["delay"],
    args: "milliseconds, time or media_ready",
    waits: true,
    docs: "Waits before the next command: a number of milliseconds, a time such as `1m30s` (`h`, `m`, `s`, `ms`), or `media_ready`. `media_ready` waits until the player shows its media; a player that cannot report this is ready after 3 s. Other cards run during the wait, and a card that starts or stops something ends it.",
    example: "SNES/Super Game.sfc||**delay:2s||**echo:it should run by now",
    async run({ args: [text = ""] }, ports, signal) {
      if (text.toLowerCase() !== "media_ready") return ports.delay(delayMs(text), signal);
      return ports.mediaReady(signal);
    },
  },
];

/**
 * The milliseconds of a time. Throws `ServiceError("failed")` for a text that is no time, and for a time above `delayMsMax`.
 */
function delayMs(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined || ms > delayMsMax)
    throw wrongScript(
      `delay takes milliseconds from 0 to ${delayMsMax}, a time such as 1m30s, or media_ready, not "${text.slice(0, 64)}"`,
    );
  return ms;
}
