/**
 * The menu by its keys, beside a screen that records the requested pages.
 * Covers: src/services/menu-lists.ts, src/services/menu-items.ts, src/services/menu-wifi.ts,
 * src/services/menu-bluetooth.ts, src/services/input-devices.ts.
 */
import { afterEach, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LibraryService } from "../../../src/api/services.ts";
import { createBus } from "../../../src/bus.ts";
import type { BluetoothReport } from "../../../src/core/bluetooth-shapes.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { MenuKey, MenuKeyEvent } from "../../../src/core/operating-system.ts";
import type { WifiReport, WifiRequest } from "../../../src/core/wifi-shapes.ts";
import type { ShownMenu } from "../../../src/screen/picture.ts";
import { english } from "../../../src/screen/texts.ts";
import { followMenu } from "../../../src/services/menu.ts";
import type { MenuBluetooth } from "../../../src/services/menu-bluetooth.ts";
import type { MenuWifi } from "../../../src/services/menu-wifi.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually } from "../../helpers/processes.ts";

type Browsed = Awaited<ReturnType<LibraryService["browse"]>>;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const media = {
  systemId: "SNES",
  systemName: "SNES",
  mediaPath: "SNES/Mario.sfc",
  mediaName: "Mario",
  launcherId: "x",
  started: "2026-01-01T00:00:00Z",
};

const game = (name: string) => ({
  type: "media" as const,
  name,
  path: `SNES/${name}.sfc`,
  systemId: "SNES",
  systemName: "SNES",
  zapScript: `SNES/${name}.sfc`,
  tags: [],
});

const system = {
  type: "root" as const,
  name: "Super Nintendo",
  path: "SNES",
  systemId: "SNES",
  systemIds: ["SNES"],
  category: "Console",
  fileCount: 1,
};

function pageOf(path: string, entries: Browsed["entries"]): Browsed {
  const pagination = { hasNextPage: false, pageSize: 1000 };
  return { path, entries, totalFiles: 0, totalDirs: 0, pagination };
}

interface Played {
  readonly names?: readonly string[];
  readonly wifi?: MenuWifi;
  readonly bluetooth?: MenuBluetooth;
  readonly volume?: () => number;
  readonly columns?: number;
  readonly folders?: Readonly<Record<string, Browsed["entries"]>>;
}

async function makeMenu({
  names = [],
  folders = {},
  wifi,
  bluetooth,
  volume = () => 50,
  columns = 4,
}: Played = {}) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-menu-"));
  await writeFile(join(folder, "event0"), "");
  const bus = createBus(silentLog);
  const clock = createManualClock();
  const launched: string[] = [];
  const seen: (ShownMenu | undefined)[] = [];
  const typed: (readonly [number, boolean])[] = [];
  const levels: number[] = [];
  let chosen = 0;
  let isFree = true;
  let isTeaching = false;
  let isOpen = false;
  let hear: (event: MenuKeyEvent) => void = () => {};
  let unplug = () => {};
  const screen = {
    canShowMenu: () => isFree,
    showMenu(menu: ShownMenu | undefined, at = 0) {
      seen.push(menu);
      chosen = at;
    },
    chooseTile(at: number) {
      chosen = at;
    },
    showTyped: (index: number, isGone: boolean) => void typed.push([index, isGone]),
    showLevel: (percent: number) => void levels.push(percent),
    menuColumns: () => columns,
    drawnMenu: () => seen.at(-1),
  };
  const library: Parameters<typeof followMenu>[0]["library"] = {
    browse: async ({ path }) => pageOf(path, folders[path] ?? []),
    favourites: () => [],
    image: () => Promise.reject(new Error("no image")),
    history: () => ({
      entries: names.map((name) => ({
        systemId: "SNES",
        systemName: "SNES",
        mediaName: name,
        mediaPath: `SNES/${name}.sfc`,
        launcherId: "x",
        startedAt: "2026-01-01T00:00:00Z",
        playTime: 1,
      })),
      pagination: { hasNextPage: false, pageSize: 24 },
    }),
  };
  const menu = followMenu({
    bus,
    clock,
    log: silentLog,
    folder,
    screen,
    library,
    launch: (script) => void launched.push(script),
    volume: async () => volume(),
    wifi: () => wifi,
    bluetooth: () => bluetooth,
    canSwitchOff: true,
    isTeaching: () => isTeaching,
    texts: () => english.menu,
    open(_path, isWanted, { event, gone }) {
      if (!isWanted({ name: "Pad" })) return undefined;
      isOpen = true;
      hear = event;
      unplug = gone;
      return {
        name: "Pad",
        close() {
          isOpen = false;
        },
      };
    },
  });
  closing.push(
    () => menu[Symbol.dispose](),
    () => rm(folder, { recursive: true }),
  );
  const names_ = () => seen.at(-1)?.tiles.map(({ name }) => name) ?? [];
  return {
    bus,
    clock,
    launched,
    typed,
    levels,
    seen,
    names: names_,
    /** The name of the chosen tile. */
    at: () => names_()[chosen],
    isOpen: () => isOpen,
    unplug: () => unplug(),
    occupy() {
      isFree = false;
    },
    teach(isOn: boolean) {
      isTeaching = isOn;
    },
    down: (key: MenuKey) => hear({ key, isDown: true }),
    up: (key: MenuKey) => hear({ key, isDown: false }),
    /** Keys that lead to no other page. */
    type(...keys: readonly MenuKey[]) {
      for (const key of keys) {
        hear({ key, isDown: true });
        hear({ key, isDown: false });
      }
    },
    async press(...keys: readonly MenuKey[]) {
      for (const key of keys) {
        const before = seen.length;
        this.type(key);
        if (key === "ok" || key === "back" || key === "menu")
          await eventually(() => expect(seen.length).toBeGreaterThan(before));
      }
    },
  };
}

