/**
 * A phone sets up the Wi-Fi of a board that knows none: radios of the kernel's mac80211_hwsim, a router and a phone with networks
 * of their own, and the image's own scripts and programs. Run by `make test-image`; `THOROUGH=1` keeps pictures of the
 * screen, and `CUTS` is the number of power cuts.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WifiReport } from "../../src/core/wifi-shapes.ts";
import { keysMax } from "../../src/screen/keyboard-template.ts";
import { unpackForGuest } from "../../tools/image/debs.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import { seededRandom } from "../emulators/emulated-line.ts";
import { type Board, cardBytes, image, isStandIn, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print } from "./figures.ts";
import { button, hasSecondRow, isMenuAt, makePad, startPad, tap, typing } from "./menu-on-screen.ts";
import { type Picture, pngOf, shareOf } from "./picture.ts";
import { patienceMs, until } from "./until.ts";
import { files, home } from "./wifi-guest.ts";

const shots = join(root, "build/image/wifi");
const guests = Buffer.from("Guests").toString("hex");
const homeId = Buffer.from(home.name).toString("hex");

const isThorough = process.env.THOROUGH === "1";
const cuts = Number(process.env.CUTS ?? 2);
const seed = Number(process.env.SEED ?? 1);

let folder: string;
let server: ReturnType<typeof Bun.serve>;
let card: Card;
let board: Board;

beforeAll(async () => {
  await rm(shots, { recursive: true, force: true });
  await mkdir(shots, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "tapdeck-wifi-"));
  await run([
    ...["aarch64-linux-gnu-gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-s"],
    ...[join(root, "test/image/radio.c"), "-o", join(folder, "radio")],
  ]);
  await makePad(folder);
  for (const [name, text] of Object.entries(files)) await Bun.write(join(folder, name), text);
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname))),
  });
  card = await makeCard(image, cardBytes);
  await start();
}, 2 * patienceMs);

async function start(): Promise<void> {
  board = await startBoard({ card, watchdog: false, display: isThorough ? "640x480" : "320x240" });
  await board.pong();
  if (isThorough && !isStandIn) await putDebiansHostapd();
  await plugOut();
}

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await server.stop(true);
  await card[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, patienceMs);

/** Fetches the test's files, unplugs the cable, and loads the radios: phy0 is the board's. */
async function plugOut(): Promise<void> {
  for (const name of ["radio", "pad", ...Object.keys(files)])
    await board.shell(
      `wget -q -O /run/${name} http://10.0.2.2:${server.port}/${name} && chmod 755 /run/${name}`,
    );
  await board.shell("kill $(cat /run/udhcpc.eth0.pid); while pidof udhcpc; do sleep 1; done");
  await board.shell("ip addr flush dev eth0; ip link set eth0 down");
  await board.shell("modprobe mac80211_hwsim radios=3");
  await board.shell("/run/radio 1 /run/router >/run/router.log 2>&1 &");
  await untilRouter();
}

const untilRouter = () =>
  until("the router", async () =>
    (await board.shell("cat /run/router.log 2>/dev/null || true")).includes("AP-ENABLED"),
  );

async function wifi(): Promise<WifiReport> {
  return JSON.parse(await board.shell("tapdeck call wifi"));
}

async function reaches(what: string, holds: (wifi: WifiReport) => boolean): Promise<WifiReport> {
  let last: WifiReport | undefined;
  try {
    return await until(what, async () => {
      last = await wifi();
      return holds(last) ? last : undefined;
    });
  } catch (error) {
    const seen = await board.shell(
      "mount | grep data; ls -la /data/state; logread | grep -v kern | tail -n 60; cat /run/router.log; ip addr",
    );
    throw new Error(`${JSON.stringify(last)}\n${seen}`, { cause: error });
  }
}

/** With THOROUGH=1 the board has a display, and its pictures are kept to be looked at. */
async function keepPicture(name: string): Promise<void> {
  if (!isThorough) return;
  await Bun.sleep(15_000); // The board draws for some seconds after a change.
  await Bun.write(join(shots, `${name}.png`), pngOf(await board.picture()));
}

