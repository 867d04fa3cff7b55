/**
 * The image on the emulated board: it boots to a pong, reads a card, and handles changes of owners, broken cards and full
 * ones. Run by `make test-image`.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/client/client.ts";
import { copyDelayMs } from "../../src/store/database-copy.ts";
import { readFacts } from "../../tools/image/facts.ts";
import { readManifest } from "../../tools/image/manifest.ts";
import { type CcidReader, createCcidReader } from "../emulators/ccid-reader.ts";
import { createType2Tag } from "../emulators/emulated-tags.ts";
import { createPn532Device, type Pn532Device } from "../emulators/pn532-device.ts";
import { listenTo } from "../helpers/tapdeck.ts";
import { createUsbPort, type UsbPort } from "../vm/usb-redir.ts";
import { type Board, cardBytes, image, imageFolder, isStandIn, service, startBoard } from "./board.ts";
import { type Card, makeCard } from "./card.ts";
import { print, printTogether, seconds } from "./figures.ts";
import { copyImage, damageData, dataFrom, writeConf } from "./owned.ts";
import { patienceMs, until } from "./until.ts";

let folder: string;
let card: Card;
/** The card is made when the first case needs it. */
let startedCard: Promise<Card> | undefined;
let reader: Pn532Device;
let usbReader: CcidReader;
let usbPort: UsbPort;
let board: Board;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-boots-"));
  card = await makeCard(image, cardBytes);
  reader = createPn532Device({ timing: "none" });
  usbReader = createCcidReader({ kind: "acr122u", timing: "none" });
  usbPort = createUsbPort(join(folder, "usb.sock"), usbReader);
  usbPort.unplug();
  board = await startBoard({ card, reader: reader.path, usb: usbPort.socketPath });
}, patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  usbPort.close();
  await reader.close();
  await card[Symbol.asyncDispose]();
  // If the card could not be made, the case that needed it has reported that.
  await startedCard?.then(
    (made) => made[Symbol.asyncDispose](),
    () => {},
  );
  await rm(folder, { recursive: true, force: true });
  printTogether();
}, patienceMs);

test("both slots and the boot partition have room for what is in them, twice for kernels, and to grow", async () => {
  const figures: Readonly<Record<string, number>> = await Bun.file(join(imageFolder, "figures.json")).json();
  const {
    rootBytes = 0,
    slotBytes = 0,
    bootBytes = 0,
    bootPartitionBytes = 0,
    compressedBytes = 0,
    imageBytes = 0,
    dataBytes = 0,
  } = figures;
  print("the image", `${imageBytes} bytes, compressed ${compressedBytes}`);
  print("boot partition", `${bootBytes} of ${bootPartitionBytes} bytes`);
  print("each of the two slots", `${rootBytes} of ${slotBytes} bytes`);
  print("data partition", `${dataBytes} bytes, and on the card all that is left`);
  expect(rootBytes).toBeGreaterThan(0);
  expect(rootBytes).toBeLessThan(0.8 * slotBytes);
  expect(2 * bootBytes).toBeLessThan(0.8 * bootPartitionBytes);
});

test(
  "a new card boots to a pong at the host",
  async () => {
    print("first start of a card, from the kernel's start to the first pong", seconds(await board.pong()));
    await board.said("tapdeck: ready");
  },
  patienceMs,
);

test(
  "the board has the programs of Buildroot's image and no other, not even within its shell",
  async () => {
    const made = await readManifest();
    const folders = ["bin", "sbin", "usr/bin", "usr/sbin"].map((folder) => made.files.get(folder) ?? []);
    const programs = new Set([
      ...readFacts().programs,
      ...made.applets,
      ...folders.flatMap((names) => [...names]),
    ]);
    const names = (await board.shell("ls /usr/bin")).split(/\s+/);
    expect(names.length).toBeGreaterThan(200);
    expect(names.filter((name) => !programs.has(name))).toEqual([]);
    // Some shells of BusyBox run applets that have no file.
    expect(await board.shell("PATH=/none; stat / 2>&1 || true")).toContain("not found");
  },
  patienceMs,
);