test("a button opens it, arrows choose, and what was played last is the first tile", async () => {
  const menu = await makeMenu({ names: ["Mario", "Zelda"] });
  await menu.press("down");
  await eventually(() => expect(menu.names()[0]).toBe("Play on: Mario"));
  expect(menu.names()).toEqual(["Play on: Mario", "Played lately", "Library", "Volume", "Switch off"]);
  menu.type("ok");
  expect(menu.launched).toEqual(["SNES/Mario.sfc"]);
  menu.bus.emit("media.started", media);
  expect(menu.seen.at(-1)).toBeUndefined();
  // While the menu is closed, only the game gets the controller's keys.
  expect(menu.isOpen()).toBe(false);
  menu.bus.emit("media.stopped", { ...media, elapsed: 1, exitCode: 0, reason: "ended" });
  // Another card may start the next one, which must not wait for devices.
  expect(menu.isOpen()).toBe(false);
  menu.clock.advance(1500);
  expect(menu.isOpen()).toBe(true);
});

test("on an upright screen, arrows lead through rows of two tiles", async () => {
  const menu = await makeMenu({ names: ["Mario", "Zelda"], columns: 2 });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Play on: Mario"));
  menu.type("down");
  expect(menu.at()).toBe("Library");
  menu.type("down");
  expect(menu.at()).toBe("Switch off");
  menu.type("right");
  expect(menu.at()).toBe("Switch off");
  menu.type("up", "right");
  expect(menu.at()).toBe("Volume");
});

test("a card reader that types does not open it, nor does a key while something else needs the screen", async () => {
  const menu = await makeMenu();
  await menu.press("enter");
  menu.down("back");
  await Bun.sleep(5);
  expect(menu.seen).toEqual([]);
  menu.occupy();
  await menu.press("down");
  expect(menu.seen).toEqual([]);
});

test("a press that taught a button opened the menu, and chose in one that was open", async () => {
  const menu = await makeMenu({ names: ["Mario", "Zelda"] });
  menu.teach(true);
  menu.type("menu", "down");
  menu.teach(false);
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Play on: Mario"));
  menu.teach(true);
  menu.type("right", "ok");
  menu.down("right");
  menu.clock.advance(1000);
  expect([menu.at(), menu.launched]).toEqual(["Play on: Mario", []]);
  menu.teach(false);
  menu.type("right");
  expect(menu.at()).toBe("Played lately");
});

test("the library leads through systems to games, and back to the tile that was chosen", async () => {
  const menu = await makeMenu({ folders: { "": [system], SNES: [game("Mario"), game("Zelda")] } });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  await menu.press("ok");
  expect(menu.names()).toEqual(["Super Nintendo"]);
  await menu.press("ok", "right");
  expect(menu.at()).toBe("Zelda");
  menu.type("ok");
  expect(menu.launched).toEqual(["SNES/Zelda.sfc"]);
  await menu.press("back");
  expect(menu.at()).toBe("Super Nintendo");
  await menu.press("back");
  expect(menu.at()).toBe("Library");
  await menu.press("back");
  expect(menu.seen.at(-1)).toBeUndefined();
});