/** The output of a command on a phone that has joined the access point. */
async function onPhone({ point }: WifiReport, command: string): Promise<string> {
  if (point === undefined) throw new Error("no access point is open");
  return board.shell(`/run/radio 2 /run/phone '${point.name}' '${point.password}' '${command}'`);
}

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();

test(
  "a phone sets up the Wi-Fi by the access point, and a wrong password is named on both",
  async () => {
    const open = await reaches("the access point", ({ state }) => state === "point");
    expect(open.point?.name).toMatch(/^Tapdeck-[0-9A-F]{4}$/);
    expect(open.networks.map(({ name, security }) => ({ name, security }))).toEqual(
      expect.arrayContaining([
        { name: home.name, security: "password" },
        { name: "Guests", security: "open" },
      ]),
    );
    await keepPicture("point");
    // A phone requests a page of its maker, and is redirected to the device's page.
    const ask = 'wget -S -O /dev/null --header "Host: captive.apple.com" http://10.77.7.1/x 2>&1 | head -n 4';
    const led = await onPhone(open, `nslookup captive.apple.com 10.77.7.1; ${ask}`);
    expect(led).toMatch(/Address( 1)?: +10\.77\.7\.1/);
    expect(led).toContain("Location: http://10.77.7.1/");
    expect(await onPhone(open, "wget -q -O - http://10.77.7.1/")).toContain("Home &amp; &quot;Söhne&quot;");
    const wrong = form({ network: homeId, name: "", password: "wrong horse" });
    await onPhone(open, `wget -q -O - --post-data "${wrong}" http://10.77.7.1/join`);
    const refused = await reaches(
      "the wrong password",
      ({ state, fault }) => state === "point" && fault !== undefined,
    );
    expect({ fault: refused.fault, network: refused.network }).toEqual({
      fault: "wrong-password",
      network: home.name,
    });
    // The phone joins again by itself.
    expect(refused.point).toEqual(open.point as NonNullable<typeof open.point>);
    await keepPicture("wrong-password");
    expect(await onPhone(refused, "wget -q -O - http://10.77.7.1/")).toContain(
      "The password of “Home &amp; &quot;Söhne&quot;” is wrong.",
    );
    const right = form({ network: homeId, name: "", password: home.password });
    await onPhone(refused, `wget -q -O - --post-data "${right}" http://10.77.7.1/join`);
    const joined = await reaches("the network", ({ state }) => state === "joined");
    expect(joined).toEqual({ ...joined, network: home.name, known: [{ id: homeId, name: home.name }] });
    expect(joined.point).toBeUndefined();
    expect(await board.shell("ip -4 -o addr show dev wlan0")).toContain("192.168.50.");
    expect(await board.shell("stat -c '%a %U' /data/state/wifi")).toBe("600 root");
    await keepPicture("joined");
  },
  4 * patienceMs,
);

