// Covers: src/media/scan/watch-folders.ts, drivers/io/inotify.ts.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openInotify as open } from "../../../../drivers/io/inotify.ts";
import { silentLog } from "../../../../src/core/log.ts";
import type { FolderEvent, OpenFolderWatches } from "../../../../src/core/operating-system.ts";
import { mountsBelow, watchMedia } from "../../../../src/media/scan/watch-folders.ts";
import { makeFiles } from "../../../helpers/library.ts";
import { mediaTrial, pathsOf } from "../../../helpers/media.ts";
import { eventually } from "../../../helpers/processes.ts";

/** This time is longer than a burst of changes, and longer than the pause before a check for drives. */
const quietMs = 4000;

test("new files are found without being asked for, those of systems that live in one folder too", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/Old.sfc", "gb/Old.gb"]);
  await trial.media.index([]);
  using _ = watchMedia({
    media: trial.media,
    folders: { roots: [trial.root], own: [] },
    log: silentLog,
    open,
  });
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
    open,
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
  using _ = watchMedia({ media, folders: { roots: [drive], own: [] }, log: silentLog, open });
  // The watch looks for the folder from its start on, and no event reports that start, so the file is made again until it
  // is found.
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

test("a media folder that was deleted and made again at once was not watched any more", async () => {
  await using trial = await mediaTrial();
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const { root } = trial;
  using _ = watchMedia({ media, folders: { roots: [root], own: [] }, log: silentLog, open });
  let number = 0;
  await eventually(async () => {
    makeFiles(root, [`SNES/${number++}.sfc`]);
    await Bun.sleep(quietMs);
    expect(asked.flat()).toContain("SNES");
  });
  const { ino } = statSync(root);
  // ext4 gives the same number to the next folder. On another file system the number may differ each time.
  for (let tries = 0; tries < 20; tries++) {
    rmSync(root, { recursive: true });
    mkdirSync(root);
    if (statSync(root).ino === ino) break;
  }
  // All systems are indexed, because the folder is another one.
  await eventually(() => expect(asked.at(-1)).toEqual([]));
  makeFiles(root, ["NES/b.nes"]);
  await eventually(() => expect(asked.flat()).toContain("NES"));
});

test("a drive that is plugged in below a folder is indexed and watched", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/.keep", "NES/.keep"]);
  const go = join(trial.root, "../go");
  // In a namespace of its own, the script may mount freely.
  const script =
    'wait_for() { while [ ! -e "$1" ]; do sleep 0.1; done; }; (wait_for "$1"; mount -t tmpfs none "$2/SNES"; wait_for "$1-on"; touch "$2/SNES/late.sfc") & exec "$3" "$4" "$2"';
  const program = join(import.meta.dir, "../../../programs/watching.ts");
  const inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"];
  const child = Bun.spawn([...inside, go, trial.root, process.execPath, program], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const asked: string[] = [];
  void (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) asked.push(...decoder.decode(bytes).split("\n").filter(Boolean));
  })();
  try {
    let number = 0;
    await eventually(async () => {
      makeFiles(trial.root, [`NES/${number++}.nes`]);
      await Bun.sleep(quietMs);
      expect(asked).toContain("NES");
    });
    // The watch asks once for the mount, and once for the file on it.
    const isAsked = (times: number) =>
      eventually(() => expect(asked.filter((one) => one === "SNES").length).toBe(times));
    await Bun.write(go, "");
    await isAsked(1);
    await Bun.write(`${go}-on`, "");
    await isAsked(2);
    expect(asked.filter((one) => one.startsWith("warning"))).toEqual([]);
  } finally {
    child.kill("SIGKILL");
  }
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
  using _ = watchMedia({ media, folders: { roots: [], own }, log: silentLog, open });
  let number = 0;
  await eventually(async () => {
    makeFiles(folder, [`deep/b${number++}.sfc`]);
    await Bun.sleep(quietMs);
    expect(asked.length).toBeGreaterThan(0);
  });
  expect(asked[0]).toContain("SNES");
});

