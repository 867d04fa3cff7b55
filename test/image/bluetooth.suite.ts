/**
 * A controller by Bluetooth on an emulated board: the image's own scripts and programs, and a radio with a gamepad in its reach
 * (`bluetooth-pad.c`). `CUTS` is the number of power cuts while something is paired. Run by `make test-image`; with `THOROUGH=1` the radio also has LE and a gamepad of LE in its reach, and hangs.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BluetoothReport } from "../../src/core/bluetooth-shapes.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { isMenuAt } from "./menu-on-screen.ts";
import { type Picture, shareOf } from "./picture.ts";
import { patienceMs, until } from "./until.ts";

/** The address and name of the gamepad in bluetooth-pad.c. */
const address = "00:1B:DC:00:00:02";
const name = 'Test "Pad"';
const known = [{ address, name, kind: "controller", connected: true }] as const;
/** Of the headphones in bluetooth-sound.c. */
const addressOfSound = "00:1B:DC:00:00:05";
/** Of the gamepad in bluetooth-le.c. */
const addressOfLe = "00:1B:DC:00:00:04";
const nameOfLe = "Test LE";
const isThorough = process.env.THOROUGH === "1";
const cuts = Number(process.env.CUTS ?? 1);
const seed = Number(process.env.SEED ?? 1);
/** A pairing takes about 15 s on an emulated board. */
const pairingCutMs = 16_000;
const programs = "pidof bluetoothd dbus-daemon dbus-monitor bluetoothctl bluealsa || true";

let folder: string;
let server: ReturnType<typeof Bun.serve>;
let card: Card;
let board: Board;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-bluetooth-"));
  await run([
    ...["aarch64-linux-gnu-gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-s"],
    ...["pad", "channels", "sound", "le"].map((name) => join(root, `test/image/bluetooth-${name}.c`)),
    ...["-o", join(folder, "bluetooth-pad")],
  ]);
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(Bun.file(join(folder, "bluetooth-pad"))),
  });
  card = await makeCard(image, cardBytes);
  await start();
}, 2 * patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await server.stop(true);
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, patienceMs);

async function start(): Promise<void> {
  board = await startBoard({ card, watchdog: false, display: "320x240" });
  await board.pong();
  await board.shell(
    `wget -q -O /run/bluetooth-pad http://10.0.2.2:${server.port}/ && chmod 755 /run/bluetooth-pad && mkfifo /run/pad`,
  );
}

/** Plugs the radio in. The device in its reach has got the words before. */
async function plugIn(...words: readonly string[]): Promise<void> {
  await board.shell("modprobe hci_uart");
  const all = [...(isThorough ? ["le"] : []), ...words].join(" ");
  await board.shell(`/run/bluetooth-pad ${all} 0<>/run/pad >/run/pad.log 2>&1 &`);
}

const pad = (...words: readonly string[]) =>
  board.shell(`(${words.map((word) => `echo ${word}`).join("; ")}) >/run/pad`);

/**
 * Resolves once the gamepad has printed this after its last line of `since`, with the milliseconds between the two lines.
 */
async function padSays(what: string, since = ""): Promise<number> {
  return until(`the gamepad: ${what}`, async () => {
    const lines = (await board.shell("cat /run/pad.log")).split("\n");
    const from = Math.max(
      0,
      lines.findLastIndex((line) => line.endsWith(` ${since}`)),
    );
    const found = lines.slice(from).find((line) => line.endsWith(` ${what}`));
    return found === undefined
      ? undefined
      : Number.parseInt(found, 10) - Number.parseInt(lines[from] ?? "", 10);
  });
}

const ask = (method: string, params = "{}") => board.shell(`tapdeck call bluetooth${method} '${params}'`);

async function reaches(what: string, holds: (now: BluetoothReport) => boolean): Promise<BluetoothReport> {
  const seen: string[] = [];
  const begunMs = performance.now();
  try {
    return await until(what, async () => {
      const text = await ask("");
      if (!seen.at(-1)?.endsWith(text)) seen.push(`${seconds(performance.now() - begunMs)}: ${text}`);
      const report: BluetoothReport = JSON.parse(text);
      return holds(report) && report;
    });
  } catch (error) {
    const guest = await board.shell(
      "logread | tail -n 40; cat /run/pad.log; ps | grep -v ' \\['; dmesg | tail",
    );
    throw new Error(`${what}:\n${seen.join("\n")}\n${guest}`, { cause: error });
  }
}

async function search(wanted = address): Promise<void> {
  await ask(".search");
  await reaches("the gamepad", ({ found }) => found.some(({ address }) => address === wanted));
}

const pair = (wanted = address) => ask(".pair", JSON.stringify({ address: wanted }));

