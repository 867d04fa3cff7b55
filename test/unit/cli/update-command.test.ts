/** `tapdeck update` on a machine made of files: its writes, output and restarts, and the decision on a trial. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFile, lchown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArguments } from "../../../src/cli/arguments.ts";
import { runUpdate, type UpdateAction, type UpdateParts } from "../../../src/cli/update-command.ts";
import { type Fault, faultLine, faultOf } from "../../../src/core/faults.ts";
import { watchdogFaults } from "../../../src/system/machine-checks.ts";
import type { MachinePaths } from "../../../src/update/machine.ts";
import type { Rauc } from "../../../src/update/rauc.ts";
import { root } from "../../../tools/image/meta.ts";
import { run } from "../../../tools/image/run.ts";

let folder: string;
let writable: boolean[];
let restarts: string[];
/** The number of times that the boot partition is in use when it must become read-only. */
let busyLooks: number;
let said: string;
const at = (path: string) => join(folder, path);
const text = (path: string) => readFile(at(path), "utf8");

/** Makes RAUC's calls in its order. A bundle is a folder, and the file names its version and board. */
const rauc: Rauc = {
  async read(path) {
    const [version = "", board = ""] = (await readFile(path, "utf8")).split(" ");
    return { version, board, rootBytes: (await text("new/root.img")).length };
  },
  async install({ answer, wrote, facts }) {
    await answer(["pre-install"], at("new"));
    await answer(["set-state", "b", "bad"], "");
    await writeFile(at("slot-b.img"), await text("new/root.img"), { flag: "r+" });
    wrote(facts.rootBytes);
    await answer(["slot-install"], at("new"));
    await answer(["set-primary", "b"], "");
  },
  markGood: (running, answer) => answer(["set-state", running, "good"], ""),
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-update-"));
  [writable, restarts, said, busyLooks] = [[], [], "", 0];
  await put("cmdline", "quiet tapdeck.slot=a ro\n");
  await put("etc/tapdeck/board", "qemu\n");
  await put("etc/rauc/keyring.pem", "an authority\n");
  await put("etc/tapdeck-release", "Tapdeck 0.1.0\n");
  await put("boot/kept.env", "slot=a\nend=yes\n");
  await put("boot/slot-a/Image", "a kernel");
  await put("boot/slot-a/initrd", "helpers");
  await put("slot-a.img", "an old system");
  await put("slot-b.img", "\0".repeat(3 * 1024 * 1024));
  await put("new/boot/Image", "a new kernel");
  await put("new/boot/initrd", "new helpers");
  await put("new/boot/overlays/one.dtbo", "an overlay");
  await put("new/root.img", "a new system ".repeat(200_000));
  await mkdir(at("state"));
  const manifest = await run([
    join(root, "buildroot/board/common/slot-manifest"),
    ...["qemu", at("slot-a.img"), at("boot/slot-a")],
  ]);
  await put("boot/slot-a/manifest.json", manifest);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("a bundle is installed and the machine restarts; tried and healthy for a minute, it is kept; and there is a way back", async () => {
  await bundle("0.2.0");
  expect(await update({ kind: "install", path: at("bundle"), allowOlder: false })).toBe(0);
  expect(said.split("\n").filter((line) => line.includes("100 %"))).toEqual([
    "checking, 100 %",
    "writing, 100 %",
    "reading back, 100 %",
  ]);
  expect(said).toContain("installing 0.2.0\n");
  expect(said).toEndWith(
    "restarting: 0.2.0 is tried, and kept once it was healthy for a minute; else the version before comes back\n",
  );
  expect(restarts).toEqual(["tapdeck-reboot"]);
  expect(writable).toEqual([true, false]);
  expect((await text("slot-b.img")).startsWith(await text("new/root.img"))).toBe(true);
  expect(await text("boot/slot-b/overlays/one.dtbo")).toBe("an overlay");
  expect(await text("boot/trial.env")).toBe("tries=1\nslot=b\nend=yes\n");
  expect(await text("boot/kept.env")).toBe("slot=a\nend=yes\n");

  await startsFrom("b", "0.2.0");
  expect(await status()).toEqual([
    "slot a: 0.1.0, is kept",
    "slot b: 0.2.0, runs, is tried: it is kept once it was healthy for a minute",
    "last: 0.2.0 is being tried",
  ]);
  await expect(update({ kind: "install", path: at("bundle"), allowOlder: false })).rejects.toThrow(
    "itself being tried",
  );
  {
    await using service = serve(() => []);
    expect(await update({ kind: "confirm" }, { port: service.port })).toBe(0);
  }
  expect(await text("boot/kept.env")).toBe("slot=b\nend=yes\n");
  expect(await status()).toEqual([
    "slot a: 0.1.0",
    "slot b: 0.2.0, runs, is kept",
    "last: 0.2.0 was tried and kept",
  ]);

  expect(await update({ kind: "undo" })).toBe(0);
  expect(await text("boot/trial.env")).toBe("tries=1\nslot=a\nend=yes\n");
  expect(said).toContain("restarting: 0.1.0 is tried");
});

test.each([
  ["is free a moment later", 3, ""],
  ["stays busy", 100, "the boot partition stays writable until the restart: mount: /boot is busy"],
] as const)(
  "a boot partition that was busy at the end of an update kept it from its restart: it %s",
  async (_, looks, words) => {
    await bundle("0.2.0");
    busyLooks = looks;
    expect(await update({ kind: "install", path: at("bundle"), allowOlder: false })).toBe(0);
    expect(restarts).toEqual(["tapdeck-reboot"]);
    expect(writable.length).toBe(1 + Math.min(looks + 1, 10));
    expect(said).toContain(words);
    expect(said.includes("stays writable")).toBe(words !== "");
  },
);

test("the reason of a failed update was hidden by a boot partition that is busy", async () => {
  await bundle("0.2.0");
  await rm(at("new/root.img"));
  busyLooks = 100;
  await expect(update({ kind: "install", path: at("bundle"), allowOlder: false })).rejects.toThrow(/root/);
});

test("an update that failed after it was armed was tried at the next start, although it was reported as failed", async () => {
  await bundle("0.2.0");
  const failing: Rauc = {
    ...rauc,
    async install(installation) {
      await rauc.install(installation);
      expect(await text("boot/trial.env")).toContain("slot=b");
      throw new Error("the bundle could not be unmounted");
    },
  };
  const installed = update({ kind: "install", path: at("bundle"), allowOlder: false }, { rauc: failing });
  await expect(installed).rejects.toThrow("the bundle could not be unmounted");
  await expect(text("boot/trial.env")).rejects.toThrow("ENOENT");
  expect([writable, restarts]).toEqual([[true, false], []]);
});

test("a trial whose service never answers, or always complains, is not kept", async () => {
  await startsFrom("b", "0.2.0");
  await expect(update({ kind: "confirm" })).rejects.toThrow(
    "0.2.0 is not kept: it was not healthy for a minute (the service",
  );
  await using service = serve(() => [damaged]);
  await expect(update({ kind: "confirm" }, { port: service.port })).rejects.toThrow("(it is damaged)");
  expect(await text("boot/kept.env")).toBe("slot=a\nend=yes\n");
  expect(writable).toEqual([]);
});

const damaged = faultOf("database-failed", { why: "it is damaged" });
const full = faultOf("disk-full", { kib: "9000" });

test("a fault from before an update is no reason against it, whatever its figures and words are now, and a new one is", async () => {
  await bundle("0.2.0");
  let faults: readonly Fault[] = [full, faultOf("reader-failed", { subject: "/dev/x", why: "it is silent" })];
  await using service = serve(() => faults);
  await update({ kind: "install", path: at("bundle"), allowOlder: false }, { port: service.port });
  await startsFrom("b", "0.2.0");
  faults = [full, damaged];
  await expect(update({ kind: "confirm" }, { port: service.port })).rejects.toThrow("is not kept");
  faults = [faultOf("reader-failed", { subject: "/dev/y", why: "it is silent" })];
  await expect(update({ kind: "confirm" }, { port: service.port })).rejects.toThrow("(/dev/y: it is silent)");
  faults = [
    faultOf("disk-full", { kib: "8000" }),
    faultOf("reader-failed", { subject: "/dev/x", why: "other words" }),
  ];
  expect(await update({ kind: "confirm" }, { port: service.port })).toBe(0);
});

test("an update that was followed by fewer faults than before was not kept", async () => {
  await bundle("0.2.0");
  let faults: readonly Fault[] = [full, faultOf("update-not-kept", { subject: "0.1.9" })];
  await using service = serve(() => faults);
  await update({ kind: "install", path: at("bundle"), allowOlder: false }, { port: service.port });
  await startsFrom("b", "0.2.0");
  faults = [full];
  expect(await update({ kind: "confirm" }, { port: service.port })).toBe(0);
});

test("a service that the watchdog had to start again was unhealthy for a day, and its update not kept", async () => {
  await startsFrom("b", "0.2.0");
  const line =
    "event=restart time=1800000000 restarts=1 resets=0 why=the service did not answer 3 pings in a row";
  const faults = watchdogFaults(line, 1_800_000_000_000);
  expect(faultLine(faults)).toContain("3 pings");
  await using service = serve(() => faults);
  expect(await update({ kind: "confirm" }, { port: service.port })).toBe(0);
});

test("a service that was too busy to report its faults before an update is asked again", async () => {
  await bundle("0.2.0");
  let asked = 0;
  await using service = serve(
    () => [full],
    () => ++asked > 3,
  );
  await update({ kind: "install", path: at("bundle"), allowOlder: false }, { port: service.port });
  await startsFrom("b", "0.2.0");
  expect(await update({ kind: "confirm" }, { port: service.port })).toBe(0);
});

test("an update by its address is fetched, installed and removed", async () => {
  await bundle("0.2.0");
  const served = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) =>
      url.endsWith("/bundle") ? new Response(Bun.file(at("bundle"))) : new Response(null, { status: 404 }),
  });
  const install = (name: string) =>
    update({ kind: "install", path: `http://127.0.0.1:${served.port}/${name}`, allowOlder: false });
  await expect(install("gone")).rejects.toThrow("the server answered 404");
  expect(await install("bundle")).toBe(0);
  expect(said).toContain("fetching, 100 %\ninstalling 0.2.0\n");
  expect(await Bun.file(at("fetched")).exists()).toBe(false);
  await served.stop(true);
});

