/**
 * Updates on the emulated board, started by U-Boot from its card: a damaged, an interrupted, a hanging and a working one.
 * In all cases a complete system starts. Run by `make test-image`; with `THOROUGH=1` the board has a display, and the
 * strips of an update and of its undo stay in build/screens.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority } from "../../tools/image/authority.ts";
import { readMeta, root } from "../../tools/image/meta.ts";
import { eventually } from "../helpers/processes.ts";
import { type Board, cardBytes, image, startBoard } from "./board.ts";
import { lostSigner, serveUpdates, type Updates, version } from "./bundles.ts";
import { type Card, makeCard } from "./card.ts";
import { print, seconds } from "./figures.ts";
import { dataFrom } from "./owned.ts";
import { differing, type Picture, pngOf } from "./picture.ts";
import { patienceMs, until } from "./until.ts";

const meta = readMeta();
const slotBytes = meta.slotMib * 2 ** 20;
const slotFrom = { a: dataFrom - 2 * slotBytes, b: dataFrom - slotBytes };
const smallRootBytes = 16 * 2 ** 20;
/**
 * A script that makes the whole machine hang after the watchdog guards it and before any verdict, by a panic without a restart.
 */
const hang = `#!/bin/sh
until ls -l "/proc/$(cat /var/run/tapdeck-watchdog.pid)/fd" 2>/dev/null | grep -q /dev/watchdog; do usleep 100000; done
echo 0 >/proc/sys/kernel/panic
echo c >/proc/sysrq-trigger
`;

/** The new system reports the same faults in other words, so only their codes and subjects show that they are not new. */
const reworded = new Map([
  ["{subject}: {why}", "{why}; {subject}"],
  ["no media are at {subject}", "no films are at {subject}"],
  ["no broker answers at {subject}", "no server answers at {subject}"],
]);
/** Faults of the board, of its owner and of others. */
const faulty = [
  '[readers]\\nconnect = ["pn532-uart:/dev/ttyS9"]',
  '[systems]\\nroot_folders = ["/data/no-drive"]',
  '[mqtt]\\nurl = "mqtt://127.0.0.1:1884"',
].join("\\n");
const reader = "/dev/ttyS9";
/** These cases restart the board up to four times, and each wait has its own end, which reports the console. */
const restartsMs = 6 * patienceMs;

const isThorough = process.env.THOROUGH === "1";
const television = isThorough ? ({ display: "640x360" } as const) : {};
const filmMs = 1000;
/** A picture is a new one if at least this share of its pixels differs. */
const otherShare = 0.01;

/** Keeps each new picture of the display until disposed. */
function filmed(name: string): AsyncDisposable {
  let isOver = !isThorough;
  const film = async () => {
    let last: Picture | undefined;
    for (let number = 0; !isOver; ) {
      await Bun.sleep(filmMs);
      // The board restarts, and has no display meanwhile.
      const picture = await board.picture().catch(() => undefined);
      if (picture === undefined) continue;
      const isEqual = last?.width === picture.width && last.height === picture.height;
      const pixels = picture.width * picture.height;
      if (isEqual && last !== undefined && differing(last, picture) / pixels < otherShare) continue;
      last = picture;
      const path = join(root, "build/screens", name, `${String(number++).padStart(2, "0")}.png`);
      await Bun.write(path, pngOf(picture));
    }
  };
  const done = film();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await done;
    },
  };
}

const refusedRootBytes = 64 * 1024;
let stranger: string;
let updates: Updates;
let card: Card;
let board: Board;

beforeAll(async () => {
  updates = await serveUpdates();
  await updates.make("good", "0.1.2", { reworded });
  await updates.make("hangs", "0.1.1", { script: hang });
  await updates.makeStartless("small", "0.1.1", smallRootBytes);
  stranger = await mkdtemp(join(tmpdir(), "tapdeck-stranger-"));
  await updates.makeStartless("older", "0.0.9", refusedRootBytes);
  await updates.makeStartless("other-board", "0.1.1", refusedRootBytes, { board: "pi4" });
  await updates.makeStartless("foreign", "0.1.1", refusedRootBytes, {
    signer: await makeAuthority(stranger),
  });
  await updates.makeStartless("revoked", "0.1.1", refusedRootBytes, { signer: lostSigner });
  card = await makeCard(image, cardBytes);
  board = await startBoard({ card, loader: true, ...television });
}, patienceMs);

afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await card[Symbol.asyncDispose]();
  await updates[Symbol.asyncDispose]();
  await rm(stranger, { recursive: true, force: true });
}, patienceMs);

