/** RetroArch on the image, tested without a board: its settings, the profiles of controllers, and the wrappers of players. */
import { expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { coreFolders } from "../../src/players/retroarch-cores.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { type Color, mainColor, shareOf } from "./picture.ts";

const text = (path: string) => readFile(join(root, path), "utf8");

/** A tree after post-build, with these programs in it. */
async function inTree(programs: readonly string[], work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-tree-"));
  try {
    await mkdir(join(folder, "etc"));
    await mkdir(join(folder, "usr/bin"), { recursive: true });
    await writeFile(join(folder, "etc/shadow"), "");
    for (const path of ["usr", "etc/rauc"])
      await cp(join(root, "overlay", path), join(folder, path), { recursive: true });
    for (const name of programs) await writeFile(join(folder, "usr/bin", name), "");
    await run([join(root, "buildroot/board/common/post-build.sh"), folder, "qemu"]);
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("each of at least fifty controllers gets one profile, with its ids in decimal and the buttons of all", () =>
  inTree([], async (folder) => {
    const rows = (await text("buildroot/board/common/controllers"))
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    expect(rows.length).toBeGreaterThanOrEqual(50);
    for (const row of rows) expect(row).toMatch(/^[0-9a-f]{4} [0-9a-f]{4} [\w ()+]+$/);
    expect(new Set(rows.map((row) => row.slice(0, 9))).size).toBe(rows.length);
    const profiles = join(folder, "usr/share/libretro/autoconfig/sdl2");
    expect((await readdir(profiles)).length).toBe(rows.length);
    const profile = await readFile(join(profiles, "tapdeck-045e-028e.cfg"), "utf8");
    expect(profile).toStartWith(
      'input_device = "Xbox 360 Controller"\ninput_vendor_id = "1118"\ninput_product_id = "654"\n',
    );
    expect(profile).toEndWith(await text("buildroot/board/common/controller-buttons.cfg"));
  }));

test("the wrapper of a player that is not in the image is not there either", async () => {
  const wrappers = (folder: string) => readdir(join(folder, "usr/lib/tapdeck/players"));
  await inTree(["mpv", "retroarch"], async (folder) =>
    expect((await wrappers(folder)).sort()).toEqual(["mpv", "retroarch"]),
  );
  await inTree(["mpv"], async (folder) => expect(await wrappers(folder)).toEqual(["mpv"]));
  await inTree([], async (folder) => expect(await wrappers(folder)).toEqual([]));
});

test("mpv tries the decoder of the board first, and decodes by itself without one", () =>
  inTree(["mpv"], async (folder) => {
    const film = join(folder, "film.mkv");
    const source = "av://lavfi:testsrc=size=320x240:rate=25:duration=0.2";
    await run(["mpv", "--no-config", source, `--o=${film}`, "--ovc=libx264", "--ovcopts=pix_fmt=yuv420p"]);
    const words = ["--no-config", "--vo=null", "--ao=null", "--msg-level=all=no,vd=debug", film];
    const said = await run([join(folder, "usr/lib/tapdeck/players/mpv"), ...words]);
    const steps = [...said.matchAll(/(?:Trying hardware decoding via|Using) .*/g)].map(([step]) => step);
    expect(steps[0]).toBe("Trying hardware decoding via h264_v4l2m2m-v4l2m2m-copy.");
    expect(steps).toContain("Using software decoding.");
  }));

test("RetroArch writes to folders that the image makes below /data, or to memory, and nowhere else", async () => {
  const settings = new Map(
    [...(await text("overlay/etc/retroarch.cfg")).matchAll(/^(\w+) = "([^"]*)"$/gm)].map(
      ([, name = "", value = ""]) => [name, value] as const,
    ),
  );
  const start = await text("overlay/etc/init.d/S11data");
  const made = [...start.matchAll(/ (\/data\/tapdeck\/\w+)/g)].map(([, path]) => path);
  const written = ["savefile", "savestate", "system", "screenshot"].map((name) =>
    settings.get(`${name}_directory`),
  );
  // The service has a folder for media of its own.
  expect(written.toSorted()).toEqual(made.filter((path) => path !== "/data/tapdeck/media").toSorted());
  expect(settings.get("cache_directory")).toBe("/tmp");
  expect(settings.get("core_info_cache_enable")).toBe("false");
  // The service looks for cores in the folder of RetroArch's setting.
  expect(coreFolders({})).toContain(settings.get("libretro_directory") ?? "none");
});

test("the colors of a picture and of its parts are found", () => {
  // The left half is red, the right one black with a line of blue at the bottom.
  const [red, black, blue]: readonly Color[] = [
    [216, 40, 8],
    [0, 0, 0],
    [24, 56, 248],
  ];
  const [width, height] = [8, 4];
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      pixels.set((x < 4 ? red : y === 3 ? blue : black) ?? [], (y * width + x) * 3);
  const picture = { width, height, pixels };
  expect(mainColor(picture)).toEqual({ color: [216, 40, 8], share: 0.5 });
  const right = { left: 0.5, top: 0, right: 1, bottom: 1 };
  expect(shareOf(picture, [0, 10, 0], right)).toBe(0.75);
  expect(shareOf(picture, [24, 56, 248], right)).toBe(0.25);
  expect(shareOf(picture, [216, 40, 8], right)).toBe(0);
});