test("a long folder has letters, a list longer than a page has pages, and a held arrow goes on", async () => {
  const letters = "ABCDEF".split("");
  const entries = letters.flatMap((letter) => Array.from({ length: 10 }, (_, at) => game(`${letter}${at}`)));
  const menu = await makeMenu({ folders: { "": [system], SNES: [...entries, game("7th Saga")] } });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  await menu.press("ok", "ok");
  expect(menu.names()).toEqual(["0–9 (1)", "A (10)", "B (10)", "C (10)", "D (10)", "E (10)", "F (10)"]);
  menu.type("right");
  await menu.press("right", "ok");
  expect(menu.seen.at(-1)).toMatchObject({ title: "Super Nintendo: B", page: 1, pages: 2 });
  menu.down("right");
  expect(menu.at()).toBe("B1");
  menu.clock.advance(450);
  expect(menu.at()).toBe("B2");
  menu.clock.advance(160);
  expect(menu.at()).toBe("B3");
  menu.up("right");
  menu.clock.advance(1000);
  expect(menu.at()).toBe("B3");
  await menu.press("right");
  await eventually(() => expect(menu.names()).toEqual(["B8", "B9"]));
  expect(menu.at()).toBe("B8");
  await menu.press("left");
  await eventually(() => expect(menu.at()).toBe("B7"));
});

test("the letter of a folder stood before all letters of games", async () => {
  const hacks = { ...system, type: "directory" as const, name: "Hacks", path: "SNES/Hacks" };
  const games = ["Alps", "Hill", "Zoo", "#1"].flatMap((name) =>
    Array.from({ length: 13 }, (_, at) => game(`${name} ${at}`)),
  );
  const menu = await makeMenu({ folders: { "": [system], SNES: [hacks, ...games] } });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  await menu.press("ok", "ok");
  expect(menu.names()).toEqual(["# (13)", "A (13)", "H (14)", "Z (13)"]);
});

test("the first letters of Korean names were half letters, which no font of the television has", async () => {
  const entries = ["가", "까", "하"].flatMap((name) =>
    Array.from({ length: 20 }, (_, at) => game(`${name}${at}`)),
  );
  const menu = await makeMenu({ folders: { "": [system], SNES: entries } });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  await menu.press("ok", "ok");
  expect(menu.names()).toEqual(["ㄱ (20)", "ㄲ (20)", "ㅎ (20)"]);
});

test("a second press while a game starts was a second start, and an arrow of a pad that is pulled out stays held", async () => {
  const menu = await makeMenu({ names: ["Mario", "Zelda", "Kirby"] });
  await menu.press("menu");
  await eventually(() => expect(menu.names()[0]).toBe("Play on: Mario"));
  menu.type("ok", "ok");
  expect(menu.launched).toEqual(["SNES/Mario.sfc"]);
  const launch = { time: "2026-01-01T00:00:00Z", uid: "", text: "SNES/Mario.sfc", success: true };
  menu.bus.emit("launch.finished", launch);
  menu.type("ok");
  expect(menu.launched.length).toBe(2);
  menu.bus.emit("launch.finished", launch);
  menu.down("right");
  menu.clock.advance(450);
  expect(menu.at()).toBe("Library");
  menu.unplug();
  menu.clock.advance(1000);
  expect(menu.at()).toBe("Library");
});

test("albums play as a whole, and games do not", async () => {
  const album = {
    ...system,
    name: "Album",
    path: "Audio/Album",
    type: "directory" as const,
    systemId: "Audio",
  };
  const root = { ...system, name: "Music", path: "Audio", systemId: "Audio", category: "Media" };
  const song = { ...game("Song"), path: "Audio/Album/Song.mp3", zapScript: "Audio/Album/Song.mp3" };
  const menu = await makeMenu({ folders: { "": [root], Audio: [album], "Audio/Album": [song] } });
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  await menu.press("ok", "ok");
  expect(menu.names()).toEqual(["Album"]);
  await menu.press("ok");
  expect(menu.names()).toEqual(["Play all", "Song"]);
  menu.type("ok");
  expect(menu.launched).toEqual(["Audio/Album"]);
});

