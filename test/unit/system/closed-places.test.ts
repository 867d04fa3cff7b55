/** Files of the service itself, and of the kernel: neither cards nor the index can reach them, in any media folder. */
import { afterEach, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { link, mkdir, mkdtemp, open, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ClosedPlaces, SystemFolder } from "../../../src/core/media.ts";
import { findMediaFile } from "../../../src/launch/media-file.ts";
import { indexPath } from "../../../src/media/index/index-file.ts";
import { closedFor, closedNow } from "../../../src/system/closed-places.ts";
import { closedPlaces, placesOf } from "../../../src/system/folders.ts";
import { makeDeck } from "../../helpers/launch-harness.ts";
import { contentOf, runHere } from "../../helpers/media.ts";
import { eventually } from "../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Home folders of the service beside a person's media. */
async function makeHome(files: readonly string[] = []) {
  const home = await realpath(await mkdtemp(join(tmpdir(), "tapdeck-closed-")));
  closing.push(() => rm(home, { recursive: true, force: true }));
  const environment = {
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "share"),
    XDG_RUNTIME_DIR: join(home, "run"),
  };
  const own = [
    ...["share/tapdeck/tapdeck.db", "share/tapdeck/tls/device-key.pem", "share/tapdeck/media/SNES/Fine.sfc"],
    ...[
      "config/tapdeck/config.toml",
      "config/tapdeck/mappings/a.toml",
      "run/tapdeck.sock",
      "roms/SNES/Game.sfc",
    ],
  ];
  for (const file of [...own, ...files]) {
    await mkdir(dirname(join(home, file)), { recursive: true });
    await writeFile(join(home, file), "x");
  }
  const closed = closedPlaces(placesOf({}, environment), environment);
  const find = (wanted: string, roots: readonly string[] = ["/"], folders: readonly SystemFolder[] = []) =>
    findMediaFile(wanted, { roots, own: folders, closed }, []);
  return { home, environment, closed, find };
}

const refusal = "this file lies in a folder of Tapdeck itself or of the kernel, from which nothing is played";

test("a file of the service or the kernel that is in no media folder gets the answer of one that does not exist", async () => {
  const { home, find } = await makeHome();
  const roots = [join(home, "roms")];
  const tls = join(home, "share/tapdeck/tls");
  for (const wanted of [join(tls, "device-key.pem"), join(tls, "nope"), "/proc/self/maps", "/proc/0/maps"])
    await expect(find(wanted, roots)).rejects.toThrow(`${wanted} is not below a media folder`);
});

test("no spelling of a path reaches a file of the service, even where the whole file system is a media folder", async () => {
  const { home, find } = await makeHome();
  const key = join(home, "share/tapdeck/tls/device-key.pem");
  await symlink(key, join(home, "roms/SNES/Link.sfc"));
  await symlink(dirname(key), join(home, "roms/SNES/Folder"));
  await symlink(join(home, "roms/SNES/Link.sfc"), join(home, "roms/SNES/Link of a link.sfc"));
  const odd = Buffer.concat([
    Buffer.from(join(home, "share/tapdeck/K")),
    Buffer.of(0xe9),
    Buffer.from(".sfc"),
  ]);
  await writeFile(odd, "x");
  const below = home.slice(1);
  const spellings = [
    ...["share/tapdeck/tapdeck.db", "config/tapdeck/config.toml", "config/tapdeck/mappings/a.toml"].map(
      (path) => join(home, path),
    ),
    ...[
      key,
      dirname(key),
      join(home, "share/tapdeck"),
      join(home, "config/tapdeck"),
      join(home, "run/tapdeck.sock"),
    ],
    join(home, "run"),
    `${home}/roms/../share/./tapdeck//tls/device-key.pem`,
    `${home}/share/tapdeck/media/../tls/device-key.pem`,
    `/proc/self/root${key}`,
    `/proc/${process.pid}/root${key}`,
    `/proc/thread-self/root${key}`,
    `/proc/self/cwd/${"../".repeat(20)}${key.slice(1)}`,
    `/dev/fd/../root${key}`,
    `${home}/roms/SNES/Link.sfc`,
    `${home}/roms/SNES/Link of a link.sfc`,
    `${home}/roms/SNES/Folder/device-key.pem`,
    join(home, "share/tapdeck/K\ufffd.sfc"),
    // The path, as a card has it, with / as the media folder.
    `${below}/share/tapdeck/tls/device-key.pem`,
    `${below.toUpperCase()}/SHARE/TAPDECK/TAPDECK.DB`,
    `${below}/share/tapdeck/K\ufffd.sfc`,
    `proc/self/root${key}`,
    `${below}/roms/SNES/Link.sfc`,
  ];
  for (const spelling of spellings) {
    const end = await find(spelling).then(({ path }) => `found ${path}`, String);
    expect(`${spelling}: ${end}`).toBe(`${spelling}: ServiceError: ${refusal}`);
  }
  await using file = await open(key, "r");
  await expect(find(`/proc/self/fd/${file.fd}`)).rejects.toThrow(refusal);
});