async function shows(what: string, holds: (picture: Picture) => boolean): Promise<void> {
  await until(`the picture ${what}`, async () => holds(await board.picture()) || undefined);
}

/** How often the menu has opened a gamepad of this name since the start of the board. */
const timesHeard = async (name: string) =>
  Number(await board.shell(`logread | grep -c 'an input device is heard.*${name}' || true`));

/** The button A of the gamepad opens the menu, and B closes it. */
async function worksMenu({ word = "", name = "Pad", heardBefore = 0 } = {}): Promise<void> {
  await shows("of the status", (picture) => shareOf(picture, [0x14, 0x18, 0x3a]) > 0.3);
  await until("the menu to hear the gamepad", async () => (await timesHeard(name)) > heardBefore);
  await pad(`${word}press 1`, `${word}release 1`);
  await shows("of the menu", isMenuAt(0));
  await pad(`${word}press 2`, `${word}release 2`);
  await shows("of the status", (picture) => !isMenuAt(0)(picture));
}

test(
  "a deck that uses no Bluetooth runs nothing of it, with or without a radio",
  async () => {
    expect(JSON.parse(await ask(""))).toEqual({ state: "none", known: [], found: [] });
    await expect(ask(".search")).rejects.toThrow("this device has no Bluetooth radio");
    await plugIn();
    await reaches("a radio", ({ state }) => state === "off");
    expect(await board.shell(programs)).toBe("");
    const left = "/run/bluetooth-bus /run/bluetoothd.pid /var/lib/bluetooth /data/state/bluetooth";
    expect(await board.shell(`ls -1 -d ${left} 2>/dev/null || true`)).toBe("");
  },
  2 * patienceMs,
);

test(
  "a controller is found and paired, and its buttons work the menu of the television",
  async () => {
    await pad("pairing");
    const begunMs = performance.now();
    await search();
    const foundMs = performance.now();
    const { found } = JSON.parse(await ask(""));
    expect(found).toEqual([{ address, name, kind: "controller" }]);
    await pair();
    const paired = await reaches("the pairing", ({ state, known }) => state === "ready" && known.length > 0);
    expect(paired).toEqual({ state: "ready", address, known, found: [] });
    print("a controller is found after", seconds(foundMs - begunMs));
    print("and paired after", seconds(performance.now() - foundMs));
    await worksMenu();
    // Neither the service nor its players reach the keys or the bus.
    expect(await board.shell("stat -c '%a %U' /data/state/bluetooth /run/bluetooth-bus")).toBe(
      "700 root\n700 root",
    );
  },
  2 * patienceMs,
);

test(
  "a known controller is back by its button, also after a power cut, and a stranger never is",
  async () => {
    const wake = async () => {
      await pad("wake");
      const ms = await padSays("connected", "pressed");
      await reaches("the connection", ({ known: [first] }) => first?.connected === true);
      return ms;
    };
    await pad("asleep");
    await reaches("the end of the connection", ({ known: [first] }) => first?.connected === false);
    expect(await board.shell("grep -c Pad /proc/bus/input/devices || true")).toBe("0");
    print("a known controller is back after", `${await wake()} ms`);
    await board.kill();
    card.powerCycle(1);
    await start();
    await plugIn();
    await reaches("the known controller", ({ state, known }) => state === "ready" && known.length > 0);
    await pad("bonded");
    print("and after a power cut", `${await wake()} ms`);
    await worksMenu();
    await pad("asleep");
    await padSays("disconnected", "connected");
    await pad("stranger");
    await padSays("refused", "called");
    expect(await board.shell("grep -c uhid /proc/bus/input/devices || true")).toBe("0");
  },
  2 * patienceMs,
);

test(
  "a forgotten controller is a stranger, and Bluetooth is off again",
  async () => {
    await ask(".forget", JSON.stringify({ address }));
    expect(await reaches("off", ({ state }) => state === "off")).toEqual({
      state: "off",
      known: [],
      found: [],
    });
    await until("the end of all programs", async () => (await board.shell(programs)) === "");
    expect(await board.shell("grep -r -c LinkKey /data/state/bluetooth | grep -v ':0$' || true")).toBe("");
    await pad("wake");
    await padSays("no answer", "pressed");
    // Other devices never found the deck.
    expect(await board.shell("grep -c visible /run/pad.log || true")).toBe("0");
  },
  2 * patienceMs,
);

test.if(isThorough)(
  "a radio that does not answer is named, and healthy again once it answers",
  async () => {
    const isNamed = async () => (await board.shell("tapdeck call health '{}'")).includes('"radio-silent"');
    await pad("mute");
    await ask(".search");
    await reaches("the silence", ({ state, fault }) => state === "off" && fault === "no-radio");
    expect(await isNamed()).toBe(true);
    await pad("speak", "pairing");
    await search();
    expect(await isNamed()).toBe(false);
  },
  2 * patienceMs,
);

