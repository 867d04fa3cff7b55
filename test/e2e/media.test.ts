/** Media on the compiled binary: indexed at the first start, found, launched by title, and shown at the terminal. */
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { childrenOf } from "../bench/memory.ts";
import { eventually, eventuallyExists } from "../helpers/processes.ts";
import { indexMedia, makePlace, noReaders, program, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const config = noReaders + sleeper(".sfc", ".md");

async function makeLibrary() {
  const place = await makePlace(config);
  await place.file("SNES/Pokémon Puzzle (USA).sfc");
  await place.file("SNES/Shooters/Star Quest (Europe) (Rev 1).sfc");
  await place.file("Genesis/Star Quest II (Japan).md");
  return place;
}

test("media that are there at the first start are found a moment later, without a request", async () => {
  await using place = await makeLibrary();
  await using service = await startTapdeck(place);
  await service.heard.next("media.indexing", ({ indexing, exists }) => exists && !indexing);
  const { results, total } = await service.client.call("media.search", { query: "POKEMON" });
  expect([total, results[0]?.path]).toEqual([1, "SNES/Pokémon Puzzle (USA).sfc"]);
  expect(results[0]?.tags).toEqual([{ type: "region", tag: "usa" }]);
  const { systems } = await service.client.call("systems");
  expect(systems.map(({ id }) => id)).toEqual(["Genesis", "SNES"]);

  // From now on, new files are also found. No event shows when the watches are set, so some more files may be needed.
  let number = 0;
  await eventually(async () => {
    if (number < 3) await place.file(`SNES/New Game ${number++}.sfc`);
    await Bun.sleep(1000);
    expect((await service.client.call("media.search", { query: "new game" })).total).toBeGreaterThan(0);
  });
});

test("media that came while the service was off are found after the next start, and those that went are not", async () => {
  await using place = await makeLibrary();
  {
    await using service = await startTapdeck(place);
    await indexMedia(service.client);
  }
  await place.file("SNES/Filled On A Computer.sfc");
  await rm(join(place.folder, "media/Genesis"), { recursive: true });
  await using service = await startTapdeck(place);
  const totalOf = async (query: string) => (await service.client.call("media.search", { query })).total;
  expect(await totalOf("star")).toBe(2);
  await eventually(async () => expect(await totalOf("computer")).toBe(1));
  expect(await totalOf("star")).toBe(1);
});

test("a title that several files have is explained, and the owner's preferences settle it", async () => {
  await using place = await makePlace(
    `${config}\n[systems]\nprefer_regions = ["Europe"]\nfolders = { NES = ["/nowhere"] }\n`,
  );
  await place.file("SNES/Star Quest (USA).sfc");
  await place.file("SNES/Star Quest (Europe).sfc");
  await using service = await startTapdeck(place);
  await indexMedia(service.client);
  await service.client.call("launch", "@SNES/Star Quest");
  const { success, note } = await service.heard.next("launch.finished");
  expect({ success, note }).toEqual({
    success: true,
    note: "Star Quest is SNES/Star Quest (Europe).sfc, the best of 2 files of that title",
  });
});

test("titles, searches and random choices of a card start files of the index", async () => {
  await using place = await makeLibrary();
  await using service = await startTapdeck(place);
  await indexMedia(service.client);
  const started = async (script: string) => {
    await service.client.call("launch", script);
    const { error } = await service.heard.next("launch.finished", ({ text }) => text === script);
    return error ?? (await service.heard.next("media.started")).mediaName;
  };
  expect(await started("@SNES/star quest")).toBe("Star Quest (Europe) (Rev 1)");
  expect(await started("**launch.search:Genesis/star*")).toBe("Star Quest II (Japan)");
  expect(await started("**launch.random:SNES/Shooters")).toBe("Star Quest (Europe) (Rev 1)");
  expect(await started("@SNES/No Such Game")).toContain("there is no SNES/No Such Game");
  expect(await started("@NoSystem/Game")).toContain("NoSystem");
});

test("a search finds the new folders once they are named, and what was there before", async () => {
  await using place = await makeLibrary();
  await using service = await startTapdeck(place);
  await indexMedia(service.client);
  await place.file("drive/NES/Other.nes");
  const roots = [`${place.folder}/media`, `${place.folder}/media/drive`];
  await service.client.call("settings.update", { systems: { rootFolders: roots } });
  await eventually(async () =>
    expect((await service.client.call("media.search", { query: "other" })).total).toBe(1),
  );
  expect((await service.client.call("media.search", { query: "star" })).total).toBe(2);
});

test("a file whose name is not UTF-8 is found and started, and its player gets the very file", async () => {
  // The player may not write into the folder of `place`.
  const outFolder = mkdtempSync(join(tmpdir(), "tapdeck-odd-"));
  const out = join(outFolder, "out");
  const script = `(cat "$1"; echo "$1") > ${out}.new; mv ${out}.new ${out}; exec sleep 600`;
  await using place = await makePlace(`
[readers]
detect = false
[[launchers]]
id = "copier"
extensions = [".sfc"]
command = ${JSON.stringify(["/bin/sh", "-c", script, "sh", "{path}"])}
`);
  await place.file("SNES/plain.sfc");
  for (const [name, content] of [
    ["Caf\xe9 Racer.sfc", "racer"],
    ["\xffold/Caf\xea.sfc", "deep"],
  ] as const) {
    const path = Buffer.from(`${place.folder}/media/SNES/${name}`, "latin1");
    mkdirSync(path.subarray(0, path.lastIndexOf(0x2f)), { recursive: true });
    writeFileSync(path, content);
  }
  await using service = await startTapdeck(place);
  await indexMedia(service.client);
  for (const [query, content] of [
    ["racer", "racer"],
    ["caf\ufffd", "deep"],
  ] as const) {
    const { results } = await service.client.call("media.search", { query });
    const [one] = results.filter(({ path }) => path.includes("old") === (content === "deep"));
    await service.client.call("launch", one?.zapScript ?? "");
    const { success, error } = await service.heard.next("launch.finished");
    expect([success, error]).toEqual([true, undefined]);
    await eventuallyExists(out);
    const [written = ""] = readFileSync(out, "utf8").split("\n");
    expect(written).toStartWith(content);
    const link = written.slice(content.length);
    expect(basename(link)).toBe(content === "deep" ? "Caf_.sfc" : "Caf_ Racer.sfc");
    await service.client.call("stop");
    // Nothing is left of the link.
    await eventually(() => expect(readdir(dirname(link))).rejects.toThrow("ENOENT"));
    await rm(out);
  }
  await rm(outFolder, { recursive: true });
});

test("tapdeck index follows the run that is under way, and finds what came behind its back", async () => {
  await using place = await makeLibrary();
  for (let number = 0; number < 500; number++) await place.file(`SNES/Many ${number}.sfc`);
  await using service = await startTapdeck(place);
  let held: number | undefined;
  let run = Promise.resolve<unknown>(null);
  await eventually(async () => {
    // An index run that ended too soon is started again, with a new file to find.
    if (!(await service.client.call("media")).database.indexing) {
      await place.file(`NES/${crypto.randomUUID()}.nes`);
      run = service.client.call("media.index").catch(() => null);
    }
    held = childrenOf(service.pid).find(isIndexJob);
    if (held === undefined) throw new Error("no process of an index run");
    process.kill(held, "SIGSTOP");
    expect((await service.client.call("media")).database.indexing).toBe(true);
  });
  await place.file("Genesis/Late.md");
  const index = Bun.spawn([program, "index", `--data=${place.folder}`], { stdout: "pipe", stderr: "pipe" });
  const refused = await service.client.call("media.index").catch((error: unknown) => String(error));
  expect(refused).toContain("being indexed already");
  // The command asked for a run, was refused like the call above, and waits now.
  const first = await Promise.race([index.exited, Bun.sleep(1000)]);
  expect(first).toBeUndefined();
  if (held !== undefined) process.kill(held, "SIGCONT");
  await run;
  expect([await index.exited, await new Response(index.stderr).text()]).toEqual([0, ""]);
  expect((await new Response(index.stdout).text()).trim().split("\n").at(-1)).toMatch(/^\d+ files$/);
  expect((await service.client.call("media.search", { query: "late" })).total).toBe(1);
});

test("tapdeck index and tapdeck search tell in plain lines what they do", async () => {
  await using place = await makeLibrary();
  await using _service = await startTapdeck(place);
  const run = (...words: string[]) => Bun.spawnSync([program, ...words, `--data=${place.folder}`]);
  const index = run("index");
  expect(index.exitCode).toBe(0);
  expect(index.stdout.toString().trim().split("\n").at(-1)).toBe("3 files");
  const search = run("search", "star", "quest");
  expect(search.stdout.toString().trim().split("\n").toSorted()).toEqual([
    "Genesis/Star Quest II (Japan).md",
    "SNES/Shooters/Star Quest (Europe) (Rev 1).sfc",
  ]);
  expect(run("search", "nothing-like-it").stdout.toString()).toContain("Nothing fits");
  expect(run("index", "NoSuch").stderr.toString()).toContain("NoSuch");
});

function isIndexJob(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("\0index-job\0");
  } catch {
    // The process has ended.
    return false;
  }
}