test.skipIf(process.getuid?.() !== 0)("a link or a pipe of another user is no update", async () => {
  await bundle("0.2.0");
  await mkdir(at("others"));
  await symlink(at("bundle"), at("others/link"));
  await run(["mkfifo", at("others/pipe")]);
  await copyFile(at("bundle"), at("others/file"));
  const install = (name: string) =>
    update({ kind: "install", path: at(`others/${name}`), allowOlder: false });
  for (const path of ["others", "others/link", "others/pipe", "others/file"])
    await lchown(at(path), 900, 900);
  for (const name of ["link", "pipe"])
    await expect(install(name)).rejects.toThrow(`${at(`others/${name}`)} is no file`);
  expect(await install("file")).toBe(0);
});

test("an older update, another board's, and any without an authority are refused before RAUC is asked to install", async () => {
  const install: UpdateAction = { kind: "install", path: at("bundle"), allowOlder: false };
  await bundle("0.0.9");
  await expect(update(install)).rejects.toThrow(
    "this update is version 0.0.9, older than the 0.1.0 that runs: --allow-older installs it all the same",
  );
  expect(writable).toEqual([]);
  expect(await update({ ...install, allowOlder: true })).toBe(0);
  await bundle("0.2.0", "pi4");
  await expect(update(install)).rejects.toThrow("this update is for the board pi4, and this one is qemu");
  await rm(at("etc/rauc/keyring.pem"));
  await expect(update(install)).rejects.toThrow("this system trusts nobody's updates");
});