test("the same media folders still play what is not the service's", async () => {
  const { home, find } = await makeHome();
  for (const path of ["roms/SNES/Game.sfc", "share/tapdeck/media/SNES/Fine.sfc"]) {
    expect((await find(join(home, path))).path).toBe(join(home, path));
    expect((await find(`/proc/self/root${join(home, path)}`)).path).toBe(join(home, path));
  }
});

test.each(["/proc/self/environ", "/proc/1/cmdline", "/sys/kernel/notes", "/dev/null", "proc/self/environ"])(
  "%s is no medium, with places of the service or without",
  async (path) => {
    const { find } = await makeHome();
    await expect(find(path)).rejects.toThrow(refusal);
    await expect(findMediaFile(path, { roots: ["/"], own: [] }, [])).rejects.toThrow(refusal);
  },
);

test("a media folder within the service's own folders plays nothing, but the one that is meant for it", async () => {
  const { home, find } = await makeHome(["share/tapdeck/roms/SNES/Game.sfc"]);
  const data = join(home, "share/tapdeck");
  await expect(find("SNES/Game.sfc", [join(data, "roms")])).rejects.toThrow(refusal);
  await expect(
    find("SNES/device-key.pem", [], [{ system: "SNES", folder: join(data, "tls") }]),
  ).rejects.toThrow(refusal);
  expect((await find("SNES/Fine.sfc", [join(data, "media")])).system.id).toBe("SNES");
});

test("a link in the place of the media folder opens nothing of the service's", async () => {
  const { home, find } = await makeHome(["usb/SNES/Away.sfc"]);
  const media = join(home, "share/tapdeck/media");
  await rename(media, join(home, "away"));
  await symlink("tls", media);
  await expect(find("device-key.pem", [media])).rejects.toThrow(refusal);
  await rm(media);
  await symlink(".", media);
  await expect(find("tapdeck.db", [media])).rejects.toThrow(refusal);
  // A drive in another place is the usual reason for such a link.
  await rm(media);
  await symlink(join(home, "usb"), media);
  expect((await find("SNES/Away.sfc", [media])).path).toBe(join(home, "usb/SNES/Away.sfc"));
});

test("if the service's folders are links themselves, what they lead to is closed", async () => {
  const { home, environment, find } = await makeHome();
  await rename(environment.XDG_CONFIG_HOME, join(home, "dotfiles"));
  await symlink(join(home, "dotfiles"), environment.XDG_CONFIG_HOME);
  await rename(join(home, "share/tapdeck"), join(home, "moved"));
  await symlink(join(home, "moved"), join(home, "share/tapdeck"));
  for (const path of ["dotfiles/tapdeck/config.toml", "moved/tapdeck.db", "moved/tls/device-key.pem"])
    await expect(find(join(home, path))).rejects.toThrow(refusal);
  expect((await find(join(home, "moved/media/SNES/Fine.sfc"))).path).toBe(
    join(home, "moved/media/SNES/Fine.sfc"),
  );
});

test("a config file among media closes itself and its mappings, and not the media", async () => {
  const { home, environment } = await makeHome(["roms/deck.toml", "roms/mappings/a.toml"]);
  const path = join(home, "roms/deck.toml");
  await link(path, join(home, "roms/Second name.sfc"));
  const closed = closedPlaces(placesOf({ config: path }, environment), environment);
  const find = (wanted: string) =>
    findMediaFile(wanted, { roots: [join(home, "roms")], own: [], closed }, []);
  for (const wanted of ["deck.toml", "mappings/a.toml", "Second name.sfc"])
    await expect(find(wanted)).rejects.toThrow(refusal);
  expect((await find("SNES/Game.sfc")).path).toBe(join(home, "roms/SNES/Game.sfc"));
});