/** Runs a command that restarts the board. Rejects with the command's output if it fails, or if the text does not come. */
async function restarts(command: string, text: string, count?: number): Promise<void> {
  const said = board.said(text, count);
  await Promise.race([said, board.shell(`${command} </dev/null`).then(() => said)]);
}

test(
  "an update that was damaged on its way is refused, and nothing is written",
  async () => {
    print("start by U-Boot, to the first pong", seconds(await board.pong()));
    await board.shell(`wget -q -O /data/small ${updates.address("small")} && cp /data/small /data/bad`);
    await board.shell("printf x | dd of=/data/bad bs=1 seek=2000000 conv=notrunc 2>/dev/null");
    const said = await board.shell("tapdeck update /data/bad 2>&1 </dev/null | tail -n 1; rm /data/bad");
    expect(said).toBe(
      "tapdeck: the file is damaged: its part root differs from the signed one; fetch it again",
    );
    expect(card.writtenBytes(slotFrom.b, dataFrom)).toBe(0);
    expect(await board.shell("tapdeck update --status </dev/null")).toBe(
      `slot a: ${version}, runs, is kept\nslot b: no whole system`,
    );
  },
  2 * patienceMs,
);

test.each([
  [
    "older",
    "this update is version 0.0.9, older than the 0.1.0 that runs: --allow-older installs it all the same",
  ],
  ["other-board", "this update is for the board pi4, and this one is qemu"],
  ["foreign", "the file was altered, or signed by a key that this system does not trust"],
  ["revoked", "the file was signed by a key that was revoked: fetch an update that was signed by another"],
] as const)(
  "an update that is %s is refused, and nothing is written",
  async (name, sentence) => {
    const said = await board.shell(`tapdeck update ${updates.address(name)} 2>&1 </dev/null | tail -n 1`);
    expect(said).toBe(`tapdeck: ${sentence}`);
    expect(card.writtenBytes(slotFrom.b, dataFrom)).toBe(0);
    expect(await board.shell("ls /data/state/update.fetched 2>/dev/null; true")).toBe("");
  },
  patienceMs,
);

test(
  "an update that a power cut ends in the middle leaves the system that ran, and can be begun again",
  async () => {
    // This waits until no other write is pending, so the cut is in the update.
    await board.shell("sync");
    const struck = new Promise<void>((resolve) =>
      // QEMU joins writes that wait, so the whole update may be a few of them.
      card.cutAfter(1, resolve, { from: slotFrom.b, to: dataFrom }),
    );
    void board.shell("tapdeck update /data/small </dev/null").catch(() => {}); // The power may be cut meanwhile.
    await struck;
    await board[Symbol.asyncDispose]();
    card.powerCycle(6);
    const written = card.writtenBytes(slotFrom.b, dataFrom);
    print("the power was cut in an update", `${(written / 1e6).toFixed(1)} MB of it were written`);
    expect(written).toBeLessThan(smallRootBytes);
    board = await startBoard({ card, loader: true, ...television });
    await board.pong();
    expect(await board.shell("tapdeck update --status </dev/null")).toBe(
      `slot a: ${version}, runs, is kept\nslot b: no whole system`,
    );
  },
  2 * patienceMs,
);

test(
  "an update that hangs at its start is tried once; the watchdog resets the machine, and the system before is back",
  async () => {
    board.restarted();
    await board.pong();
    await board.shell("rm -f /data/small && sync");
    const from = performance.now();
    await restarts(`tapdeck update ${updates.address("hangs")}`, "Tapdeck: starting slot b");
    print(
      "an update, until it was fetched and written and the machine restarts",
      seconds(performance.now() - from),
    );
    await board.said("Kernel panic");
    const hung = performance.now();
    await board.said("tapdeck: fault: update-not-kept subject=0.1.1");
    await board.pong();
    print("an update that hangs, until the system before answers", seconds(performance.now() - hung));
    board.restarted();
    expect((await board.shell("tapdeck update --status </dev/null")).split("\n")).toEqual([
      `slot a: ${version}, runs, is kept`,
      "slot b: 0.1.1",
      "last: 0.1.1 was tried and not kept: it did not start, or was not healthy for a minute",
    ]);
    expect(await board.shell("wget -q -O - http://127.0.0.1:7497/health 2>&1; true")).toContain("503");
  },
  restartsMs,
);