test("folders that are moved, deleted and made again are watched where they are", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/a/deep/one.sfc", "NES/.keep"]);
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  using _ = watchMedia({ media, folders: { roots: [trial.root], own: [] }, log: silentLog, open });
  await eventually(async () => {
    makeFiles(trial.root, ["NES/one.nes"]);
    await Bun.sleep(quietMs);
    expect(asked.flat()).toContain("NES");
  });
  renameSync(join(trial.root, "SNES/a"), join(trial.root, "NES/a"));
  await eventually(() => expect(asked.at(-1)).toContain("SNES"));
  await Bun.sleep(quietMs);
  asked.length = 0;
  makeFiles(trial.root, ["NES/a/deep/two.nes"]);
  await eventually(() => expect(asked.flat()).toContain("NES"));
  expect(asked.flat()).not.toContain("SNES");
  rmSync(join(trial.root, "NES/a"), { recursive: true });
  await Bun.sleep(quietMs);
  asked.length = 0;
  makeFiles(trial.root, ["NES/a/deep/three.nes"]);
  await eventually(() => expect(asked.flat()).toContain("NES"));
  await Bun.sleep(quietMs);
  asked.length = 0;
  makeFiles(trial.root, ["NES/a/deep/four.nes"]);
  await eventually(() => expect(asked.flat()).toContain("NES"));
});

/** Watches that the test moves by hand: the paths by their numbers, and a way to report events. */
function handMade(most = Number.POSITIVE_INFINITY) {
  const paths = new Map<number, string>();
  let report: (events: readonly FolderEvent[]) => void = () => {};
  let next = 1;
  const openByHand: OpenFolderWatches = (onEvents) => {
    report = onEvents;
    return {
      add(path) {
        const known = [...paths].find(([, one]) => one === path)?.[0];
        if (known !== undefined) return known;
        if (paths.size >= most || !existsSync(path)) return undefined;
        paths.set(next, path);
        return next++;
      },
      remove: (watch) => void paths.delete(watch),
      close: () => paths.clear(),
    };
  };
  return { paths, open: openByHand, report: (event: FolderEvent) => report([event]) };
}

test("when the kernel has lost changes, everything is indexed and watched again", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/a.sfc"]);
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const hand = handMade();
  using _ = watchMedia({ media, folders: { roots: [trial.root], own: [] }, log: silentLog, open: hand.open });
  await eventually(() =>
    expect([...hand.paths.values()].sort()).toEqual([trial.root, join(trial.root, "SNES")]),
  );
  makeFiles(trial.root, ["NES/b.nes"]);
  hand.report({ kind: "overflow", watch: -1, name: "", isFolder: false });
  await eventually(() => expect(asked).toEqual([[]]));
  await eventually(() => expect([...hand.paths.values()]).toContain(join(trial.root, "NES")));
});

test("a new drive was indexed before it was watched, so a file that came in that moment was not found", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/a.sfc"]);
  const system = join(trial.root, "SNES");
  const deep = join(system, "deep");
  const hand = handMade();
  const watched = () => [...hand.paths.values()].sort();
  const watchedThen: string[][] = [];
  const media = {
    async index() {
      watchedThen.push(watched());
    },
  };
  using _ = watchMedia({ media, folders: { roots: [trial.root], own: [] }, log: silentLog, open: hand.open });
  await eventually(() => expect(watched()).toEqual([trial.root, system]));
  renameSync(trial.root, `${trial.root}-before`);
  makeFiles(trial.root, ["SNES/deep/a.sfc"]);
  const whole = [trial.root, system, deep];
  await eventually(() => expect(watchedThen).toEqual([whole]));
  hand.report({ kind: "overflow", watch: -1, name: "", isFolder: false });
  await eventually(() => expect(watchedThen).toEqual([whole, whole]));
});

test("a kernel without room for the watches is named in the log, and the first folders are watched all the same", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/a.sfc", "NES/b.nes"]);
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (_: string, __: string, facts?: object) => warned.push(facts) };
  const hand = handMade(1);
  const media = { async index() {} };
  using _ = watchMedia({ media, folders: { roots: [trial.root], own: [] }, log, open: hand.open });
  await eventually(() =>
    expect(warned).toEqual([
      { why: `${trial.root}: the kernel watches no more folders: see fs.inotify.max_user_watches` },
    ]),
  );
  expect(hand.paths.size).toBe(1);
});

test("the folder of one system below a root has one watch, which stays for one when the other goes", async () => {
  await using trial = await mediaTrial();
  makeFiles(trial.root, ["SNES/deep/a.sfc"]);
  const asked: (readonly string[])[] = [];
  const media = {
    async index(systems: readonly string[]) {
      asked.push(systems);
    },
  };
  const own = [{ system: "Genesis", folder: join(trial.root, "SNES") }];
  using _ = watchMedia({ media, folders: { roots: [trial.root], own }, log: silentLog, open });
  await eventually(async () => {
    makeFiles(trial.root, ["SNES/deep/b.sfc"]);
    await Bun.sleep(quietMs);
    expect(asked.flat()).toContain("Genesis");
  });
  expect(asked.flat()).toContain("SNES");
});
