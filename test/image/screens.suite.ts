/**
 * Pictures of a television on the emulated board: the status screen, a game that a controller plays, a film and a picture.
 * The status screen is back after each end of a player. Run by `make test-image`; the pictures stay in build/screens.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { messageOf } from "../../src/core/errors.ts";
import { root } from "../../tools/image/meta.ts";
import { createType2Tag } from "../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../emulators/pn532-device.ts";
import { makeColorFilm } from "../helpers/color-film.ts";
import { makeColorNesGame } from "../helpers/nes-games.ts";
import { type Board, cardBytes, image, isStandIn, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, printTogether, seconds } from "./figures.ts";
import {
  button,
  hasSecondRow,
  isMenuAt,
  levelIn,
  makePad,
  openMenu,
  press,
  release,
  startPad,
  tap,
} from "./menu-on-screen.ts";
import {
  type Color,
  differing,
  drawnWith,
  mainColor,
  type Picture,
  pngOf,
  type Region,
  shareOf,
} from "./picture.ts";
import { fatStick } from "./stick-images.ts";
import { createStickPort, type StickPort } from "./stick-port.ts";
import { patienceMs, until } from "./until.ts";

// Colors of src/screen/drawings.ts, of the game as its console has them, of the film, and of the kernel's text.
const [ready, starting, stickGone, goodbye]: readonly [Color, Color, Color, Color] = [
  [0x5e, 0xe6, 0xb5],
  [0x7c, 0xd4, 0xff],
  [0xff, 0xb3, 0x5e],
  [0xc9, 0xb6, 0xff],
];
const [red, green, blue]: readonly [Color, Color, Color] = [
  [212, 46, 3],
  [60, 218, 73],
  [25, 60, 250],
];
const [yellow, purple, turquoise]: readonly [Color, Color, Color] = [
  [230, 200, 20],
  [200, 20, 200],
  [20, 200, 200],
];
const background: Color = [0x14, 0x18, 0x3a];
const quiet: Color = [0xb9, 0xc0, 0xe8];
const black: Color = [0, 0, 0];
const consoleText: Color = [0xaa, 0xaa, 0xaa];
const left: Region = { left: 0, top: 0, right: 0.6, bottom: 1 };
const lower: Region = { left: 0, top: 0.9, right: 1, bottom: 1 };
const upper: Region = { left: 0, top: 0, right: 1, bottom: 0.4 };

const shots = join(root, "build/screens");
const game = "NES/Color.nes";
const uid = Uint8Array.fromHex("04a1b2c3d4e5f6");

let folder: string;
let server: ReturnType<typeof Bun.serve>;
let card: Card;
let reader: Pn532Device;
let port: StickPort;
let board: Board;
let client: Client;

beforeAll(async () => {
  await rm(shots, { recursive: true, force: true });
  await mkdir(shots, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "tapdeck-screens-"));
  await makeFiles();
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname))),
  });
  card = await makeCard(image, cardBytes);
  reader = createPn532Device({ timing: "none" });
  port = createStickPort(join(folder, "qmp.sock"));
  board = await startBoard({
    card,
    reader: reader.path,
    display: "320x240",
    more: port.words,
  });
  await board.pong();
  await fetchFiles();
  client = await board.client();
  await client.call("settings.update", { insertMode: true });
}, 2 * patienceMs);

afterAll(async () => {
  client.close();
  port.close();
  await board[Symbol.asyncDispose]();
  await server.stop(true);
  await reader.close();
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
  printTogether();
}, patienceMs);

async function makeFiles(): Promise<void> {
  await makePad(folder);
  const size = { width: 64, height: 48 };
  const still = Buffer.alloc(size.width * size.height * 3, Uint8Array.of(...turquoise));
  await Bun.write(join(folder, "Color.nes"), makeColorNesGame());
  const colors = [yellow, purple];
  await Bun.write(join(folder, "Film.avi"), makeColorFilm({ ...size, colors, seconds: 4, rounds: 60 }));
  await Bun.write(join(folder, "Still.png"), pngOf({ ...size, pixels: still }));
}

/** Copies media to the guest, and starts the program that emulates a controller. */
async function fetchFiles(): Promise<void> {
  await board.shell("mkdir -p /data/tapdeck/media/NES /data/tapdeck/media/Video /data/tapdeck/media/Images");
  const fetched = [game, "Video/Film.avi", "Images/Still.png"].map((path) => `/data/tapdeck/media/${path}`);
  for (const path of [...fetched, "/run/pad"])
    await board.shell(`wget -q -O ${path} http://10.0.2.2:${server.port}/${path.split("/").at(-1)}`);
  await startPad(board);
}

async function keep(picture: Picture, name: string): Promise<void> {
  await Bun.write(join(shots, `${name}.png`), pngOf(picture));
}