test("the backup is made after the check of the bundle, and an update without one goes on", async () => {
  await bundle("0.2.0");
  const install: UpdateAction = { kind: "install", path: at("bundle"), allowOlder: false };
  await update(install, { keepBackup: async () => "before-update-1.tapdeck" });
  expect(said).toMatch(
    /checking, 100 %\nthe settings and cards are kept as before-update-1.tapdeck\nwriting, 100 %/,
  );
  await update(install, { keepBackup: () => Promise.reject(new Error("the card is full")) });
  expect(said).toContain("no backup was made before the update: the card is full\n");
});

test("a trial in which RAUC does not work is not kept", async () => {
  await startsFrom("b", "0.2.0");
  await using service = serve(() => []);
  const broken = { ...rauc, markGood: () => Promise.reject(new Error("RAUC is not there")) };
  await expect(update({ kind: "confirm" }, { port: service.port, rauc: broken })).rejects.toThrow(
    "RAUC is not there",
  );
  expect(await text("boot/kept.env")).toBe("slot=a\nend=yes\n");
});

test("nothing is confirmed where nothing is tried", async () => {
  expect(await update({ kind: "confirm" })).toBe(0);
  expect(writable).toEqual([]);
});

test("two updates at once are one too many, and a lock of the past is none", async () => {
  await bundle("0.2.0");
  await put("lock", `${process.pid}\n`);
  const install: UpdateAction = { kind: "install", path: at("bundle"), allowOlder: false };
  await expect(update(install)).rejects.toThrow(`another update is being installed (process ${process.pid})`);
  await put("lock", "4194305\n");
  expect(await update(install)).toBe(0);
});

