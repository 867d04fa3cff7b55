/**
 * The config file that explains itself: every key with its default after a `#`, and a comment. A line that begins with `#`
 * and no space is a default that can be uncommented; prose and examples have a space.
 */
import { type Setting, settingsTable } from "./settings-table.ts";

/** The text of the file. It states exactly the defaults. */
export function template(): string {
  const sections = Object.entries(settingsTable).map(
    ([name, settings]) => `[${name}]\n${Object.entries(settings).map(settingText).join("\n\n")}`,
  );
  return [head, ...sections, launchersHelp].join("\n\n");
}

function settingText([key, setting]: readonly [string, Setting<unknown, string>]): string {
  const comment = setting.docs.map((line) => `# ${line}\n`).join("");
  return `${comment}#${key} = ${setting.literal ?? literalOf(setting.default)}`;
}

function literalOf(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(literalOf).join(", ")}]` : JSON.stringify(value);
}

const head = `# The settings of Tapdeck. Each key stands here with its default, behind a #.
# Take the # away and change the value; what you save is in use a moment later, unless its sentence says otherwise.`;

const launchersHelp = `# Players of your own come before the built-in ones, each in a part like these. {path} stands for the file, no shell
# reads the command, and an empty list of systems or extensions, or none, means all. cwd is the folder that it works in.
# kind says how a player is spoken with: "mpv" and "retroarch" can be paused, asked how far they are, and more; they need
# no command of their own. A "process" can be started and stopped. core names the libretro core of a "retroarch", or its
# file, where the usual one of the system is not what you want. A "process" that names systems and no extensions may do
# without {path}: **launch.system starts it. Players cannot read Tapdeck's own files, nor make new entries in the folders above
# them, your home folder for instance. confined = false lifts that for a "process" that does not start with it, such as one
# in a flatpak. stop_signal ("TERM", "INT", "QUIT" or "HUP") asks a player to end, and it has
# stop_grace seconds, up to 30, to save what it must before it is made to end: "TERM" and 1 where you say nothing, and 5
# for a "retroarch".
#
# [[launchers]]
# id = "snes9x"
# systems = ["SNES"]
# extensions = [".sfc", ".smc"]
# command = ["snes9x", "-fullscreen", "{path}"]
# kind = "process"
# cwd = "/srv/games"
# env = { SDL_VIDEODRIVER = "kmsdrm" }
# confined = true
# stop_grace = 5
# stop_signal = "INT"
#
# [[launchers]]
# id = "nes"
# systems = ["NES"]
# kind = "retroarch"
# core = "nestopia"
`;