/**
 * Resolves with the first picture that `holds` accepts, which is stored under this name. Each earlier picture is passed
 * to `meanwhile`.
 */
async function shows(
  name: string,
  holds: (picture: Picture) => boolean,
  meanwhile: (picture: Picture) => void = () => {},
): Promise<Picture> {
  let last: Picture | undefined;
  try {
    return await until(`the picture ${name}`, async () => {
      last = await board.picture();
      if (!holds(last)) {
        meanwhile(last);
        return undefined;
      }
      await keep(last, name);
      return last;
    });
  } catch (error) {
    if (last !== undefined) await keep(last, `${name}-instead`);
    const logged = await board.shell("logread | tail -n 20; ps | grep -E 'mpv|retroarch'");
    const instead = JSON.stringify(last && mainColor(last));
    throw new Error(`${name} (${messageOf(error)}): it shows ${instead}\n${logged}`, { cause: error });
  }
}

const isFull = (color: Color) => (picture: Picture) => shareOf(picture, color) > 0.9;
/** True for the ready screen if nothing of an earlier picture is left. */
const isReady = () => {
  const isDrawn = drawnWith(ready, left);
  return (picture: Picture) => isDrawn(picture) && shareOf(picture, starting) < 0.001;
};
const isStarting = () => drawnWith(starting);
const isStickGone = () => drawnWith(stickGone, left, "nothing below");

/** Accepts a picture that is the same as the one before it. */
function unchanged(): (picture: Picture) => boolean {
  let before: Picture | undefined;
  return (picture) => {
    const isSame = before !== undefined && differing(before, picture) === 0;
    before = picture;
    return isSame;
  };
}

/**
 * Fails if the picture has the kernel's text, which fills the console all the time. In the middle QEMU itself writes
 * "Display output is not active" while the display changes its owner.
 */
function hasNoText(picture: Picture): void {
  expect(shareOf(picture, consoleText, upper, 1)).toBeLessThan(0.001);
}

const put = (text: string) => reader.put(createType2Tag("ntag215", { uid, text }));
/** On a busy host the emulated board loses its reader for a moment, and reports no removal during that time. */
async function takeCard(): Promise<void> {
  await until("the reader", async () =>
    (await client.call("readers")).readers.some(({ connected }) => connected),
  );
  reader.take();
}

test(
  "the status screen is drawn, and text that programs and the kernel write to its terminal does not show",
  async () => {
    const before = await shows("ready", isReady());
    await board.shell("for n in $(seq 40); do echo 'a line of text that nobody is to see'; done >/dev/tty1");
    await board.shell("echo '<0>the kernel is in need' >/dev/kmsg");
    const after = await shows("ready-after-text", isReady());
    expect(differing(before, after)).toBe(0);
  },
  2 * patienceMs,
);

test(
  "a card starts its game, which has screen, sound and controller, and nothing that is written to the screen shows",
  async () => {
    // The process that draws the status screen then packs the picture of a start. The start of a player ends this process.
    await until("the packed picture", async () => !(await board.shell("ps")).includes("draw-job"));
    const from = performance.now();
    put(game);
    await shows("starting", isStarting(), hasNoText);
    print("from a card to the picture of its start", seconds(performance.now() - from));
    await shows("game", isFull(red), hasNoText);
    print("from a card to the first picture of its game", seconds(performance.now() - from));
    const files = await board.shell("ls -l /proc/$(pidof retroarch)/fd; cat /proc/$(pidof retroarch)/status");
    for (const device of ["/dev/dri/card0", "/dev/input/event"]) expect(files).toContain(device);
    // The game plays on the loopback card, and sound-out copies the sound to the USB card.
    const loopback = (await board.shell("readlink /proc/asound/Loopback")).replace("card", "");
    expect(files).toContain(`/dev/snd/pcmC${loopback}D0p`);
    const heard = "cat /proc/asound/card0/usbid /proc/asound/card0/pcm0p/sub0/status";
    await until("sound on the USB card", async () => (await board.shell(heard)).includes("state: RUNNING"));
    expect(files).toMatch(/^Uid:\t900\t/m);
    await board.shell("cat /dev/zero >/dev/fb0 2>/dev/null; echo text >/dev/tty1");
    await shows("game-after-writes", isFull(red));
  },
  2 * patienceMs,
);

test(
  "a button counts as long as it is held, by the profile of its controller",
  async () => {
    await press(board, button.east);
    await shows("game-held", isFull(green));
    await release(board, button.east);
    await shows("game-let-go", isFull(red));
    await press(board, button.south);
    await shows("game-for-good", isFull(blue));
    await release(board, button.south);
  },
  2 * patienceMs,
);