test(
  "a network that was set up is there after a power cut, and an owner adds and forgets others",
  async () => {
    await board.kill();
    card.powerCycle(1);
    await start();
    await reaches("the network after a power cut", ({ state }) => state === "joined");
    expect(await board.shell("ls /run/wifi-point 2>/dev/null | wc -l")).toBe("0");
    const ask = async (method: string, params: unknown) =>
      board.shell(`tapdeck call ${method} '${JSON.stringify(params)}'`);
    // After a wrong password the board returns to the previous network.
    await ask("wifi.join", { id: "4e6f6e65", password: "not in reach" });
    const back = await reaches(
      "the network before",
      ({ state, fault }) => state === "joined" && fault !== undefined,
    );
    expect({ fault: back.fault, network: back.network }).toEqual({ fault: "not-found", network: "None" });
    await ask("wifi.join", { id: guests });
    const joined = await reaches(
      "the open network",
      ({ network, state }) => state === "joined" && network === "Guests",
    );
    expect(joined.known.map(({ name }) => name)).toEqual(["Guests", home.name]);
    // The other network takes over if this one goes away.
    await until("both networks in wpa_supplicant", async () =>
      /Guests[\s\S]*Home/.test(await board.shell("wpa_cli -i wlan0 list_networks")),
    );
    await until("the connection to the better one", async () =>
      /ssid=Guests[\s\S]*wpa_state=COMPLETED/.test(await board.shell("wpa_cli -i wlan0 status")),
    );
    await ask("wifi.forget", { id: guests });
    await until("an address of the first network", async () =>
      (await board.shell("ip -4 -o addr show dev wlan0")).includes("192.168.50."),
    );
    expect((await wifi()).known.map(({ name }) => name)).toEqual([home.name]);
    await ask("wifi.open", {});
    await reaches("the access point", ({ state }) => state === "point");
    // The fault occurred once: the script that closes the access point after its time ended itself instead.
    await board.shell("minutes=0 /usr/lib/tapdeck/wifi-point open");
    await reaches("the network after the access point", ({ state }) => state === "joined");
    expect(await board.shell("pidof hostapd | wc -w")).toBe("1");
  },
  4 * patienceMs,
);

test(
  "a controller joins a network by the menu and the keyboard of the television",
  async () => {
    await board.shell(`tapdeck call wifi.forget '{"id":"${homeId}"}'`);
    await reaches("no network", ({ known, state }) => known.length === 0 && state !== "joined");
    await startPad(board);
    const shows = async (name: string, holds: (picture: Picture) => boolean) => {
      let last: Picture | undefined;
      try {
        await until(`the picture ${name}`, async () => {
          last = await board.picture();
          return holds(last) || undefined;
        });
      } finally {
        if (last !== undefined) await Bun.write(join(shots, `${name}.png`), pngOf(last));
      }
    };
    // The menu has library, volume and Wi-Fi, because nothing has been played.
    await shows("status", (picture) => shareOf(picture, [0x14, 0x18, 0x3a]) > 0.3);
    await tap(board, button.south);
    await shows("menu", isMenuAt(0));
    await tap(board, "right", "right");
    await shows("menu-wifi", isMenuAt(2));
    // The press counts once the screen shows the item that a key would choose.
    await tap(board, button.south);
    await shows("networks", (picture) => isMenuAt(0)(picture) && hasSecondRow(picture) === false);
    const { networks } = await wifi();
    const place = networks
      .filter(({ security }) => security !== "other")
      .findIndex(({ id }) => id === homeId);
    expect(place).toBeGreaterThanOrEqual(0);
    await tap(board, ...Array.from({ length: place }, () => "right" as const));
    await shows("menu-network", isMenuAt(place));
    await tap(board, button.south);
    await shows("keyboard", isMenuAt(0, keysMax, true));
    // The kernel keeps 64 events, and the service of a busy board may stand still for longer, so each key is looked at.
    for (const { arrows, key } of typing(home.password)) {
      await tap(board, ...arrows);
      await shows("keyboard-key", isMenuAt(key, keysMax, true));
      await tap(board, button.south);
    }
    await reaches(
      "the network by the menu",
      ({ state, network, known }) => state === "joined" && network === home.name && known.length === 1,
    );
  },
  3 * patienceMs,
);

/** Buildroot's hostapd has no WPA3, which the access point does not use, so the router there runs Debian's. */
async function putDebiansHostapd(): Promise<void> {
  const libraries = ["libc6", "libnl-3-200", "libnl-genl-3-200", "libnl-route-3-200", "libssl3"];
  const tree = await unpackForGuest("router", ["hostapd", ...libraries]);
  const archive = join(folder, "router.tar");
  await run([
    "tar",
    "-c",
    "-f",
    archive,
    "--exclude=gconv",
    "-C",
    tree,
    "usr/sbin/hostapd",
    "lib",
    "usr/lib",
  ]);
  await board.shell(
    `mkdir -p /run/debian && wget -q -O - http://10.0.2.2:${server.port}/router.tar | tar -x -C /run/debian`,
  );
  const path = "/run/debian/lib/aarch64-linux-gnu:/run/debian/usr/lib/aarch64-linux-gnu";
  const start = `exec /run/debian/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1 --library-path ${path} /run/debian/usr/sbin/hostapd`;
  await board.shell(
    `mkdir -p /run/router-bin && printf '#!/bin/sh\\n${start} "$@"\\n' >/run/router-bin/hostapd && chmod 755 /run/router-bin/hostapd`,
  );
}