test("switching off is asked for, and a failed start leaves the screen to its reason", async () => {
  const menu = await makeMenu();
  await menu.press("menu", "right", "right", "ok");
  expect(menu.names()).toEqual(["Stay on", "Switch off"]);
  menu.type("right", "ok");
  expect(menu.launched).toEqual(["**shutdown"]);
  menu.bus.emit("launch.finished", {
    time: "2026-01-01T00:00:00Z",
    uid: "",
    text: "**shutdown",
    success: false,
  });
  expect(menu.seen.at(-1)).toBeUndefined();
});

test("the page of the volume shows its level, and again after each script that may have changed it", async () => {
  let volume = 40;
  const menu = await makeMenu({ volume: () => volume });
  await menu.press("menu", "right", "ok");
  await eventually(() => expect(menu.levels).toEqual([40]));
  expect(menu.seen.at(-1)).toMatchObject({ title: "Volume", hasLevel: true });
  const pages = menu.seen.length;
  menu.type("right", "ok");
  expect(menu.launched).toEqual(["**volume:+10"]);
  volume = 50;
  const launch = { time: "2026-01-01T00:00:00Z", uid: "", text: "**volume:+10", success: true };
  menu.bus.emit("launch.finished", launch);
  await eventually(() => expect(menu.levels).toEqual([40, 50]));
  // The page is not drawn a second time.
  expect(menu.seen.length).toBe(pages);
  await menu.press("back");
  menu.bus.emit("launch.finished", launch);
  await Bun.sleep(5);
  expect(menu.levels).toEqual([40, 50]);
});

test("the page of the volume had no level if the mixer was silent once", async () => {
  let answers = 0;
  const menu = await makeMenu({
    volume() {
      answers += 1;
      if (answers < 3) throw new Error("the mixer did not answer");
      return 40;
    },
  });
  await menu.press("menu", "right", "ok");
  await eventually(() => expect(answers).toBe(1));
  for (const time of [2, 3]) {
    await eventually(() => {
      menu.clock.advance(1000);
      expect(answers).toBe(time);
    });
  }
  await eventually(() => expect(menu.levels).toEqual([40]));
  await menu.press("back");
  menu.clock.advance(60_000);
  expect(answers).toBe(3);
});

test("a menu that nobody uses closes, and a tap closes it", async () => {
  const menu = await makeMenu();
  await menu.press("menu");
  await eventually(() => expect(menu.at()).toBe("Library"));
  menu.clock.advance(119_000);
  expect(menu.seen.at(-1)).toBeDefined();
  menu.clock.advance(1_000);
  expect(menu.seen.at(-1)).toBeUndefined();
});

/** A radio that finds `after` by a search. */
function makeWifi(after: WifiReport["networks"]) {
  const joined: WifiRequest[] = [];
  let networks: WifiReport["networks"] = [];
  let opened = 0;
  return {
    joined,
    opened: () => opened,
    report: (): WifiReport => ({ state: "away", networks, known: [] }),
    async scan() {
      networks = after;
    },
    async join(request: WifiRequest) {
      joined.push(request);
    },
    async open() {
      opened += 1;
    },
  };
}

const home = { id: "486f6d65", name: "Home", signal: -40, security: "password" } as const;
const cafe = { id: "43616665", name: "Cafe", signal: -50, security: "open" } as const;
const office = { id: "4f6666", name: "Off", signal: -60, security: "other" } as const;

async function atWifi(wifi: ReturnType<typeof makeWifi>) {
  const menu = await makeMenu({ wifi });
  await menu.press("menu");
  menu.type("right", "right");
  await menu.press("ok");
  return menu;
}