test(
  "a card that is taken off ends its game, and put back it goes on where it was",
  async () => {
    await takeCard();
    await shows("ready-after-card", isReady(), hasNoText);
    put(game);
    await shows("game-resumed", isFull(blue), (picture) => {
      hasNoText(picture);
      // The game resumes, so it never shows red, its color after a fresh start.
      expect(shareOf(picture, red)).toBeLessThan(0.5);
    });
  },
  2 * patienceMs,
);

test(
  "Select and Start together return to the deck, and the status screen says so",
  async () => {
    await press(board, button.select, button.start);
    await shows("ready-after-buttons", isReady(), hasNoText);
    await release(board, button.select, button.start);
    // RetroArch returns the screen with the picture from before, and ends after that.
    await until(
      "the end of RetroArch",
      async () => (await board.shell("pidof retroarch || echo none")) === "none",
    );
    await takeCard();
  },
  2 * patienceMs,
);

test(
  "a game that is to start fresh begins at its start, and the status screen follows when its player is killed",
  async () => {
    await client.call("run", { text: `${game}?resume=no` });
    await shows("game-fresh", isFull(red), hasNoText);
    await board.shell("kill -KILL $(pidof retroarch)");
    await shows("ready-after-kill", isReady(), hasNoText);
  },
  2 * patienceMs,
);

test(
  "macros have a keyboard and a gamepad, whose module the kernel loads at the first macro",
  async () => {
    const config = "/data/config/tapdeck/config.toml";
    await board.shell(`printf '[script]\\nallow_input = true\\n' >>${config}; chown tapdeck ${config}`);
    const run = (script: string) => board.shell(`tapdeck call run '{"text":"${script}"}' </dev/null`);
    // The service reads the settings a moment after the change.
    await until("the devices", async () => {
      await run("**input.keyboard:{f12}||**input.gamepad:A");
      const made = await board.shell("cat /proc/bus/input/devices");
      return made.includes("Tapdeck keyboard") && made.includes("Tapdeck gamepad");
    });
    // Debian's RetroArch hears keyboards only beside the daemon of udev.
    if (isStandIn) return;
    await client.call("run", { text: `${game}?resume=no` });
    await shows("game-before-macro", isFull(red), hasNoText);
    await run("**input.keyboard:{hold:z:1s}");
    await shows("game-after-macro", isFull(blue));
    await client.call("stop");
    await shows("ready-after-macro", isReady(), hasNoText);
  },
  3 * patienceMs,
);

test(
  "a film moves on the screen, and the status screen follows when its player crashes",
  async () => {
    await client.call("run", { text: "Video/Film.avi" });
    await shows("film", isFull(yellow), hasNoText);
    await shows("film-later", isFull(purple), hasNoText);
    await board.shell("kill -SEGV $(pidof mpv)");
    await shows("ready-after-crash", isReady(), hasNoText);
  },
  2 * patienceMs,
);

test(
  "a picture stays on the screen until something else starts, and one player follows another",
  async () => {
    await client.call("run", { text: "Images/Still.png" });
    await shows("still", isFull(turquoise), hasNoText);
    await client.call("run", { text: "Video/Film.avi" });
    await shows("film-after-still", isFull(yellow), hasNoText);
    await client.call("stop");
    await shows("ready-at-the-end", isReady(), hasNoText);
  },
  2 * patienceMs,
);

test(
  "a controller opens the menu, its arrows choose at once, and a list of it starts what was played before",
  async () => {
    await openMenu(board);
    await shows("menu", isMenuAt(0), hasNoText);
    const from = performance.now();
    await tap(board, "right");
    await shows("menu-second", isMenuAt(1), hasNoText);
    print("from an arrow to the border of its tile", seconds(performance.now() - from));
    await tap(board, button.south);
    // The newest media come first: the film, the picture, the game.
    await shows("menu-recent", (picture) => isMenuAt(0)(picture) && !hasSecondRow(picture), hasNoText);
    await tap(board, "right");
    await shows("menu-recent-second", isMenuAt(1), hasNoText);
    await tap(board, button.south);
    await shows("still-by-menu", isFull(turquoise), hasNoText);
    await client.call("stop");
    await shows("ready-after-menu", isReady(), hasNoText);
    await openMenu(board);
    await shows("menu-again", isMenuAt(0), hasNoText);
    await tap(board, "right", "right", "right", button.south);
    // A bar that is drawn to a half would be a lower level.
    const isDrawn = unchanged();
    const page = await shows(
      "menu-volume",
      (picture) => isDrawn(picture) && isMenuAt(0)(picture) && levelIn(picture) > 0.05,
    );
    const before = levelIn(page);
    const pressed = performance.now();
    await tap(board, button.south);
    await shows("menu-volume-falls", (picture) => levelIn(picture) < before - 0.05, hasNoText);
    print("from a press to the lower level on the screen", seconds(performance.now() - pressed));
    const isStill = unchanged();
    await shows("menu-volume-quieter", isStill, hasNoText);
    await tap(board, button.east);
    await shows("menu-after-volume", isMenuAt(3), hasNoText);
    await tap(board, button.east);
    await shows("ready-without-menu", isReady(), hasNoText);
  },
  2 * patienceMs,
);