test(
  "an update that the API begins is tried, kept after a healthy minute although it words standing faults otherwise, and starts from then on",
  async () => {
    await using _film = filmed("update");
    // The board is still starting after the earlier tests.
    board.restarted();
    await board.pong();
    const config = "/data/config/tapdeck/config.toml";
    await board.shell(`printf '${faulty}\\n' >${config}; chown tapdeck ${config}; sync`);
    const standing = await faultsOf(board, "broker-absent");
    // On a busy machine the watchdog may have replaced a service that was slow to start.
    const lasting = standing.filter(({ code }) => code !== "service-restarted");
    expect(lasting.map(({ code, of, subject }) => [code, of, subject])).toEqual([
      ["reader-failed", "system", reader],
      ["media-missing", "owner", "/data/no-drive"],
      ["broker-absent", "others", "127.0.0.1"],
    ]);
    const tries = board.console().split("Tapdeck: starting slot b").length;
    await board.shell(`tapdeck call device.update '{"url":"${updates.address("good")}"}' </dev/null`);
    await board.said("Tapdeck: starting slot b", tries);
    const from = performance.now();
    await board.said("tapdeck: update: 0.1.2 was healthy for a minute, and is kept");
    print("an update that works, until it is kept", seconds(performance.now() - from));
    board.restarted();
    expect((await board.shell("tapdeck update --status </dev/null")).split("\n")).toEqual([
      `slot a: ${version}`,
      "slot b: 0.1.2, runs, is kept",
      "last: 0.1.2 was tried and kept",
    ]);
    const client = await board.client();
    const { checks } = await client.call("health");
    client.close();
    const sentences = checks.map(({ reason = "" }) => reason).join("\n");
    for (const words of ["no films are at /data/no-drive", "no server answers at", `; ${reader}`])
      expect(sentences).toContain(words);
    // Three updates have left backups: the one that the power cut ended, the one that hung, and the one that works. The
    // bundle itself is gone.
    const left = await board.shell(
      "cd /data/tapdeck && ls -1 backups/before-* update.bundle /data/state/update.fetched 2>/dev/null || true",
    );
    expect(left.split("\n")).toEqual([1, 2, 3].map((number) => `backups/before-update-${number}.tapdeck`));
    await board.shell("tapdeck call device.restart </dev/null");
    await board.said("Tapdeck: starting slot b", tries + 1);
    // The power is cut during that start. No system is tried after that.
    await board[Symbol.asyncDispose]();
    card.powerCycle(7);
    board = await startBoard({ card, loader: true, ...television });
    await board.pong();
    expect(board.console()).not.toContain("Tapdeck: starting slot a");
    expect(await board.shell("cat /etc/tapdeck-release")).toBe("Tapdeck 0.1.2");
  },
  restartsMs,
);

test(
  "the system from before an update comes back by --undo, and is kept after a healthy minute of its own",
  async () => {
    await using _film = filmed("update-undo");
    const tries = board.console().split("Tapdeck: starting slot a").length;
    await restarts("tapdeck update --undo", "Tapdeck: starting slot a", tries);
    await board.said(`tapdeck: update: ${version} was healthy for a minute, and is kept`);
    board.restarted();
    expect((await board.shell("tapdeck update --status </dev/null")).split("\n")).toEqual([
      `slot a: ${version}, runs, is kept`,
      "slot b: 0.1.2",
      `last: ${version} was tried and kept`,
    ]);
  },
  restartsMs,
);

// The installation, the trial and the return take minutes.
test.if(isThorough)(
  "an update whose service ends at once is given up, and the system before is back",
  async () => {
    await updates.make("dead", "0.1.3", { deadService: true });
    const [before, after] = ["Tapdeck: starting slot b", "tapdeck: fault: update-not-kept subject=0.1.3"];
    const tries = board.console().split(before).length;
    void board.shell(`tapdeck update ${updates.address("dead")} </dev/null`).catch(() => {}); // The command ends with the restart.
    await board.said(before, tries);
    const from = performance.now();
    await eventually(() => board.console().includes(after), 2 * patienceMs);
    print("an update without a service, until the system before is back", seconds(performance.now() - from));
    await board.pong();
    board.restarted();
    expect((await board.shell("tapdeck update --status </dev/null")).split("\n")).toEqual([
      `slot a: ${version}, runs, is kept`,
      "slot b: 0.1.3",
      "last: 0.1.3 was tried and not kept: it did not start, or was not healthy for a minute",
    ]);
  },
  restartsMs,
);

/**
 * Resolves with the faults of the board as soon as one of them has this code. The fault of the previous update, which a
 * restart ends, is left out.
 */
async function faultsOf(board: Board, code: string) {
  const client = await board.client();
  try {
    return await until(`a fault ${code}`, async () => {
      const { checks } = await client.call("health");
      const all = checks.flatMap(({ faults = [] }) => faults);
      const own = all.filter((one) => !["update-not-kept", "machine-reset"].includes(one.code));
      return own.some((one) => one.code === code) ? own : undefined;
    });
  } finally {
    client.close();
  }
}