test("a network is searched for, and joined with the password of the keyboard", async () => {
  const wifi = makeWifi([home, cafe, office]);
  const menu = await atWifi(wifi);
  expect(menu.names()).toEqual(["Search", "Set up by phone"]);
  await menu.press("ok");
  expect(menu.seen.some((page) => page?.note === "Searching…")).toBe(true);
  await eventually(() => expect(menu.names()).toEqual(["Home", "Cafe", "Search", "Set up by phone"]));
  await menu.press("ok");
  expect(menu.seen.at(-1)).toMatchObject({ title: "Password of “Home”", typed: "" });
  expect(menu.at()).toBe("1");
  menu.type("ok", "right", "ok", "left", "ok", "ok");
  expect(menu.typed).toEqual([
    [0, false],
    [1, false],
    [2, false],
    [3, false],
  ]);
  // The arrows lead from the key 1 to the wide key below it.
  menu.type("down", "down", "down", "down");
  await menu.press("ok");
  expect(menu.names()).toContain("Q");
  // The text is still there, and so is the border of the key.
  expect(menu.seen.at(-1)?.typed).toBe("1211");
  expect(menu.at()).toBe("abc");
  // "Done" is pressed too early, which says why nothing is joined; then one letter is erased.
  menu.type("left");
  expect(menu.at()).toBe("done");
  await menu.press("ok");
  expect(menu.seen.at(-1)).toMatchObject({ title: "A password has 8 to 63 characters", typed: "1211" });
  expect(menu.at()).toBe("done");
  expect(wifi.joined).toEqual([]);
  menu.type("left", "ok");
  expect(menu.typed.at(-1)).toEqual([3, true]);
  // A space, and four letters above it.
  menu.type("left", "ok", "up", "ok", "ok", "ok", "ok");
  menu.type("down", "right", "right", "ok");
  await eventually(() => expect(wifi.joined).toEqual([{ id: home.id, password: "121 BBBB" }]));
  await eventually(() => expect(menu.seen.at(-1)).toBeUndefined());
});

test("an open network needs no keyboard, and a phone can set it up instead", async () => {
  const wifi = makeWifi([cafe]);
  const menu = await atWifi(wifi);
  await menu.press("ok");
  await eventually(() => expect(menu.at()).toBe("Cafe"));
  await menu.press("ok");
  await eventually(() => expect(wifi.joined).toEqual([{ id: cafe.id, password: "" }]));
  await eventually(() => expect(menu.seen.at(-1)).toBeUndefined());
  await menu.press("menu");
  menu.type("right", "right");
  await menu.press("ok");
  menu.type("right", "right");
  expect(menu.at()).toBe("Set up by phone");
  await menu.press("ok");
  await eventually(() => expect(wifi.opened()).toBe(1));
  await eventually(() => expect(menu.seen.at(-1)).toBeUndefined());
});

const pad = { address: "00:1B:DC:00:00:02", name: "Pad", kind: "controller" } as const;

/** A radio, whose root script is played by the test. */
function makeRadio() {
  const asked: string[] = [];
  let report: BluetoothReport = { state: "off", known: [], found: [] };
  const ask = (word: string) => async (device?: { readonly address: string }) => {
    asked.push(device === undefined ? word : `${word} ${device.address}`);
  };
  return {
    asked,
    set(next: BluetoothReport) {
      report = next;
    },
    report: () => report,
    search: () => ask("search")(),
    pair: ask("pair"),
    forget: ask("forget"),
  };
}

async function atBluetooth(radio: ReturnType<typeof makeRadio>) {
  const menu = await makeMenu({ bluetooth: radio });
  await menu.press("menu");
  // The tiles are the library, the volume and Bluetooth.
  menu.type("right", "right");
  expect(menu.at()).toBe("Bluetooth");
  await menu.press("ok");
  return menu;
}

test("a controller is found, paired and forgotten in the menu", async () => {
  const radio = makeRadio();
  const menu = await atBluetooth(radio);
  expect(menu.names()).toEqual(["Search"]);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search"]));
  expect(menu.seen.at(-1)?.note).toBe("Now hold the pairing button of the controller or headphones");
  radio.set({ state: "searching", known: [], found: [] });
  menu.clock.advance(500);
  await eventually(() => expect(menu.seen.at(-1)?.note).toBeDefined());
  radio.set({ state: "searching", known: [], found: [pad] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.names()).toEqual(["Pair “Pad”", "Search"]);
  });
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search", `pair ${pad.address}`]));
  expect(menu.seen.at(-1)?.note).toBe("Pairing “Pad”…");
  radio.set({ state: "pairing", address: pad.address, known: [], found: [pad] });
  menu.clock.advance(500);
  radio.set({ state: "ready", address: pad.address, known: [{ ...pad, connected: true }], found: [] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.names()).toEqual(["Pad (connected)", "Search"]);
  });
  await menu.press("ok");
  expect(menu.names()).toEqual(["Keep it", "Forget it"]);
  menu.type("right", "ok");
  await eventually(() => expect(radio.asked.at(-1)).toBe(`forget ${pad.address}`));
  radio.set({ state: "off", known: [], found: [] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.names()).toEqual(["Search"]);
  });
});

