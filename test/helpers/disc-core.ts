/** A libretro core with a disc drive and no game (`test/programs/disc-core.c`), and the settings for a RetroArch without a screen. */
import { expect } from "bun:test";
import { join } from "node:path";
import { root } from "./source-tree.ts";

export const headlessRetroArch = `
video_driver = "null"
audio_driver = "null"
input_driver = "null"
joypad_driver = "null"
menu_driver = "null"
video_vsync = "false"
`;

/**
 * Compiles the core into this folder. Its name is that of a core whose info file states that the core takes lists of
 * discs.
 */
export function makeDiscCore(folder: string): string {
  const core = join(folder, "pcsx_rearmed_libretro.so");
  const source = join(root, "test/programs/disc-core.c");
  const flags = [
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O2",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
  ];
  const built = Bun.spawnSync(["gcc", ...flags, "-o", core, source]);
  expect(built.stderr.toString()).toBe("");
  return core;
}