test(
  "a controller that refuses or is gone is named, and a keyboard gets a code to type",
  async () => {
    await pad("refuse");
    await search();
    await pair();
    await reaches("the refusal", ({ state, fault }) => state === "ready" && fault === "refused");
    await pad("asleep");
    await pair();
    await reaches("the absence", ({ state, fault }) => state === "ready" && fault === "not-found");
    // A busy board is this slow: bluetoothd once paired a keyboard before its code could be shown.
    await board.shell(
      `cp /usr/bin/bluetoothctl /run/agent && printf '#!/bin/sh\\nsleep 3\\nexec /run/agent "$@"\\n' >/run/late-agent`,
    );
    await board.shell("chmod 755 /run/late-agent && mount -o bind /run/late-agent /usr/bin/bluetoothctl");
    await pad("keyboard");
    await search();
    await pair();
    await reaches("the code", ({ state, code }) => state === "pairing" && code === "123456");
    await pad("typed");
    const { known, fault } = await reaches("the keyboard", ({ state }) => state === "ready");
    expect({ fault, known: known.map(({ address }) => address) }).toEqual({
      fault: undefined,
      known: [address],
    });
  },
  3 * patienceMs,
);

test.if(isThorough)(
  "a controller of Bluetooth LE is found and paired, works the menu, and is back by its button",
  async () => {
    const ofLe = { word: "le-", name: nameOfLe };
    const isConnected = ({ known }: BluetoothReport) =>
      known.find(({ address }) => address === addressOfLe)?.connected;
    await pad("le-pairing");
    const begunMs = performance.now();
    await search(addressOfLe);
    const { found } = JSON.parse(await ask(""));
    expect(found).toEqual([{ address: addressOfLe, name: nameOfLe, kind: "controller" }]);
    await pair(addressOfLe);
    const { fault } = await reaches(
      "the pairing",
      (now) => now.state === "ready" && isConnected(now) === true,
    );
    expect(fault).toBeUndefined();
    print("a controller of Bluetooth LE is paired after", seconds(performance.now() - begunMs));
    await worksMenu(ofLe);
    const heardBefore = await timesHeard(nameOfLe);
    await pad("le-asleep");
    await reaches("the end of the connection", (now) => isConnected(now) === false);
    await pad("le-wake");
    print("a known controller of Bluetooth LE is back after", `${await padSays("connected", "pressed")} ms`);
    await worksMenu({ ...ofLe, heardBefore });
  },
  3 * patienceMs,
);

test(
  "a power cut while a controller and a client are paired leaves each of them paired as a whole or not at all, and what was told stays",
  async () => {
    const random = seededRandom(seed);
    const ends: string[] = [];
    /** The ids of the clients that the device had told. */
    const clients: string[] = [];
    let isTold = false;
    // The case before this one may have left a device, or none.
    const { known } = JSON.parse(await board.shell("tapdeck call bluetooth"));
    if (known.length > 0) await ask(".forget", JSON.stringify({ address }));
    await reaches("off", ({ state }) => state === "off");
    for (let cut = 0; cut <= cuts; cut++) {
      if (cut > 0) {
        card.powerCycle(seed * 17 + cut);
        await start();
        await plugIn();
      }
      const { known: kept } = await reaches("the state", ({ state }) => state === "ready" || state === "off");
      const ids = JSON.parse(await board.shell("tapdeck call clients")).clients.map(
        ({ id }: { readonly id: string }) => id,
      );
      expect(ids).toEqual(expect.arrayContaining(clients));
      if (isTold) expect(kept.map((one) => one.address)).toEqual([address]);
      if (kept.length > 0) {
        await pad("bonded", "wake");
        await reaches("the connection", ({ known: [first] }) => first?.connected === true);
        await ask(".forget", JSON.stringify({ address }));
      }
      await reaches("off", ({ state }) => state === "off");
      if (cut === cuts) break;
      await pad("lost", "pairing");
      await search();
      const cutAtMs = performance.now() + random() * pairingCutMs;
      await pair();
      clients.push(JSON.parse(await board.shell("tapdeck call clients.new")).id);
      isTold = false;
      while (performance.now() < cutAtMs) {
        const { state, known: now } = JSON.parse(await ask(""));
        isTold ||= state === "ready" && now.length > 0;
      }
      await board.kill();
      ends.push(isTold ? "after the pairing" : "in the pairing");
    }
    print(`power cuts of seed ${seed} around a pairing`, ends.join(", "));
  },
  (cuts + 1) * 2 * patienceMs,
);

