// Covers: src/media/scan/watch-job.ts.
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../../../../src/core/log.ts";
import { watchArgument, watchMedia } from "../../../../src/media/scan/indexer.ts";
import { mountsBelow } from "../../../../src/media/scan/watch-job.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { indexProgram, mediaTrial, pathsOf } from "../../../helpers/media.ts";
import { eventually, within } from "../../../helpers/processes.ts";

/** Longer than a burst of changes, and longer than the pause before a check for drives. */
const quietMs = 4000;

test("new files are found without being asked for, those of systems that live in one folder too", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/Old.sfc", "gb/Old.gb"]);
  await trial.media.index([]);
  using _ = watchMedia({ media: trial.media, folders: { roots: [trial.root], own: [] }, log: silentLog });
  // No event shows when the watches are set, so more files are made until one is found.
  let number = 0;
  await eventually(async () => {
    makeFiles(trial.root, [`SNES/New ${number++}.sfc`, `gb/deep/New ${number}.gbc`]);
    await Bun.sleep(quietMs);
    expect(pathsOf(trial.media, "new")).toContain("SNES/New 0.sfc");
  });
  expect(pathsOf(trial.media, "new")).toContain("GameboyColor/deep/New 1.gbc");
});

test("a folder that cannot be watched is reported in the log", async () => {
  await using trial = await mediaTrial();
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: string, sentence: string) => warned.push(sentence) };
  using _ = watchMedia({
    media: trial.media,
    folders: { roots: [join(trial.root, "nowhere")], own: [] },
    log,
  });
  await eventually(() => expect(warned.length).toBeGreaterThan(0));
  expect(warned[0]).toBe("changes are not seen");
});

test("a folder that appears later, as that of a drive does when it is plugged in, is indexed and watched then", async () => {
  await using trial = await mediaTrial();
  const drive = join(trial.root, "../drive");
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  using _ = watchMedia({ media, folders: { roots: [drive], own: [] }, log: silentLog });
  // The process looks for it from its start on, which has no event: the file is made again until it is found.
  await eventually(async () => {
    rmSync(drive, { recursive: true, force: true });
    await Bun.sleep(quietMs);
    makeFiles(drive, ["SNES/a.sfc"]);
    await Bun.sleep(quietMs);
    expect(asked.length).toBeGreaterThan(0);
  });
  expect(asked[0]).toEqual([]);
  makeFiles(drive, ["NES/b.nes"]);
  await eventually(() => expect(asked.flat()).toContain("NES"));
});

test("a drive that is plugged in below a folder is indexed and watched", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/.keep", "NES/.keep"]);
  const asked: (readonly string[])[] = [];
  const warned: string[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const go = join(trial.root, "../go");
  // In a name space of its own, it may mount at will.
  const script = `(while [ ! -e "$1" ]; do sleep 0.1; done; mount -t tmpfs none "$2/SNES") & exec "$3" "$4" ${watchArgument}`;
  const command = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    script,
    "sh",
    go,
    trial.root,
  ];
  using _ = watchMedia({
    media,
    folders: { roots: [trial.root], own: [] },
    log: { ...silentLog, warn: (_, sentence) => warned.push(sentence) },
    command: [...command, process.execPath, indexProgram],
  });
  let number = 0;
  await eventually(async () => {
    makeFiles(trial.root, [`NES/${number++}.nes`]);
    await Bun.sleep(quietMs);
    expect(asked.length).toBeGreaterThan(0);
  });
  await Bun.write(go, "");
  await eventually(() => expect(asked.flat()).toContain("SNES"));
  expect(warned).toEqual([]);
});

test("mount points are reported as the kernel lists them", () => {
  const list = String.raw`22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:17 / /media/card\040one rw - vfat /dev/sdb1 rw
31 22 8:33 / /media/card\040one/SNES rw - vfat /dev/sdc1 rw
32 22 8:49 / /media/card\040onefold rw - vfat /dev/sdd1 rw
`;
  expect(mountsBelow(list, "/media/card one")).toEqual(["/media/card one/SNES"]);
  expect(mountsBelow(list, "/")).toEqual(["/media/card one", "/media/card one/SNES", "/media/card onefold"]);
});

test("a change in the folder of one system is that system's", async () => {
  await using trial = await mediaTrial();
  const folder = join(trial.root, "../elsewhere");
  makeFiles(folder, ["a.sfc"]);
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const own = [{ system: "Super Nintendo", folder }];
  using _ = watchMedia({ media, folders: { roots: [], own }, log: silentLog });
  let number = 0;
  await eventually(async () => {
    makeFiles(folder, [`deep/b${number++}.sfc`]);
    await Bun.sleep(quietMs);
    expect(asked.length).toBeGreaterThan(0);
  });
  expect(asked[0]).toContain("SNES");
});

test("the process that watches ends with its service: when its standard input does", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/Old.sfc"]);
  const job = Bun.spawn([process.execPath, indexProgram, watchArgument], { stdin: "pipe", stdout: "ignore" });
  try {
    job.stdin.write(`${JSON.stringify({ folders: { roots: [trial.root], own: [] } })}\n`);
    await job.stdin.end();
    expect(await within("end of the process", job.exited)).toBe(0);
  } finally {
    job.kill("SIGKILL");
  }
});