test.skipIf(!isThorough)(
  "a network of WPA3 works, its wrong password and a router without addresses are named, and a router that comes back is found",
  async () => {
    const id = Buffer.from("Three").toString("hex");
    const router = async (words: string) => {
      // The radio returns to the board once all its programs have ended.
      await board.shell(
        "kill $(cat /run/router.pid /run/serving.pid) 2>/dev/null; rm -f /run/router.log; sleep 3; true",
      );
      await board.shell(
        `${words}; PATH=/run/router-bin:$PATH /run/radio 1 /run/three >/run/router.log 2>&1 &`,
      );
      await untilRouter();
    };
    const fails = async (password: string, fault: WifiReport["fault"]) => {
      await board.shell(`tapdeck call wifi.join '${JSON.stringify({ id, password })}'`);
      await reaches("a try", ({ state }) => state === "joining");
      await reaches(
        `${fault}`,
        (now) => now.state !== "joining" && now.fault === fault && now.network === "Three",
      );
    };
    await router("touch /run/no-dhcp");
    await fails("wrong horse", "wrong-password");
    await fails(home.password, "no-address");
    await router("rm /run/no-dhcp");
    await board.shell(`tapdeck call wifi.join '${JSON.stringify({ id, password: home.password })}'`);
    await reaches("WPA3", ({ state, network }) => state === "joined" && network === "Three");
    expect(await board.shell("wpa_cli -i wlan0 status | grep key_mgmt")).toBe("key_mgmt=SAE");
    await board.shell("kill $(cat /run/router.pid)");
    await reaches("the loss", ({ state }) => state === "away");
    await router("true");
    await reaches("the return", ({ state }) => state === "joined");
  },
  4 * patienceMs,
);

test(
  "a power cut while a network is stored leaves the list before it or the whole new one",
  async () => {
    await using stored = await makeCard(image, cardBytes);
    const random = seededRandom(seed);
    /** The networks that the script had stored before the power was cut. */
    let kept: readonly string[] = [];
    for (let cut = 0; cut <= cuts; cut++) {
      await using one = await startBoard({ card: stored, watchdog: false });
      await one.pong();
      const found = (await one.shell("cat /data/state/wifi 2>/dev/null || true"))
        .split("\n")
        .filter((line) => line !== "");
      expect(found.filter((line) => !/^[0-9a-f]{8} [0-9a-f]{16}$/.test(line))).toEqual([]);
      expect(found).toEqual(expect.arrayContaining([...kept]));
      kept = found;
      if (cut === cuts) break;
      const network = (number: number) =>
        `${(cut * 100 + number + 0x10000000).toString(16)} 4142434445464748`;
      const keep = (line: string) =>
        line.replace(/(.+) (.+)/, "WIFI_PASSWORD=$2 /usr/lib/tapdeck/wifi-known keep $1");
      // Three networks are certainly stored, and others until the power is cut.
      for (const number of [1, 2, 3]) {
        await one.shell(keep(network(number)));
        kept = [network(number), ...kept].slice(0, 20);
      }
      const more = [4, 5, 6, 7].map((number) => keep(network(number)));
      void one.shell(more.join("; ")).catch(() => {});
      await Bun.sleep(random() * 600);
      await one.kill();
      stored.powerCycle(seed * 31 + cut);
      // The list is limited, so older networks may have been dropped in favour of those of the last moment.
      kept = kept.slice(0, 16);
    }
    print("power cuts while networks are stored", `${cuts}, and none lost`);
  },
  (cuts + 2) * patienceMs,
);