test("a machine without slots, a missing file and a way back to nothing are sentences", async () => {
  await expect(update({ kind: "install", path: at("nothing"), allowOlder: false })).rejects.toThrow(
    "no such file",
  );
  await expect(update({ kind: "undo" })).rejects.toThrow("there is nothing to go back to");
  await rm(at("boot/kept.env"));
  await expect(update({ kind: "status" })).rejects.toThrow("does not say which slot starts");
  await put("cmdline", "quiet ro\n");
  await expect(update({ kind: "status" })).rejects.toThrow("this system does not update itself");
  expect(restarts).toEqual([]);
});

test("the words of the command are one file or one flag", () => {
  const actionOf = (...words: string[]) => {
    const asked = parseArguments(["update", ...words]);
    return asked.kind === "command" ? asked.update : undefined;
  };
  expect(actionOf("x.update")).toEqual({ kind: "install", path: "x.update", allowOlder: false });
  expect(actionOf("--allow-older", "x.update")).toEqual({
    kind: "install",
    path: "x.update",
    allowOlder: true,
  });
  expect(actionOf("--status")).toEqual({ kind: "status" });
  expect(actionOf("--undo")).toEqual({ kind: "undo" });
  for (const words of [[], ["x", "--undo"], ["--status", "--undo"], ["x", "y"], ["--allow-older"]])
    expect(() => actionOf(...words)).toThrow("use it as: tapdeck update FILE|URL | --status | --undo");
  expect(() => parseArguments(["--undo"])).toThrow("--undo belongs to a command");
});

async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(at(path)), { recursive: true });
  await writeFile(at(path), content);
}

async function bundle(version: string, board = "qemu"): Promise<void> {
  const script = join(root, "buildroot/board/common/slot-manifest");
  const manifest = await run([script, board, at("new/root.img"), at("new/boot")], {
    environment: { UPDATE_VERSION: version },
  });
  await put("new/slot.json", manifest);
  await put("bundle", `${version} ${board}`);
}

async function startsFrom(slot: string, version: string): Promise<void> {
  await put("cmdline", `tapdeck.slot=${slot}\n`);
  await put("etc/tapdeck-release", `Tapdeck ${version}\n`);
}

test("with --json each step and each slot is a line of JSON", async () => {
  await bundle("0.2.0");
  await update({ kind: "install", path: at("bundle"), allowOlder: false }, { json: true });
  const lines = () =>
    said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  expect(lines()).toContainEqual({ step: "reading back", percent: 100 });
  expect(lines()).toContainEqual({ installing: "0.2.0" });
  expect(lines().at(-1)).toEqual({ restarting: "0.2.0" });
  await expect(
    update({ kind: "install", path: at("none"), allowOlder: false }, { json: true }),
  ).rejects.toThrow();
  expect(lines().at(-1)).toEqual({ failed: `${at("none")}: there is no such file or folder` });
  said = "";
  await update({ kind: "status" }, { json: true });
  expect(lines()).toEqual([
    { slot: "a", version: "0.1.0", runs: true, isKept: true },
    { slot: "b", version: "0.2.0", runs: false, isKept: false },
    { last: { version: "0.2.0", event: "trying" } },
  ]);
});

async function status(): Promise<readonly string[]> {
  said = "";
  await update({ kind: "status" });
  return said.trim().split("\n");
}

/** Runs the update on a clock that advances at once while the update waits for it. */
function update(action: UpdateAction, parts: Partial<UpdateParts> = {}): Promise<number> {
  const paths: MachinePaths = {
    commandLine: at("cmdline"),
    settings: at("etc"),
    boot: at("boot"),
    note: at("state/update"),
    fetched: at("fetched"),
    partition: async (slot) => at(`slot-${slot}.img`),
    async allowWriting(allow) {
      writable.push(allow);
      if (!allow && busyLooks-- > 0) throw new Error("mount: /boot is busy");
    },
    forgetCaches: async () => {},
  };
  let nowMs = 0;
  return runUpdate(action, {
    screen: {
      isTerminal: false,
      write(line) {
        said += line;
      },
    },
    paths,
    rauc,
    port: 1, // No service listens on this port.
    restart: async (command) => void restarts.push(command.join(" ")),
    lockPath: at("lock"),
    time: {
      now: () => nowMs,
      async sleep(ms) {
        nowMs += ms;
      },
    },
    ...parts,
  });
}

/** Answers like the service, with these faults in `health`. */
function serve(faults: () => readonly Fault[], answers = () => true) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, own) =>
      answers() && own.upgrade(request) ? undefined : new Response("busy", { status: 503 }),
    websocket: {
      message(socket, text) {
        const checks = [{ name: "disk", ok: faults().length === 0, faults: faults() }];
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(String(text)).id, result: { checks } }));
      },
    },
  });
  return { port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}
