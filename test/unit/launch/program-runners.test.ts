/** Commands that run their file, and commands that give it to a player. */
import { expect, test } from "bun:test";
import type { LauncherConfig } from "../../../src/config/launcher-settings.ts";
import { runnerOf, runsItsFile } from "../../../src/launch/program-runners.ts";

const running: readonly (readonly string[])[] = [
  ["sh", "{path}"],
  ["/bin/bash", "-x", "--", "{path}"],
  ["bash", "-o", "pipefail", "{path}"],
  ["bash", "--rcfile={path}"],
  ["python3.11", "-u", "{path}"],
  ["python3", "-W", "ignore", "{path}"],
  ["python3", "-m", "runpy", "{path}"],
  ["lua5.4", "-l", "sound", "{path}"],
  ["awk", "-f", "{path}"],
  ["make", "-C", "/tmp", "-f", "{path}"],
  ["bun", "run", "{path}"],
  ["love", "{path}"],
  ["wine64", "start", "/unix", "{path}"],
  ["/usr/bin/qemu-x86_64-static", "{path}"],
  ["xdg-open", "{path}"],
  ["env", "A=1", "sh", "{path}"],
  ["env", "-u", "HOME", "{path}"],
  ["env", "LD_PRELOAD={path}", "mpv"],
  ["env", "-S", "python3 -u", "{path}"],
  ["env", "-S", "nice -n 5", "sh", "{path}"],
  ["nice", "-n", "5", "{path}"],
  ["nice", "-n", "5", "ionice", "-c", "2", "sh", "{path}"],
  ["timeout", "--foreground", "10", "{path}"],
  ["taskset", "0x3", "{path}"],
  ["stdbuf", "-o", "L", "{path}"],
  ["busybox", "ash", "{path}"],
  ["bwrap", "--ro-bind", "/", "/", "dash", "{path}"],
  ["gamescope", "-W", "1920", "--", "{path}"],
  ["/lib64/ld-linux-x86-64.so.2", "{path}"],
  ["retroarch", "-L", "{path}"],
  ["retroarch", "--appendconfig={path}", "game"],
  ["mpv", "--script={path}"],
  ["sh", "-c", "{path}"],
  ["sh", "-c", 'mpv "{path}"'],
  ["sh", "-c", '"$0"', "{path}"],
  ["sh", "-ec", 'exec "$@"', "sh", "{path}"],
  ["sh", "-c", '. "$1"', "sh", "{path}"],
  ["sh", "-c", "cd /tmp && python3 $1", "sh", "{path}"],
  ["sh", "-c", 'f="$1"; $f', "sh", "{path}"],
  ["sh", "-c", 'nice "$1"', "sh", "{path}"],
  ["sh", "-c", 'cat "$1" | sh', "sh", "{path}"],
  ["nice", "sh", "-c", 'exec "$0"', "{path}"],
];

const reading: readonly (readonly string[])[] = [
  ["mpv", "--no-config", "--", "{path}"],
  ["retroarch", "--fullscreen", "-L", "/usr/lib/libretro/nestopia_libretro.so", "{path}"],
  ["snes9x", "-fullscreen", "{path}"],
  ["dosbox", "-exit", "{path}"],
  ["qemu-system-i386", "-hda", "{path}"],
  ["/opt/play", "{path}"],
  ["sh", "/opt/play.sh", "{path}"],
  ["bash", "-e", "-o", "pipefail", "/opt/play.sh", "{path}"],
  ["python3", "/opt/play.py", "{path}"],
  ["env", "SDL_VIDEODRIVER=kmsdrm", "snes9x", "{path}"],
  ["nice", "-n", "5", "mpv", "{path}"],
  ["timeout", "-k", "1", "10", "mpv", "{path}"],
  ["gamescope", "-W", "1920", "--", "dosbox", "{path}"],
  ["sh", "-c", "exec sleep 600", "{path}"],
  ["sh", "-c", 'exec mpv "$0"', "{path}"],
  ["sh", "-c", 'cd /tmp; exec snes9x -fullscreen "$1"', "sh", "{path}"],
  ["sh", "-c", 'printf %s "$0" >/tmp/played', "{path}"],
  ["bash", "/opt/menu.sh"],
];

test.each(running.map((command) => [command.join(" "), command]))("runs its file: %s", (_, command) => {
  expect(runsItsFile(command)).toBe(true);
});

test.each(reading.map((command) => [command.join(" "), command]))("reads its file: %s", (_, command) => {
  expect(runsItsFile(command)).toBe(false);
});

test("a launcher is found for each system and extension that a card may name for the file", () => {
  const launcher = (more: Partial<LauncherConfig>): LauncherConfig => ({
    id: "sh",
    systems: [],
    extensions: [],
    command: ["sh", "{path}"],
    ...more,
  });
  const found = (extension: string, system: string, more: Partial<LauncherConfig>) =>
    runnerOf(extension, system, [launcher({ id: "mpv", command: ["mpv", "{path}"] }), launcher(more)])?.id;
  expect(found(".sfc", "SNES", {})).toBe("sh");
  expect(found(".exe", "PC", { systems: ["PC"] })).toBe("sh");
  // The card has `?system=PC`.
  expect(found(".exe", "SNES", { systems: ["PC"] })).toBe("sh");
  expect(found(".exe", "SNES", { systems: ["PC"], extensions: [".exe"] })).toBe("sh");
  expect(found(".exe", "PC", { systems: ["PC"], extensions: [".com"] })).toBeUndefined();
  expect(found(".sfc", "SNES", { systems: ["PC"] })).toBeUndefined();
  expect(found(".sfc", "SNES", { command: ["snes9x", "{path}"] })).toBeUndefined();
});