test(
  "the data partition reaches to the card's end, and nothing else may be written",
  async () => {
    const dataMib = Number(await board.shell("df -m /data | tail -n 1 | awk '{ print $2 }'"));
    expect(dataMib).toBeGreaterThan((cardBytes - dataFrom) / 2 ** 20 - 40);
    const writable = await board.shell(
      'awk \'$4 ~ /^rw/ && $3 != "proc" && $3 != "sysfs" { print $2 " " $3 }\' /proc/mounts',
    );
    expect(writable.split("\n").sort()).toEqual([
      "/data ext4",
      "/dev devtmpfs",
      "/dev/pts devpts",
      "/dev/shm tmpfs",
      "/media tmpfs",
      "/run tmpfs",
      "/tmp tmpfs",
      "/var tmpfs",
    ]);
    expect(await board.shell("grep -c zram0 /proc/swaps")).toBe("1");
  },
  patienceMs,
);

test(
  "the service is its own user with the groups of devices, can gain no rights, and has a written-down environment",
  async () => {
    const status = await board.shell(`cat /proc/${service}/status`);
    expect(status).toMatch(/^Uid:\t900\t900\t900\t900$/m);
    expect(status).toMatch(/^Groups:\t18 28 29 46 97 900 901 $/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    // The limit of descriptors for a flood of connections (overlay/usr/lib/tapdeck/serve).
    const limits = await board.shell(`cat /proc/${service}/limits`);
    expect(limits).toMatch(/^Max open files +65536 +65536 /m);
    const environment = await board.shell(
      `tr '\\000' '\\n' </proc/${service}/environ | cut -d = -f 1 | sort`,
    );
    expect(environment.split("\n")).toEqual([
      "HOME",
      "LANG",
      "PATH",
      "RUNTIME_DIRECTORY",
      "TAPDECK_FAULTS",
      "TAPDECK_FIRST_OWNER",
      "TAPDECK_MACHINE",
      "TAPDECK_REMOVABLE",
      "TAPDECK_SAVES",
      "TAPDECK_SCREEN",
      "TAPDECK_WATCHDOG_STATE",
      "TMPDIR",
      "XDG_CONFIG_HOME",
      "XDG_DATA_HOME",
      "XDG_RUNTIME_DIR",
    ]);
    expect(await board.shell("stat -c '%a %U' /run/tapdeck /run/tapdeck/tmp")).toBe(
      "700 tapdeck\n700 tapdeck",
    );
    const folders = "/data/config /data/config/tapdeck /data/tapdeck /data/state";
    expect(await board.shell(`stat -c '%a %U:%G' ${folders}`)).toBe(
      "700 tapdeck:tapdeck\n700 tapdeck:tapdeck\n700 tapdeck:tapdeck\n710 root:tapdeck",
    );
    expect(await board.shell("find /data/tapdeck -type f -perm /077")).toBe("");
    const names = ["symlinks", "hardlinks", "fifos", "regular"];
    expect(
      await board.shell(`cd /proc/sys/fs && cat ${names.map((name) => `protected_${name}`).join(" ")}`),
    ).toBe("1\n1\n2\n2");
    expect(await board.shell("logread | grep -c 'service: listening'")).toBe("1");
  },
  patienceMs,
);

test(
  "without a display the console shows the board's name and address, and that a reader is there",
  async () => {
    // The kernel's own copy of the first terminal's text (vcs(4)).
    const shown = await until("the screen", async () => {
      const text = await board.shell("fold -w 80 /dev/vcs1 || cat /dev/vcs1");
      return text.includes("http://10.0.2.15:7497") && text.includes("put a card on it") ? text : undefined;
    });
    expect(shown).toContain("tapdeck.local");
  },
  patienceMs,
);

test(
  "the board answers for its name, and announces the service and its port to apps",
  async () => {
    // BusyBox shows a space of a name as DNS writes it.
    const ask = (type: string) =>
      board.shell(`nslookup -port=5353 -type=ptr ${type} 10.0.2.15`).catch(() => undefined);
    for (const type of ["_tapdeck._tcp.local", "_zaparoo._tcp.local"]) {
      const answer = await until("the responder", () => ask(type));
      expect(answer).toContain(`name = Tapdeck\\032on\\032tapdeck.${type}`);
      expect(answer).toContain("service = 0 0 7497 tapdeck.local");
      expect(answer).toContain("Address: 10.0.2.15");
    }
    expect(await board.shell("stat -c %U /proc/$(cat /var/run/avahi-daemon.pid)")).toBe("avahi");
  },
  patienceMs,
);

test(
  "the kernel's own driver for readers stays away",
  async () => {
    // Debian's kernel has the module, and the blacklist prevents it from being loaded. Buildroot's kernel has no such
    // module.
    const found = "modprobe -b -q pn533_usb; find /lib/modules -name 'pn533_usb.ko*' | wc -l";
    expect(await board.shell(found)).toBe(isStandIn ? "1" : "0");
    expect(await board.shell("grep -c pn533 /proc/modules; true")).toBe("0");
  },
  patienceMs,
);

test(
  "a reader of the host is found by itself, and its card starts a player in the guest, seen by a client of the host",
  async () => {
    await board.shell(
      // The program is not in the data folder itself, whose files are hidden from players.
      "mkdir -p /data/bin; printf '#!/bin/sh\\necho \"$1\" >/run/tapdeck/players/played\\nexec sleep 600\\n' >/data/bin/player; chmod 755 /data/bin /data/bin/player",
    );
    await board.shell("mkdir -p /data/tapdeck/media/SNES; echo game >/data/tapdeck/media/SNES/Game.sfc");
    await board.shell(
      'printf \'[[launchers]]\\nid = "stand-in"\\nsystems = ["SNES"]\\ncommand = ["/data/bin/player", "{path}"]\\n\' >/data/config/tapdeck/config.toml; chown tapdeck /data/config/tapdeck/config.toml',
    );
    const client = await board.client();
    try {
      const heard = listenTo(client);
      const notified = (name: string) =>
        until(`${name}\n${board.console()}`, () => heard.all.find(({ method }) => method === name)?.params);
      const connected = await until("the reader", () =>
        client.call("readers").then(
          ({ readers }) => readers.find((one) => one.connected),
          () => undefined, // The connection was lost, and is restored later.
        ),
      );
      expect(connected).toMatchObject({ driver: "pn532-uart", path: "/dev/ttyUSB0" });
      // The identity depends on the USB socket, through its name from mdev.
      expect(await board.shell("ls /dev/serial/by-path")).toMatch(/^[0-9a-z:.]+-usb-0:1:1\.0$/);
      reader.put(
        createType2Tag("ntag215", { uid: Uint8Array.fromHex("04a1b2c3d4e5f6"), text: "SNES/Game.sfc" }),
      );
      expect(await notified("tokens.added")).toMatchObject({ text: "SNES/Game.sfc", uid: "04a1b2c3d4e5f6" });
      expect(await notified("media.started")).toMatchObject({
        mediaPath: "/data/tapdeck/media/SNES/Game.sfc",
      });
      const played = await until("the player", async () =>
        board
          // The player's shell makes the file empty before it writes to it.
          .shell("cd /run/tapdeck/players && test -s played && cat played && stat -c %U played")
          .catch(() => undefined),
      );
      expect(played).toBe("/data/tapdeck/media/SNES/Game.sfc\ntapdeck");
      await client.call("stop");
      await notified("media.stopped");
      const { checks } = await client.call("health");
      expect(checks).toContainEqual({ name: "device", ok: true });
      expect(checks).toContainEqual({ name: "players", ok: true });
    } finally {
      client.close();
    }
  },
  patienceMs,
);

test(
  "an ACR122U that is plugged into the board is the service's to open, and a card on it launches",
  async () => {
    const client = await board.client();
    try {
      const heard = listenTo(client);
      const notified = (name: string) =>
        until(`${name}\n${board.console()}`, () => heard.all.find(({ method }) => method === name)?.params);
      usbPort.plug();
      expect(await notified("readers.added")).toMatchObject({ driver: "acr122u-usb" });
      expect(await board.shell("stat -c '%a %G' /dev/bus/usb/*/* | sort -u")).toContain("660 plugdev");
      const uid = "04112233445566";
      usbReader.put(createType2Tag("ntag213", { uid: Uint8Array.fromHex(uid), text: "SNES/Game.sfc" }));
      expect(await notified("tokens.added")).toMatchObject({ text: "SNES/Game.sfc", uid });
      expect(await notified("media.started")).toMatchObject({
        mediaPath: "/data/tapdeck/media/SNES/Game.sfc",
      });
      await client.call("stop");
      await notified("media.stopped");
      usbPort.unplug();
      await notified("readers.removed");
    } finally {
      client.close();
    }
  },
  patienceMs,
);

const windowSeconds = Number(process.env.IDLE_SECONDS ?? 10);

test(
  "an idle board writes nothing to its card",
  async () => {
    await untilQuiet();
    const before = card.writes;
    await Bun.sleep(windowSeconds * 1000);
    await board.shell("sync");
    print(`writes to the card in ${windowSeconds} idle seconds`, `${card.writes - before}`);
    expect(card.writes - before).toBe(0);
    for (const line of (
      await board.shell("ps -o rss,args | grep -v '\\[' | grep -E 'tapdeck|logd|mdev|udhcpc|init|logger'")
    ).split("\n"))
      print("resident memory", line.trim());
    print("memory", await board.shell("free -k | sed -n 2p"));
  },
  2 * patienceMs + windowSeconds * 1000,
);

const beforeFault = "before the fault";

test(
  "a full card starts all the same, keeps what it has, and says so",
  async () => {
    await using own = await copyOfStarted();
    {
      await using filled = await startBoard({ card: own });
      await filled.pong();
      // A full card has no room for another client.
      (await filled.client()).close();
      // Nearly all blocks are only reserved for the file, because the emulated board writes 2 MB a second.
      const free = "df -k /data | awk 'END { print $4 }'";
      await filled.shell(`fallocate -l $(($(${free}) * 1024)) /data/full`);
      await filled.shell("cat /dev/zero >>/data/full 2>/dev/null; sync; true");
      expect(await filled.shell(free)).toBe("0");
    }
    await using again = await startAfterCut(own);
    const client = await again.client();
    try {
      expect(await labelsOf(client)).toEqual([beforeFault]);
      const { checks } = await client.call("health");
      expect(checks.find(({ name }) => name === "disk")).toMatchObject({ ok: false });
      await again.shell("rm /data/full; sync");
      // The file system frees the room a moment after the deletion.
      await until("room on the card", async () => {
        const { checks: now } = await client.call("health");
        return now.find(({ name }) => name === "disk")?.ok === true;
      });
    } finally {
      client.close();
    }
  },
  3 * patienceMs,
);

test(
  "a superblock of which a power cut left one new sector costs nothing that was acknowledged",
  async () => {
    await using own = await copyOfStarted();
    // The superblock's first sector gets another count of mounts (ext4, s_mnt_count). The sum in its second sector
    // stays as it was.
    const superblock = own.read(dataFrom + 1024, 512).slice();
    superblock[0x34] = (superblock[0x34] ?? 0) ^ 0x55;
    own.damage(dataFrom + 1024, superblock);
    await using again = await startAfterCut(own);
    const client = await again.client();
    try {
      const { checks } = await client.call("health");
      expect(checks.filter(({ name, ok }) => name === "device" && !ok)).toEqual([]);
      expect(await labelsOf(client)).toEqual([beforeFault]);
    } finally {
      client.close();
    }
  },
  3 * patienceMs,
);

test(
  "a data partition that is no file system any more leaves a board that works, and says so",
  async () => {
    await using own = await copyOfStarted();
    own.damage(dataFrom, new Uint8Array(8 * 2 ** 20));
    await using again = await startAfterCut(own);
    const client = await again.client();
    try {
      const { checks } = await client.call("health");
      const device = checks.find(({ name }) => name === "device");
      expect(device?.reason).toContain("the data partition cannot be read");
      await client.call("mappings.new", mappingOf("in memory"));
      expect(await labelsOf(client)).toEqual(["in memory"]);
    } finally {
      client.close();
    }
  },
  3 * patienceMs,
);

test(
  "the lines that the owner wrote count, mistakes are reported, and everything readable of a damaged data partition is there",
  async () => {
    const owned = join(folder, "owned.img");
    await copyImage(owned);
    await writeConf(owned, ownersText);
    await damageData(owned);
    await using ownedCard = await makeCard(owned, cardBytes);
    await using second = await startBoard({ card: ownedCard });
    await second.pong();
    const client = await second.client();
    try {
      const { checks } = await client.call("health");
      const reason = checks.find(({ name }) => name === "device")?.reason ?? "";
      expect(reason).toContain("line 4: there is no such key; line 5: it is not key=value");
      expect(reason).toContain("the data partition is damaged: it can be read");
      expect(await second.shell(`tr '\\000' '\\n' </proc/${service}/environ | grep ANONYMOUS`)).toBe(
        "TAPDECK_ANONYMOUS=look",
      );
      expect(await second.shell("hostname; cat /data/tapdeck/media/SNES/Game.sfc")).toBe("my-deck\ngame");
      await second.said("tapdeck: ready");
      await until("the reader of tapdeck.conf", async () =>
        (await client.call("settings")).readers.includes("pn532-uart:/dev/ttyS9"),
      );
      await client.call("mappings.new", mappingOf("on a damaged card"));
      expect((await client.call("mappings")).mappings.map(({ label }) => label)).toEqual([
        "on a damaged card",
      ]);
      expect(await second.shell("awk '$2 == \"/data\" { print $3 }' /proc/mounts")).toBe("overlay");
    } finally {
      client.close();
    }
  },
  2 * patienceMs,
);

test(
  "beside the same image with an empty init",
  async () => {
    await using empty = await makeCard(image, cardBytes);
    await using bare = await startBoard({ card: empty, append: "init=/bin/true" });
    // The kernel has no other message for an init that has ended.
    print(
      "the same image with an empty init, from the kernel's start to its end",
      seconds(await bare.said("Attempted to kill init")),
    );
  },
  patienceMs,
);

// The text has the marks that editors of PCs leave.
const ownersText =
  "\ufeff# Mine\r\nhost_name=my-deck\r\nreader=pn532-uart:/dev/ttyS9\r\nwifi=yes\r\nnonsense\r\nanonymous=look\r\n";

const mappingOf = (label: string) => ({
  enabled: true,
  label,
  type: "uid" as const,
  match: "exact" as const,
  pattern: Buffer.from(label).toString("hex"),
  override: "SNES/Game.sfc",
});

async function labelsOf(client: Client): Promise<readonly string[]> {
  return (await client.call("mappings")).mappings.map(({ label }) => label);
}

/** A copy of a card that was started once and has one mapping. No case therefore depends on the card of another one. */
async function copyOfStarted(): Promise<Card> {
  startedCard ??= makeStartedCard();
  return (await startedCard).copy();
}

async function makeStartedCard(): Promise<Card> {
  const made = await makeCard(image, cardBytes);
  await using first = await startBoard({ card: made });
  await first.pong();
  const client = await first.client();
  await client.call("mappings.new", mappingOf(beforeFault));
  client.close();
  await first.kill();
  made.powerCycle(1);
  return made;
}

async function startAfterCut(own: Card): Promise<Board> {
  own.powerCycle(1);
  const again = await startBoard({ card: own });
  try {
    print("a later start, from the kernel's start to the first pong", seconds(await again.pong()));
    return again;
  } catch (error) {
    await again[Symbol.asyncDispose]();
    throw error;
  }
}

/** Nothing was written within the service's own delays. The kernel's delayed writes are forced. */
// A minute after each start and each change the service checks whether its copy is up to date. A read dirties the
// database's shared memory, which the kernel would still write half a minute later.
const quietMs = copyDelayMs + 30_000;
const lookMs = 10_000;

async function untilQuiet(): Promise<void> {
  await board.shell("sync");
  for (let quiet = 0; quiet < quietMs; ) {
    const before = card.writes;
    await Bun.sleep(lookMs);
    await board.shell("sync");
    quiet = card.writes === before ? quiet + lookMs : 0;
  }
}