test(
  "a screen that is turned, and keeps its edges free, is drawn so at once; a film and a game lie on it, and it is turned back",
  async () => {
    const turn = (rotation: number, overscan: number) =>
      board.shell(
        `tapdeck call settings.update '{"televisionRotation":${rotation},"televisionOverscan":${overscan}}' </dev/null`,
      );
    await turn(90, 5);
    // The upper edge of the picture is on the right, and its hint on the left.
    const isTurned = drawnWith(ready, { left: 0.6, top: 0.2, right: 0.9, bottom: 0.8 }, "nothing below");
    const isHintThere = (picture: Picture) =>
      shareOf(picture, quiet, { left: 0.05, top: 0, right: 0.2, bottom: 1 }) > 0.01;
    await shows("ready-turned", (picture) => isTurned(picture) && isHintThere(picture), hasNoText);
    // A film of 4:3 stands upright in the middle of the part that is not kept free.
    const upright: Region = { left: 0.26, top: 0.06, right: 0.74, bottom: 0.94 };
    const edges: readonly Region[] = [
      { left: 0, top: 0, right: 0.23, bottom: 1 },
      { left: 0.77, top: 0, right: 1, bottom: 1 },
      { left: 0, top: 0, right: 1, bottom: 0.04 },
      { left: 0, top: 0.96, right: 1, bottom: 1 },
    ];
    const isUpright = (color: Color) => (picture: Picture) =>
      shareOf(picture, color, upright) > 0.9 && edges.every((edge) => shareOf(picture, black, edge) > 0.9);
    await client.call("run", { text: "Video/Film.avi" });
    await shows("film-turned", isUpright(yellow), hasNoText);
    await client.call("run", { text: `${game}?resume=no` });
    await shows("game-turned", (picture) => shareOf(picture, red) > 0.4, hasNoText);
    await client.call("stop");
    await shows("ready-turned-after-game", isTurned, hasNoText);
    await turn(0, 0);
    await shows("ready-turned-back", isReady(), hasNoText);
  },
  2 * patienceMs,
);

test(
  "a game plays from a stick, which is pulled out: its player ends, and the status screen says why",
  async () => {
    await Bun.write(join(folder, "stick/NES/Loose.nes"), makeColorNesGame());
    await port.plug("games", await fatStick(join(folder, "stick.img"), "GAMES", join(folder, "stick")));
    const found = async () => (await client.call("media.search", { query: "loose" })).total === 1;
    await until("the game of the stick", found);
    await client.call("run", { text: "NES/Loose.nes" });
    await shows("game-of-stick", isFull(red), hasNoText);
    await port.unplug("games");
    await shows("stick-gone", isStickGone(), hasNoText);
    await shows("ready-after-stick", isReady(), hasNoText);
    await until("the end of the stick's media", async () => !(await found()));
  },
  2 * patienceMs,
);

test(
  "a card, and the power key of the case, switch the board off: its game ends, the television says when the plug may be pulled, and all is on the card",
  async () => {
    await client.call("run", { text: `${game}?resume=no` });
    await shows("game-before-the-end", isFull(red), hasNoText);
    put("**shutdown");
    const isGoodbye = drawnWith(goodbye, undefined, "nothing below");
    // The advice of the earlier picture is gone.
    const isWhole = (picture: Picture) => shareOf(picture, background, lower) > 0.99;
    await shows("switching-off", (picture) => isGoodbye(picture) && isWhole(picture), hasNoText);
    // After this picture only black may follow, because a halted machine has no display.
    const others = new Set<string>();
    const watching = (async () => {
      for (;;) {
        const picture = await board.picture().catch(() => undefined);
        if (picture === undefined) return;
        hasNoText(picture);
        const isKnown = shareOf(picture, goodbye) > 0.02 || shareOf(picture, black) > 0.9;
        if (!isKnown) others.add(JSON.stringify(mainColor(picture)));
      }
    })();
    expect(await board.off()).toBe(0);
    await watching;
    expect([...others]).toEqual([]);
    const again = await startBoard({ card });
    await again.pong();
    expect(await again.shell("dmesg")).not.toContain("recovery complete");
    await again.pressPower();
    expect(await again.off()).toBe(0);
  },
  3 * patienceMs,
);
