/** The options of tapdeck-confine for the places of a service, in a folder of the test. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { placesOf } from "../../../src/system/folders.ts";
import { areUnchanged, placesNow, type ReachOfPlayers } from "../../../src/system/player-places.ts";

const nothing: ReachOfPlayers = { hidden: [], kept: [], open: [] };

/** The options without the folder of the test, for settings in `<folder>/config` and data in `<folder>/data/tapdeck`. */
async function inFolder(
  work: (
    folder: string,
    options: (named?: Partial<ReachOfPlayers>, more?: Readonly<Record<string, string>>) => readonly string[],
  ) => Promise<void>,
): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "tapdeck-places-")));
  const options = (named: Partial<ReachOfPlayers> = {}, more: Readonly<Record<string, string>> = {}) => {
    const environment = {
      XDG_CONFIG_HOME: `${folder}/config`,
      XDG_DATA_HOME: `${folder}/data`,
      XDG_RUNTIME_DIR: `${folder}/run`,
      ...more,
    };
    const all = placesNow(placesOf({}, environment), { ...nothing, ...named }, environment);
    return all.options.map((option) => option.replace(`=${folder}/`, "=")).toSorted();
  };
  try {
    await work(folder, options);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const ofSystem = [
  "--keep=/proc",
  ...["cec0", "cec1", "i2c-1", "spidev0.0", "spidev0.1", "uhid", "uinput", "vcio"].map(
    (name) => `--hide=/dev/${name}`,
  ),
];
const ofData = [
  "--home=data/tapdeck",
  ...["bios", "media", "saves", "screenshots", "states"].map((name) => `--open=data/tapdeck/${name}`),
];

test("in a run folder of a person only the service's socket is hidden, and in its own all but the players' folders", () =>
  inFolder(async (folder, options) => {
    expect(options()).toEqual(
      [
        ...["--hide=config/tapdeck", "--hide=run/tapdeck.sock", "--keep=run/tapdeck-sounds"],
        ...[...ofSystem, ...ofData],
      ].toSorted(),
    );
    const own = options({}, { RUNTIME_DIRECTORY: `${folder}/run` });
    expect(own).toContain("--hide=run");
    expect(own).toContain("--open=run/players");
    expect(own.some((option) => option.startsWith("--open=run/tapdeck-saves-"))).toBe(true);
    expect(own).toContain("--keep=run/tapdeck-sounds");
  }));

test("each link on the way to a hidden place is hidden, and the place that it leads to", () =>
  inFolder(async (folder, options) => {
    await mkdir(join(folder, "keys/new"), { recursive: true });
    await symlink("keys", join(folder, "current"));
    await symlink("./new/../new/key", join(folder, "keys/link"));
    const hidden = (path: string) =>
      options({ hidden: [join(folder, path)] }).filter((option) => /=(keys|current|key|loop)/.test(option));
    expect(hidden("current/link")).toEqual(["--hide=current", "--hide=keys/link", "--hide=keys/new/key"]);
    // A changed target takes effect at the next start of a player.
    await rename(join(folder, "keys"), join(folder, "keys-of-before"));
    expect(hidden("current/link")).toEqual(["--hide=current", "--hide=keys/link"]);
    await symlink("loop", join(folder, "loop"));
    expect(hidden("loop/key")).toEqual(["--hide=loop", "--hide=loop/key"]);
  }));

test("a changed link is noticed, and so is one in the place of a folder or of nothing", () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, "disk"));
    await symlink("disk", join(folder, "link"));
    const environment = { XDG_CONFIG_HOME: `${folder}/link/config`, XDG_DATA_HOME: `${folder}/disk/data` };
    const now = () => placesNow(placesOf({}, environment), nothing, environment).links;
    const before = now();
    expect(await areUnchanged(before)).toBe(true);
    await rename(join(folder, "disk"), join(folder, "other"));
    // A folder that is gone has led nowhere else.
    expect(await areUnchanged(before)).toBe(true);
    await symlink("other", join(folder, "disk"));
    expect(await areUnchanged(before)).toBe(false);
    await rm(join(folder, "disk"));
    await rm(join(folder, "link"));
    expect(await areUnchanged(before)).toBe(false);
    await symlink("other", join(folder, "link"));
    expect(await areUnchanged(before)).toBe(false);
    expect(await areUnchanged(now())).toBe(true);
  }));

test("a link of the data folder itself is hidden, so that a player cannot lead the next start to other data", () =>
  inFolder(async (folder, options) => {
    await mkdir(join(folder, "disk/deck"), { recursive: true });
    await mkdir(join(folder, "data"));
    await symlink("../disk/deck", join(folder, "data/tapdeck"));
    expect(options()).toContain("--hide=data/tapdeck");
    expect(options()).toContain("--home=disk/deck");
    expect(options()).toContain("--open=disk/deck/media");
  }));

test("no folder of media and no program of a launcher opens what is hidden, not even by a link", () =>
  inFolder(async (folder, options) => {
    const media = join(folder, "data/tapdeck/media");
    await mkdir(media, { recursive: true });
    await symlink("../tls", join(media, "link"));
    const paths = ["data/tapdeck/tls", "data/tapdeck/media/link", "config/tapdeck", "data/tapdeck"].map(
      (path) => join(folder, path),
    );
    expect(options({ open: paths, kept: paths })).toEqual(options());
  }));

test("programs are kept unless they belong to the system or lie among media", () =>
  inFolder(async (folder, options) => {
    const [beside, among] = [join(folder, "bin/play"), join(folder, "games/play")];
    const kept = options({ kept: [beside, among, "/usr/bin/mpv", "/bin/sh"], open: [join(folder, "games")] });
    expect(kept.filter((option) => option.startsWith("--keep="))).toEqual([
      "--keep=/proc",
      "--keep=bin/play",
      "--keep=run/tapdeck-sounds",
    ]);
  }));

test("players reach no device that types for other programs, and none that commands the firmware or the television", () =>
  inFolder(async (_folder, options) => {
    const all = options({ open: ["/dev"], kept: ["/dev/uinput"] });
    for (const path of ["/dev/uinput", "/dev/uhid", "/dev/vcio", "/dev/cec0"])
      expect(all).toContain(`--hide=${path}`);
  }));