/** On a very busy board an underrun ends aplay by an assertion of its library, which is no fault of the place of sound. */
const noise = "while :; do aplay -q -d 3600 -t raw -f S16_LE -c 2 -r 48000 /dev/urandom; done";
const playNoise = () => board.shell(`(${noise}) >/run/noise.log 2>&1 &`);
const complaints = () =>
  board.shell("grep -v -e underrun -e snd_pcm_plugin_status -e Aborted /run/noise.log || true");
/** The newest sound that the headphones received, as bytes after gzip; silence takes up nearly none. */
const heardBytes = async (kilobytes: number) =>
  Number(await board.shell(`tail -c ${kilobytes}000 /run/headphones | gzip | wc -c`));
const receivedBytes = async () =>
  Number(await board.shell("stat -c %s /run/headphones 2>/dev/null || echo 0"));
/** Resolves once a second of noise came after this call. */
async function hearNoise(what: string): Promise<void> {
  const before = await receivedBytes();
  const second = 28_000;
  await until(
    what,
    async () => (await receivedBytes()) > before + second && (await heardBytes(28)) > second / 2,
  );
}
const place = async () => {
  const { sound } = JSON.parse(await board.shell("tapdeck call device </dev/null"));
  return sound?.plays;
};
const movesTo = (wanted: string | undefined) =>
  until(`sound on ${wanted ?? "no place"}`, async () => (await place()) === wanted);
const isWorn = ({ known }: BluetoothReport) =>
  known.find(({ address }) => address === addressOfSound)?.connected;
/** The answer to a call of bluetoothd by this user, which would show the deck to other devices. */
const callAs = (user: string) =>
  board.shell(
    // start-stop-daemon starts no second program of a path that runs.
    `cp /usr/bin/dbus-send /run/ask && start-stop-daemon -S -c ${user} -x /run/ask -- --bus=unix:path=/run/bluetooth-bus/socket --print-reply --dest=org.bluez /org/bluez/hci0 org.freedesktop.DBus.Properties.Set string:org.bluez.Adapter1 string:Discoverable variant:boolean:true 2>&1 || true`,
  );

test(
  "headphones are found and paired, and a program is heard on them until they leave, and after they return",
  async () => {
    await pad("asleep", "headphones");
    await search(addressOfSound);
    const { found } = JSON.parse(await ask(""));
    expect(found).toEqual([{ address: addressOfSound, name: "Test Sound", kind: "sound" }]);
    expect(await board.shell("pidof bluealsa || true")).toBe("");
    const before = await place();
    const begunMs = performance.now();
    await pair(addressOfSound);
    const { fault } = await reaches("the pairing", (now) => now.state === "ready" && isWorn(now) === true);
    expect(fault).toBeUndefined();
    await movesTo("bluetooth");
    print("headphones are paired after", seconds(performance.now() - begunMs));
    await playNoise();
    await hearNoise("the program");
    const facts =
      "for one in $(pidof bluealsa alsaloop); do echo $(stat -c %U /proc/$one) $(cut -d ' ' -f 41 /proc/$one/stat); done";
    expect(await board.shell(facts)).toBe("bluesound 0\nbluesound 0");
    expect(await callAs("bluesound:bluesound")).toContain("AccessDenied");
    // The user of the service and of its players.
    expect(await callAs("tapdeck:audio")).toContain("Failed to open connection");
    await pad("asleep");
    await reaches("the end of the connection", (now) => isWorn(now) === false);
    await movesTo(before);
    const returnedMs = performance.now();
    await pad("wake");
    await hearNoise("the program again");
    print("and heard again after", seconds(performance.now() - returnedMs));
    expect(await complaints()).toBe("");
  },
  3 * patienceMs,
);

test(
  "a speaker that stays on during a power cut is called by the deck, a stranger is not accepted, and a forgotten one ends all",
  async () => {
    await board.kill();
    card.powerCycle(1);
    await start();
    await plugIn("headphones", "bonded");
    await reaches("the speaker", (now) => isWorn(now) === true);
    await movesTo("bluetooth");
    await playNoise();
    await hearNoise("a program");
    await pad("asleep");
    await reaches("the end of the connection", (now) => isWorn(now) === false);
    const received = await receivedBytes();
    await pad("stranger");
    await padSays("refused", "called");
    expect(await receivedBytes()).toBe(received);
    for (const each of [addressOfSound, address])
      await ask(".forget", JSON.stringify({ address: each })).catch(() => {}); // A run of this case alone has no keyboard.
    await reaches("off", ({ state }) => state === "off");
    await until("the end of all programs", async () => (await board.shell(programs)) === "");
    expect(await place()).not.toBe("bluetooth");
    expect(await board.shell("grep -c visible /run/pad.log || true")).toBe("0");
  },
  3 * patienceMs,
);
