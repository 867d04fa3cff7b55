/** BIOS files: the info files of cores, the needs of a system, and the sentence for a game that lacks one. */
import { afterEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { PlayerChoice } from "../../../../src/launch/launchers.ts";
import { type CheckBios, createBios } from "../../../../src/launch/ports/bios.ts";
import { firmwareIn, neededFirmware } from "../../../../src/players/firmware.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const psx = `
display_name = "Sony - PlayStation (Beetle PSX)"
# Firmware / BIOS
firmware_count = 3
firmware0_desc = "scph5500.bin (PS1 JP BIOS)"
firmware0_path = "scph5500.bin"
firmware0_opt = "false"
firmware1_desc = "scph5501.bin (PS1 US BIOS)"
firmware1_path = "scph5501.bin"
firmware1_opt = "false"
firmware2_path = "psxonpsp660.bin"
firmware2_opt = "true"
notes = "(!) scph5500.bin (md5): 8dd7d5296a650fac7319bce665a6a53c|(!) scph5501.bin (md5): 490F666E1AFB15B7362B406ED1CEA246|Press L1."
`;

/** A machine with cores, their info files, and RetroArch's settings. */
async function machine(infos: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-bios-"));
  folders.push(folder);
  const put = async (path: string, text = "x") => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  const system = join(folder, "system");
  await put(
    "config/retroarch/retroarch.cfg",
    `  system_directory = "${system}"\nlibretro_info_path = "${folder}/info"\n`,
  );
  for (const [core, text] of Object.entries(infos)) await put(`info/${core}_libretro.info`, text);
  const sticks: string[] = [];
  const environment = { HOME: folder, XDG_CONFIG_HOME: join(folder, "config") };
  const check = createBios(environment, () => sticks);
  return { folder, put, system, sticks, check };
}

const choiceOf = (core: string, more: Partial<PlayerChoice> = {}): PlayerChoice => ({
  launcherId: "retroarch",
  kind: "retroarch",
  argv: ["/usr/bin/retroarch", "-L", `/cores/${core}_libretro.so`, "/m/Game.cue"],
  optionsAt: 3,
  core: `/cores/${core}_libretro.so`,
  ...more,
});

/** The result of starting a game of the system, with the folder of a stick's BIOS, or without. */
async function said(
  check: CheckBios,
  systemId: string,
  choice: PlayerChoice,
  path = "/m/Game.cue",
): Promise<string> {
  const file = { path, system: { id: systemId, name: systemId, category: "Console" } };
  return check(file, choice).then(
    ({ systemFolder = "" }) => systemFolder,
    (error: unknown) => (error instanceof Error ? error.message : "?"),
  );
}

test("an info file tells paths, which of them are optional, and sums among its notes", () => {
  expect(firmwareIn(psx)).toEqual([
    { path: "scph5500.bin", isOptional: false, md5: "8dd7d5296a650fac7319bce665a6a53c" },
    { path: "scph5501.bin", isOptional: false, md5: "490f666e1afb15b7362b406ed1cea246" },
    { path: "psxonpsp660.bin", isOptional: true },
  ]);
});

test("an info file that leads elsewhere, never ends or is none lists nothing", () => {
  expect(
    firmwareIn('firmware0_path = "/etc/passwd"\nfirmware1_path = "../../x"\nfirmware2_path = ""'),
  ).toEqual([]);
  expect(firmwareIn("\0".repeat(1000))).toEqual([]);
  const endless = Array.from({ length: 5000 }, (_, at) => `firmware${at}_path = "${at}.bin"`).join("\n");
  expect(firmwareIn(endless).length).toBeLessThan(100);
});

test("a game whose BIOS is missing names the file and its MD5, and starts once one of them is there", async () => {
  const { check, put, system } = await machine({ mednafen_psx: psx });
  const choice = choiceOf("mednafen_psx");
  expect(await said(check, "PSX", choice)).toBe(
    "the BIOS file scph5500.bin (MD5 8dd7d5296a650fac7319bce665a6a53c) or scph5501.bin (MD5 490f666e1afb15b7362b406ed1cea246)" +
      ` or scph5502.bin (MD5 32736f17079d0b2b7024407c39bd3050) is missing: put it into ${system}`,
  );
  await put("system/scph5501.bin");
  expect(await said(check, "PSX", choice)).toBe("");
});

test("beside the game, and in the folder bios of a stick, a BIOS is found too", async () => {
  const { check, put, folder, sticks } = await machine({ mednafen_psx: psx });
  await put("games/scph5502.bin");
  expect(await said(check, "PSX", choiceOf("mednafen_psx"), join(folder, "games/Game.cue"))).toBe("");
  await put("stick/bios/scph5500.bin");
  expect(await said(check, "PSX", choiceOf("mednafen_psx"))).toContain("is missing");
  sticks.push(join(folder, "empty"), join(folder, "stick"));
  expect(await said(check, "PSX", choiceOf("mednafen_psx"))).toBe(join(folder, "stick/bios"));
});

test("the need for a BIOS depends on the system of the game: a cartridge starts where a disc does not", async () => {
  const optional =
    'firmware0_path = "syscard3.pce"\nfirmware0_opt = "true"\nfirmware1_path = "syscard2.pce"\nfirmware1_opt = "true"\n';
  const { check, put } = await machine({ mednafen_pce_fast: optional });
  const choice = choiceOf("mednafen_pce_fast");
  expect(await said(check, "TurboGrafx16", choice)).toBe("");
  expect(await said(check, "TurboGrafx16CD", choice)).toContain(
    "syscard3.pce (MD5 38179df8f4ac870017db21ebcbf53114)",
  );
  // A system card of another version is also sufficient.
  await put("system/syscard2.pce");
  expect(await said(check, "TurboGrafx16CD", choice)).toBe("");
  expect(await said(check, "MegaCD", choiceOf("picodrive"))).toContain("bios_CD_U.bin (MD5 2efd74e3");
  expect(await said(check, "FDS", choiceOf("nestopia"))).toContain("disksys.rom (MD5 ca30b50f");
  expect(await said(check, "NES", choiceOf("nestopia"))).toBe("");
  // This core has a BIOS of its own.
  expect(await said(check, "PSX", choiceOf("pcsx_rearmed"))).toBe("");
});

test("of a RetroArch with settings that nobody here knows nothing is asked", async () => {
  const { check } = await machine({ mednafen_psx: psx });
  for (const more of [
    { argv: ["flatpak", "run", "org.libretro.RetroArch", "-L", "x", "/m/Game.cue"] },
    { argv: ["retroarch", "--config", "/mine.cfg", "-L", "x", "/m/Game.cue"] },
    { argv: ["retroarch", "--config=/mine.cfg", "-L", "x", "/m/Game.cue"] },
    { environment: { HOME: "/elsewhere" } },
  ])
    expect(await said(check, "PSX", choiceOf("mednafen_psx", more))).toBe("");
  const { core: _, ...plain } = choiceOf("mednafen_psx");
  expect(await said(check, "PSX", plain)).toBe("");
});

// The folder of the package libretro-core-info.
const debian = "/usr/share/libretro/info";

test.skipIf(!existsSync(debian)).each([
  ["mednafen_psx_hw", "PSX", 3],
  ["mednafen_pcfx", "PCFX", 1],
  ["gpsp", "GBA", 0],
  ["mgba", "GBA", 0],
  ["nestopia", "NES", 0],
])("Debian's info file of %s says what %s needs", (core, system, count) => {
  expect(neededFirmware(system, `/x/${core}_libretro.so`, [debian])).toHaveLength(count);
});

/** The needs of a game, determined in a separate process, which a test can end although it is blocked. */
function needsIn(folder: string): string {
  const players = join(import.meta.dir, "../../../../src/players");
  const script = `
    const { neededFirmware } = await import(${JSON.stringify(join(players, "firmware.ts"))});
    const { infoFolders } = await import(${JSON.stringify(join(players, "retroarch-cores.ts"))});
    const core = "/cores/swanstation_libretro.so";
    const environment = { HOME: ${JSON.stringify(folder)} };
    console.log(JSON.stringify(neededFirmware("NES", core, infoFolders(core, environment))));`;
  const asked = Bun.spawnSync([process.execPath, "-e", script], { timeout: 10_000 });
  return asked.exitedDueToTimeout === true ? "blocked" : `${asked.stdout}${asked.stderr}`.trim();
}

const wanted = 'firmware0_path = "x.bin"\nfirmware0_opt = "false"\n';

test("a FIFO in the place of a file that players may write does not block the service", async () => {
  const { folder, put } = await machine({});
  await mkdir(join(folder, ".config/retroarch"), { recursive: true });
  Bun.spawnSync(["mkfifo", join(folder, ".config/retroarch/retroarch.cfg")]);
  expect(needsIn(folder)).toBe("[]");
  await rm(join(folder, ".config/retroarch/retroarch.cfg"));
  await put(".config/retroarch/retroarch.cfg", `libretro_info_path = "${folder}/info"\n`);
  await mkdir(join(folder, "info"));
  Bun.spawnSync(["mkfifo", join(folder, "info/swanstation_libretro.info")]);
  expect(needsIn(folder)).toBe("[]");
});

test.each([
  ["an info file of empty lines", wanted + "\n".repeat(64 * 1024 - wanted.length)],
  ["an info file with notes of spaces", `${wanted}notes = "(!)${" ".repeat(60 * 1024)}"`],
])("%s cannot block the service", async (_name, info) => {
  const { folder, put } = await machine({});
  await put(".config/retroarch/retroarch.cfg", `libretro_info_path = "${folder}/info"\n`);
  await put("info/swanstation_libretro.info", info);
  expect(needsIn(folder)).toBe('[{"path":"x.bin","isOptional":false}]');
});

test("settings of empty lines cannot block the service", async () => {
  const { folder, put } = await machine({});
  await put(".config/retroarch/retroarch.cfg", "\n".repeat(512 * 1024));
  expect(needsIn(folder)).toBe("[]");
});