test("a menu that was closed during a search could not be opened, and came back by itself", async () => {
  const radio = makeRadio();
  const menu = await atBluetooth(radio);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search"]));
  radio.set({ state: "searching", known: [], found: [] });
  await menu.press("menu");
  expect(menu.seen.at(-1)).toBeUndefined();
  await menu.press("menu");
  await eventually(() => expect(menu.names()).toContain("Library"));
  const pages = menu.seen.length;
  radio.set({ state: "ready", known: [], found: [pad] });
  for (let times = 0; times < 20; times++) {
    await menu.clock.advance(500);
    await new Promise(setImmediate);
  }
  expect(menu.seen).toHaveLength(pages);
  await menu.press("menu");
  expect(menu.seen.at(-1)).toBeUndefined();
});

test("a person who pressed back during a search had to wait up to 75 seconds for its end", async () => {
  const radio = makeRadio();
  const menu = await atBluetooth(radio);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search"]));
  radio.set({ state: "searching", known: [], found: [] });
  await menu.press("back");
  await eventually(() => expect(menu.at()).toBe("Bluetooth"));
  radio.set({ state: "ready", known: [], found: [pad] });
  const pages = menu.seen.length;
  for (let times = 0; times < 20; times++) {
    await menu.clock.advance(500);
    await new Promise(setImmediate);
  }
  expect(menu.seen).toHaveLength(pages);
  await menu.press("ok");
  await eventually(() => expect(menu.names()).toEqual(["Pair “Pad”", "Search"]));
});

test("a clock that was set back made a search endless, and one that was set on ended it at once", async () => {
  const radio = makeRadio();
  const menu = await atBluetooth(radio);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search"]));
  radio.set({ state: "searching", known: [], found: [] });
  const passes = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      menu.clock.advance(500);
      await new Promise(setImmediate);
    }
  };
  menu.clock.jump(8 * 3_600_000);
  await passes(30_000);
  expect(menu.seen.at(-1)?.note).toBeDefined();
  menu.clock.jump(-24 * 3_600_000);
  await passes(60_000);
  expect(menu.names()).toEqual(["Search"]);
});

test("a search for networks lasts as long as before if the clock is set meanwhile", async () => {
  const wifi = { ...makeWifi([]), scan: async () => {} };
  const menu = await atWifi(wifi);
  await menu.press("ok");
  menu.clock.jump(-24 * 3_600_000);
  for (let passed = 0; passed < 20_000; passed += 500) {
    menu.clock.advance(500);
    await new Promise(setImmediate);
  }
  expect(menu.names()).toEqual(["Search", "Set up by phone"]);
});

test("new headphones end the search of the menu, and a keyboard in reach does not", async () => {
  const radio = makeRadio();
  const menu = await atBluetooth(radio);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual(["search"]));
  const keys = { ...pad, address: "00:1B:DC:00:00:03", name: "Keys", kind: "keyboard" } as const;
  radio.set({ state: "searching", known: [], found: [keys] });
  menu.clock.advance(500);
  await eventually(() => expect(menu.seen.at(-1)?.note).toBeDefined());
  const worn = { address: "00:1B:DC:00:00:05", name: "Sound", kind: "sound" } as const;
  radio.set({ state: "searching", known: [], found: [keys, worn] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.names()).toEqual(["Pair “Keys”", "Pair “Sound”", "Search"]);
  });
});

test("the menu shows the code that a keyboard has to type, and why a pairing failed", async () => {
  const radio = makeRadio();
  const keys = { ...pad, name: "Keys", kind: "keyboard" } as const;
  radio.set({ state: "ready", known: [], found: [keys] });
  const menu = await atBluetooth(radio);
  await menu.press("ok");
  await eventually(() => expect(radio.asked).toEqual([`pair ${keys.address}`]));
  radio.set({ state: "pairing", address: keys.address, code: "012345", known: [], found: [keys] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.seen.at(-1)?.note).toBe("Type 012345 on “Keys”, and then Enter");
  });
  radio.set({ state: "ready", address: keys.address, fault: "refused", known: [], found: [keys] });
  await eventually(() => {
    menu.clock.advance(500);
    expect(menu.seen.at(-1)?.title).toBe(english.menu.bluetoothFaults.refused);
  });
  expect(menu.names()).toEqual(["Pair “Keys”", "Search"]);
});
