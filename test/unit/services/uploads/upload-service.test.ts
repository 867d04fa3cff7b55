/** Moves and deletions of media files over the API, against real folders. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MethodCaller } from "../../../../src/api/connection.ts";
import { createBus } from "../../../../src/bus.ts";
import { silentLog } from "../../../../src/core/log.ts";
import type { MediaFolders } from "../../../../src/core/media.ts";
import { createUploadService } from "../../../../src/services/uploads/upload-service.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

const owner: MethodCaller = {
  access: "device",
  from: { address: "127.0.0.1" },
  grant: () => "own",
  gone: () => new AbortController().signal,
};

/** A service of these folders without an index; `move` hears of each favourite whose file was moved. */
function serviceFor(folders: MediaFolders, move: (...names: readonly string[]) => unknown = () => {}) {
  return createUploadService({
    media: { bases: () => [], index: async () => {} },
    folders: () => folders,
    config: () => ({ launchers: [] }),
    favourites: { move, remove() {} },
    bus: createBus(silentLog),
    clock: createManualClock(),
    log: silentLog,
  });
}

test("of several moves onto one name the first succeeds, and no content is lost", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-moves-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(folder, { recursive: true }));
  const root = join(folder, "media");
  const systems = ["PSX", "SegaCD", "Dreamcast"];
  for (const system of systems) {
    await mkdir(join(root, system), { recursive: true });
    await writeFile(join(root, system, "Game.chd"), system);
  }
  const folders: MediaFolders = {
    roots: [root],
    own: [],
    closed: { folders: [folder], files: [], open: root },
  };
  const followed: string[] = [];
  const service = serviceFor(folders, (...move) => followed.push(move.join(" ")));
  made.defer(() => service.close());
  const moves = systems.map((system) => service.move(`${system}/Game.chd`, "Saturn", owner));
  const results = await Promise.allSettled(moves);
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const contents = [];
  for (const system of await readdir(root))
    for (const name of await readdir(join(root, system)))
      contents.push(await readFile(join(root, system, name), "utf8"));
  expect(contents.sort()).toEqual(systems.toSorted());
  expect(followed).toEqual([expect.stringMatching(/^\w+\/Game\.chd Saturn\/Game\.chd Saturn$/)]);
});

test("the key and the connection of an upload that was replaced stayed in memory", async () => {
  const root = await mkdtemp(join(tmpdir(), "tapdeck-replaced-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(root, { recursive: true }));
  const service = serviceFor({ roots: [root], own: [] });
  made.defer(() => service.close());
  const member = {
    ...owner,
    from: { address: "192.168.1.2", client: "anna" },
    grant: () => "change" as const,
  };
  const ids: string[] = [];
  for (let size = 1; size <= 5; size++)
    ids.push((await service.start({ system: "SNES", path: "Game.sfc", size, replace: false }, member)).id);
  expect(ids.map(service.clientOf)).toEqual([undefined, undefined, undefined, undefined, "anna"]);
});

test("a member is revoked while its upload is checked, and the file becomes media all the same", async () => {
  const root = await mkdtemp(join(tmpdir(), "tapdeck-revoked-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(root, { recursive: true }));
  const service = serviceFor({ roots: [root], own: [] });
  made.defer(() => service.close());
  let grant: "change" | "none" = "change";
  const from = { address: "192.168.1.2", client: "anna" };
  const member: MethodCaller = {
    access: "remote",
    from,
    grant: () => grant,
    gone: () => new AbortController().signal,
  };
  const { id } = await service.start({ system: "SNES", path: "Game.sfc", size: 0, replace: false }, member);
  const finished = service.finish(id, new Bun.CryptoHasher("sha256").digest("hex"), member);
  grant = "none";
  await expect(finished).rejects.toMatchObject({ code: "forbidden" });
  expect(await readdir(root)).not.toContain("SNES");
});

test("a deletion that was sent twice took another file, whose name differs in capitals or accents only", async () => {
  const root = await mkdtemp(join(tmpdir(), "tapdeck-spelt-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(root, { recursive: true }));
  const service = serviceFor({ roots: [root], own: [] });
  made.defer(() => service.close());
  // The system's id is not the name of its folder.
  const folder = join(root, "Super Famicom");
  await mkdir(folder);
  for (const [name, other] of [
    ["Game.sfc", "game.sfc"],
    ["Pok\u00e9.sfc", "Poke\u0301.sfc"],
  ] as const) {
    for (const file of [name, other]) await writeFile(join(folder, file), file);
    await service.remove(`SNES/${name}`);
    await expect(service.remove(`SNES/${name}`)).rejects.toMatchObject({ code: "not-found" });
    await expect(service.move(`SNES/${name}`, "Satellaview", owner)).rejects.toMatchObject({
      code: "not-found",
    });
    expect(await readdir(folder)).toEqual([other]);
    await service.remove(`SNES/${other}`);
  }
});

test("the deletion of a link took the file of another entry", async () => {
  const root = await mkdtemp(join(tmpdir(), "tapdeck-links-"));
  await using made = new AsyncDisposableStack();
  made.defer(() => rm(root, { recursive: true }));
  const service = serviceFor({ roots: [root], own: [] });
  made.defer(() => service.close());
  await mkdir(join(root, "SNES/Best"), { recursive: true });
  await writeFile(join(root, "SNES/Game.sfc"), "x");
  const odd = Buffer.concat([
    Buffer.from(join(root, "SNES/Best/")),
    Buffer.from([0xff, 0x2e, 0x73, 0x66, 0x63]),
  ]);
  for (const link of [join(root, "SNES/Best/Game.sfc"), odd]) await symlink("../Game.sfc", link);
  await expect(service.move("SNES/Best/Game.sfc", "SNESMSU1", owner)).rejects.toMatchObject({
    message: "SNES/Best/Game.sfc is a link to another file: move that file",
  });
  await service.remove("SNES/Best/Game.sfc");
  await service.remove("SNES/Best/\ufffd.sfc");
  expect(await readdir(join(root, "SNES/Best"))).toEqual([]);
  expect(await readFile(join(root, "SNES/Game.sfc"), "utf8")).toBe("x");
  await symlink("nowhere", join(root, "SNES/Broken.sfc"));
  await expect(service.remove("SNES/Broken.sfc")).rejects.toMatchObject({ code: "not-found" });
});
