/** The file reader on real folders: paths that are no file, and folders that disappear. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { file } from "../../../drivers/file.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { readerFileBytesMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { eventually } from "../../helpers/processes.ts";

const context = { clock: systemClock, log: silentLog };

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-file-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function watched(
  path: string,
  run: (texts: readonly string[], ended: Promise<unknown>) => Promise<void>,
) {
  const ending = new AbortController();
  const session = await file.open(path, context, ending.signal);
  const texts: string[] = [];
  const watching = session.watch((present) => {
    texts.push(present.map(({ text }) => text).join());
  }, ending.signal);
  const ended = watching.then(
    () => "in peace",
    (error: unknown) => error,
  );
  await eventually(() => expect(texts.length).toBeGreaterThan(0));
  await run(texts, ended);
  ending.abort(new Error("the test ends"));
  await ended;
  await session.close();
}

const failure = (path: string) =>
  file.open(path, context, new AbortController().signal).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

test("a path that cannot be a card's file is refused with what to do", () =>
  withFolder(async (folder) => {
    expect(await failure("card")).toContain("whole path");
    expect(await failure("")).toContain("whole path");
    expect(await failure(join(folder, "none/card"))).toContain("make it first");
    expect(await failure(folder)).toContain("no file that can be read");
    const pipe = join(folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    expect(await failure(pipe)).toContain("no file that can be read");
  }));

test("a file that is moved into place is the card, and the one before it is not", () =>
  withFolder((folder) =>
    watched(join(folder, "card"), async (texts) => {
      for (const text of ["one", "two"]) {
        await writeFile(join(folder, "next"), text);
        await rename(join(folder, "next"), join(folder, "card"));
        await eventually(() => expect(texts.at(-1)).toBe(text));
      }
      expect(texts.filter((text, at) => text !== texts[at - 1])).toEqual(["", "one", "two"]);
    }),
  ));

test("a file larger than the limit, or no text, counts as no card, and the next content is read", () =>
  withFolder(async (folder) => {
    const path = join(folder, "card");
    await writeFile(path, "one");
    await watched(path, async (texts) => {
      for (const bad of [new Uint8Array(readerFileBytesMax + 1).fill(0x41), Uint8Array.of(0xff, 0xfe)]) {
        await eventually(() => expect(texts.at(-1)).toBe("one"));
        await writeFile(path, bad);
        await eventually(() => expect(texts.at(-1)).toBe(""));
        await writeFile(path, "one");
      }
      await eventually(() => expect(texts.at(-1)).toBe("one"));
    });
  }));

test("a folder that is taken away is a fault of the reader, and takes no card away", () =>
  withFolder(async (folder) => {
    const place = join(folder, "place");
    await mkdir(place);
    await writeFile(join(place, "card"), "one");
    await watched(join(place, "card"), async (texts, ended) => {
      await eventually(() => expect(texts.at(-1)).toBe("one"));
      await rename(place, join(folder, "away"));
      // The kernel reports a moved folder to watchers of its parent. In this case it reports the removed file.
      await rm(join(folder, "away"), { recursive: true });
      expect(String(await ended)).toContain("make it first");
      expect(texts.at(-1)).toBe("one");
    });
  }));