test("a name is closed that came after it was read ahead, and a link read ahead opens nothing", async () => {
  const { home, closed } = await makeHome();
  const key = join(home, "config/tapdeck/config.toml");
  const late = join(home, "roms/SNES/Late.sfc");
  await symlink(join(home, "roms/SNES/Game.sfc"), join(home, "roms/SNES/Link.sfc"));
  await symlink(join(home, "share/tapdeck/media/SNES"), join(home, "roms/Fine"));
  const now = closedNow(closed);
  for (const path of [late, join(home, "roms/SNES/Link.sfc"), join(home, "roms/Fine/Fine.sfc")])
    now.readAhead(path);
  // Questions to the disk are answered in order.
  await Promise.all([now.isClosed(home), now.isClosed(join(home, "roms/SNES"))]);
  await link(key, late);
  expect(await now.isClosed(late)).toBe(true);
  expect(await now.isClosed(key)).toBe(true);
  expect(await now.isClosed(join(home, "share/tapdeck/media/SNES/Fine.sfc"))).toBe(false);
  expect(await now.isClosed(join(home, "roms/SNES/Game.sfc"))).toBe(false);
});

test("the closed places depend on where the flags put things", () => {
  const environment = { XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d", XDG_RUNTIME_DIR: "/r" };
  const of = (flags: Parameters<typeof placesOf>[0], more = {}) => {
    const all = { ...environment, ...more };
    return closedPlaces(placesOf(flags, all), all);
  };
  const folders = (closed: ClosedPlaces) => [...new Set(closed.folders)].sort();
  expect(of({})).toEqual({
    folders: ["/d/tapdeck", "/r", "/c/tapdeck"],
    files: ["/c/tapdeck/config.toml"],
    open: "/d/tapdeck/media",
  });
  expect(folders(of({ data: "/x" }))).toEqual(["/x"]);
  expect(folders(of({ data: "/x" }, { RUNTIME_DIRECTORY: "/run/a:/run/b" }))).toEqual([
    "/run/a",
    "/run/b",
    "/x",
  ]);
  expect(folders(of({ config: "/c/tapdeck/other.toml" }))).toEqual(["/c/tapdeck", "/d/tapdeck", "/r"]);
  expect(folders(of({ config: "/home/deck.toml" }))).toEqual(["/d/tapdeck", "/home/mappings", "/r"]);
  expect(of({ config: "/home/deck.toml" }).files).toEqual(["/home/deck.toml"]);
});

test("a bind mount shows the service's folder under a second path, which is closed as well", async () => {
  const { home, closed } = await makeHome();
  await mkdir(join(home, "roms/bound"));
  const script = `
    import { closedFor, closedNow } from ${JSON.stringify(join(import.meta.dir, "../../../src/system/closed-places.ts"))};
    const [closed, ...paths] = JSON.parse(process.argv[1]);
    for (const path of paths)
      console.log(await closedNow(closed).isClosed(path), closedFor(closed).isClosed(path), path);
  `;
  const paths = ["tls/device-key.pem", "tapdeck.db", "media/SNES/Fine.sfc"].map((path) =>
    join(home, "roms/bound", path),
  );
  const child = Bun.spawnSync([
    ...["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec"],
    'mount --bind "$1" "$2"; exec "$3" -e "$4" "$5"',
    ...["sh", join(home, "share/tapdeck"), join(home, "roms/bound"), process.execPath, script],
    JSON.stringify([closed, ...paths]),
  ]);
  expect(child.stdout.toString() + child.stderr.toString()).toBe(
    paths.map((path, at) => `${at < 2} ${at < 2} ${path}\n`).join(""),
  );
  // Without the mount no file of the service is in this place.
  await writeFile(join(home, "roms/bound/x"), "");
  expect(await closedNow(closed).isClosed(join(home, "roms/bound/x"))).toBe(false);
  expect(closedFor(closed).isClosed(join(home, "roms/bound/x"))).toBe(false);
});

test("playlists, hooks and the last that was started do not reach what a card does not", async () => {
  const { home, closed } = await makeHome(["roms/A/1.true", "roms/A/3.true", "share/tapdeck/2.true"]);
  const saved: { path: string; systemId: string; launcherId: string }[] = [];
  const any = { id: "any", systems: [], extensions: [], command: ["true"] };
  await using deck = await makeDeck({
    closed,
    elapsedMs: () => performance.now() * 1000,
    lastMedia: {
      read: () => ({ path: join(home, "share/tapdeck/tapdeck.db"), systemId: "Unknown", launcherId: "any" }),
      save: (media) => void saved.push(media),
    },
  });
  deck.set({
    launchers: [any],
    systems: {
      rootFolders: ["/"],
      statedRootFolders: ["/"],
      folders: [],
      removableFolders: [],
      prefer: { regions: [], languages: [] },
    },
  });
  expect(await deck.tapAndWait("**launch.last")).toBe(refusal);
  const data = join(home, "share/tapdeck");
  await writeFile(
    join(home, "roms/A/list.m3u"),
    `1.true\n${data}/2.true\n../../share/tapdeck/tapdeck.db\n3.true\n`,
  );
  await writeFile(join(home, "roms/A/list.pls"), `[playlist]\nFile1=${data}/2.true\nFile2=3.true\n`);
  await symlink(join(data, "2.true"), join(home, "roms/A/2.true"));
  await writeFile(join(data, "list.m3u"), `${home}/roms/A/1.true\n`);
  for (const [list, started] of [
    ["list.m3u", "1 3"],
    ["list.pls", "3"],
    ["", "1 3"],
  ] as const) {
    const before = deck.started().length;
    expect(await deck.tapAndWait(`**playlist.play:${home}/roms/A/${list}`)).toBe(true);
    await eventually(() => {
      expect(deck.launchQueue.playlist()).toBeUndefined();
      expect(deck.count("media.stopped")).toBe(deck.started().length);
    });
    expect(deck.started().slice(before).join(" ")).toBe(started);
  }
  const before = deck.started().length;
  for (const script of [
    `**playlist.play:${data}`,
    `**playlist.play:${data}/list.m3u`,
    `**playlist.load:${data}/list.m3u`,
    `${data}/list.m3u`,
    `${data}/tapdeck.db?launcher=any`,
    `${data}/tapdeck.db?launcher=any&system=SNES`,
    data,
  ])
    expect([script, await deck.tapAndWait(script)]).toEqual([script, refusal]);
  deck.set({ hooks: { beforeStart: `${data}/tapdeck.db` } });
  expect(await deck.tapAndWait(`${home}/roms/A/1.true`)).toBe(
    `the hook before_start did not let it start: ${refusal}`,
  );
  expect(deck.started().length).toBe(before);
  expect(saved.map(({ path }) => path).every((path) => path.startsWith(`${home}/roms/`))).toBe(true);
});

test("the index leaves out the service's folders, however its walk comes by", async () => {
  const { home, closed } = await makeHome([
    "share/tapdeck/Save.sfc",
    "share/tapdeck/snes/Game in data.sfc",
    "share/tapdeck/media/Loose.sfc",
    "run/Played.sfc",
    "config/tapdeck/mappings/Mapped.sfc",
  ]);
  await symlink(join(home, "share/tapdeck/Save.sfc"), join(home, "roms/SNES/Link.sfc"));
  await symlink(join(home, "share/tapdeck"), join(home, "roms/SNES/Folder"));
  let complaints: readonly string[] = [];
  const walk = (roots: readonly string[], own: readonly SystemFolder[]) => {
    const folder = join(home, "index");
    mkdirSync(folder, { recursive: true });
    const lines = runHere({ path: indexPath(folder), folders: { roots, own, closed }, systems: [] });
    complaints = lines.flatMap((line) => (line.kind === "complaint" ? [`${line.path}: ${line.why}`] : []));
    return contentOf(folder)?.toSorted();
  };
  expect(walk([], [{ system: "SNES", folder: home }])).toEqual([
    "SNES/roms/SNES/Game.sfc",
    "SNES/share/tapdeck/media/Loose.sfc",
    "SNES/share/tapdeck/media/SNES/Fine.sfc",
  ]);
  expect(walk([join(home, "share/tapdeck")], [])).toEqual([]);
  expect(walk([], [{ system: "SNES", folder: join(home, "share/tapdeck/snes") }])).toEqual([]);
  expect(walk([], [{ system: "SNES", folder: join(home, "run") }])).toEqual([]);
  expect(complaints).toEqual([`${home}/run: it is a folder of Tapdeck itself or of the kernel`]);
  expect(walk([join(home, "share/tapdeck/media")], [])).toEqual(["SNES/Fine.sfc"]);
});
