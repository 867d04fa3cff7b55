/** Names, places and offsets of uploads, against real folders. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, ServiceError } from "../../../../src/core/errors.ts";
import {
  uploadChunkBytesMax,
  uploadFreeBytesMin,
  uploadKeptMs,
  uploadsMax,
  uploadsPerClientMax,
} from "../../../../src/core/limits.ts";
import { uploadsFolder } from "../../../../src/core/media.ts";
import type { Pieces } from "../../../../src/services/uploads/upload-files.ts";
import { pathFault } from "../../../../src/services/uploads/upload-place.ts";
import { createUploads } from "../../../../src/services/uploads/uploads.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

let folder: string;
let root: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-uploads-"));
  root = join(folder, "media");
  await mkdir(join(root, "SNES"), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const clock = createManualClock(Date.now());
/** The uploads of a service that has just started. */
const begin = (own: readonly { system: string; folder: string }[] = [], isIndexed = false) =>
  createUploads({
    folders: () => ({ roots: [root], own, closed: { folders: [folder], files: [], open: root } }),
    isIndexed: () => isIndexed,
    clock,
  });
const anyStart = () => {};
const wanted = (path: string, size = 10, system = "SNES") => ({
  system,
  path,
  size,
  replace: false,
  sender: "",
});
const pieces = (...parts: readonly Uint8Array[]): Pieces =>
  async function* () {
    yield* parts;
  };
const bytesOf = (count: number, value = 7) => new Uint8Array(count).fill(value);
const sum = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const never = new AbortController().signal;
const refusal = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => "accepted",
    (error: unknown) => (error instanceof ServiceError ? error.message : error),
  );

test("a start of a larger file that was refused took away the unfinished upload of its name", async () => {
  const uploads = begin();
  const first = await uploads.start({ ...wanted("Game.sfc", 10), sender: "anna" });
  await uploads.write(first.id, 0, pieces(bytesOf(4)), never);
  for (const sender of ["anna", ""])
    expect(await refusal(uploads.start({ ...wanted("Game.sfc", 2 ** 52), sender }))).toContain("room");
  expect(await uploads.start({ ...wanted("Game.sfc", 10), sender: "anna" })).toMatchObject({
    id: first.id,
    offset: 4,
  });
  // A smaller one takes its place.
  expect((await uploads.start({ ...wanted("Game.sfc", 5), sender: "anna" })).id).not.toBe(first.id);
  expect(uploads.has(first.id)).toBe(false);
});

test("a name that leaves the folder, or that FAT cannot store, has a fault with a sentence", () => {
  const bad = [
    "",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a/./x",
    "a//x",
    "a/",
    "..",
    "a\0b",
    "a\nb",
    "a\u007fb",
    "a\u0085b",
    ".hidden",
    `${uploadsFolder}/x`,
    "a/.tapdeckignore",
    "a\\b",
    "C:x",
    "a?b",
    'a"b',
    "a<b",
    "a|b",
    "a*b",
    "x.",
    "x ",
    "a /x",
    "CON",
    "con.txt",
    "a/LPT1",
    "nul.tar.gz",
    "\ud800",
    "a\ufffdb",
    "x".repeat(256),
    "é".repeat(128),
    Array.from({ length: 65 }, () => "a").join("/"),
    `${"a/".repeat(20)}${"x".repeat(250)}/`.repeat(20),
  ];
  for (const path of bad)
    expect([path, pathFault(path)]).toEqual([path, expect.stringMatching(/\w+ \w+ \w+/)]);
  const good = [
    "x",
    "A/B/Game (USA) [!].sfc",
    "ドラゴン.sfc",
    "console.txt",
    "com10",
    "é".repeat(127),
    "a..b",
    "~",
    "{x}",
    "a'b",
  ];
  for (const path of good) expect([path, pathFault(path)]).toEqual([path, undefined]);
});

test("an upload is a hidden file until it is finished, in the existing folder of its system", async () => {
  const uploads = begin();
  const upload = await uploads.start(wanted("RPG/Game.sfc", 10, "supernintendo"));
  expect((await readdir(root)).sort()).toEqual([uploadsFolder, "SNES"]);
  expect(await uploads.write(upload.id, 0, pieces(bytesOf(4), bytesOf(2)), never)).toBe(6);
  expect(upload.offset).toBe(6);
  // The end comes too early, and then a piece has the wrong offset.
  expect(await refusal(uploads.finish(upload.id, sum(bytesOf(10)), anyStart))).toBe(
    "4 bytes are missing: send them",
  );
  expect(await uploads.write(upload.id, 4, pieces(bytesOf(4)), never)).toBeUndefined();
  expect(await uploads.write(upload.id, 6, pieces(bytesOf(4)), never)).toBe(10);
  expect(await readdir(join(root, "SNES"))).toEqual([]);
  await uploads.finish(upload.id, sum(bytesOf(10)), anyStart);
  expect(new Uint8Array(await readFile(join(root, "SNES/RPG/Game.sfc")))).toEqual(bytesOf(10));
  expect(await readdir(root)).toEqual(["SNES"]);
  expect(await uploads.list()).toEqual([]);
});

test("a folder of the system is made in the first media folder, and an empty file is a file", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Empty.md", 0, "Genesis"));
  await uploads.finish(id, sum(bytesOf(0)), anyStart);
  expect(await readdir(join(root, "Genesis"))).toEqual(["Empty.md"]);
  const elsewhere = join(folder, "media/Films");
  await mkdir(elsewhere);
  const own = begin([{ system: "Video", folder: elsewhere }]);
  await own.finish((await own.start(wanted("Film.mkv", 0, "Video"))).id, sum(bytesOf(0)), anyStart);
  expect(await readdir(elsewhere)).toEqual(["Film.mkv"]);
});

test("bytes beyond the file or one PUT are refused, and those before them count", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc", 10));
  expect(await refusal(uploads.write(id, 0, pieces(bytesOf(8), bytesOf(3)), never))).toContain(
    "more bytes came",
  );
  expect((await uploads.list())[0]?.offset).toBe(8);
  const large = await uploads.start(wanted("Large.sfc", 3 * uploadChunkBytesMax));
  const most = pieces(bytesOf(uploadChunkBytesMax), bytesOf(1));
  expect(await refusal(uploads.write(large.id, 0, most, never))).toContain("more bytes came");
  expect(large.offset).toBe(uploadChunkBytesMax);
});

test("a file whose hash differs begins again, and can be finished then", async () => {
  const uploads = begin();
  const upload = await uploads.start(wanted("Game.sfc"));
  await uploads.write(upload.id, 0, pieces(bytesOf(10, 1)), never);
  const failure = await uploads
    .finish(upload.id, sum(bytesOf(10)), anyStart)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "failed", data: { offset: 0 } });
  expect(upload.offset).toBe(0);
  await uploads.write(upload.id, 0, pieces(bytesOf(10)), never);
  await uploads.finish(upload.id, sum(bytesOf(10)), anyStart);
  expect(await readdir(join(root, "SNES"))).toEqual(["Game.sfc"]);
});

test("an upload continues after a restart of the service, at its last byte", async () => {
  const before = begin();
  const { id } = await before.start(wanted("Game.sfc"));
  await before.write(id, 0, pieces(bytesOf(6)), never);
  const uploads = begin();
  expect(await uploads.list()).toMatchObject([{ id, system: "SNES", path: "Game.sfc", size: 10, offset: 6 }]);
  const again = await uploads.start(wanted("Game.sfc"));
  expect(again).toMatchObject({ id, offset: 6 });
  await uploads.write(id, 6, pieces(bytesOf(4)), never);
  await uploads.finish(id, sum(bytesOf(10)), anyStart);
  expect(await readdir(root)).toEqual(["SNES"]);
});

test("after another start of the machine, the end that may be torn is sent again", async () => {
  const before = begin();
  const size = 40 * uploadChunkBytesMax;
  const { id } = await before.start(wanted("Film.sfc", size));
  for (let at = 0; at < 30 * uploadChunkBytesMax; at += uploadChunkBytesMax)
    await before.write(id, at, pieces(bytesOf(uploadChunkBytesMax)), never);
  await before.close();
  const facts = join(root, uploadsFolder, `${id}.json`);
  await writeFile(facts, (await readFile(facts, "utf8")).replace(/"boot":"[^"]+"/, '"boot":"another"'));
  const uploads = begin();
  expect(await uploads.list()).toMatchObject([{ id, offset: 12 * uploadChunkBytesMax }]);
  expect(Bun.file(join(root, uploadsFolder, `${id}.part`)).size).toBe(12 * uploadChunkBytesMax);
});

test("leftovers that are too old, torn or forged are removed or ignored", async () => {
  const uploads = begin();
  const old = await uploads.start(wanted("Old.sfc"));
  const torn = await uploads.start(wanted("Torn.sfc"));
  const forged = await uploads.start(wanted("Forged.sfc"));
  const outside = await uploads.start(wanted("Outside.sfc"));
  const store = join(root, uploadsFolder);
  const long = (clock.now() - uploadKeptMs - 1000) / 1000;
  await utimes(join(store, `${old.id}.part`), long, long);
  await writeFile(join(store, `${torn.id}.json`), "");
  await rm(join(store, `${forged.id}.part`));
  await writeFile(join(folder, "secret"), "x");
  await symlink(join(folder, "secret"), join(store, `${forged.id}.part`));
  const facts = join(store, `${outside.id}.json`);
  await writeFile(facts, (await readFile(facts, "utf8")).replace("Outside.sfc", "../../secret"));
  expect(await begin().list()).toEqual([]);
  expect((await readdir(store)).sort()).toEqual([`${outside.id}.json`, `${outside.id}.part`].sort());
  expect(await readFile(join(folder, "secret"), "utf8")).toBe("x");
});

test("an existing file is refused, or replaced on request", async () => {
  await writeFile(join(root, "SNES/Game.sfc"), "old");
  const uploads = begin();
  const refused = await uploads.start(wanted("Game.sfc")).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "conflict", data: { exists: true } });
  const upload = await uploads.start({ ...wanted("Game.sfc"), replace: true });
  await uploads.write(upload.id, 0, pieces(bytesOf(10)), never);
  expect(await readFile(join(root, "SNES/Game.sfc"), "utf8")).toBe("old");
  await uploads.finish(upload.id, sum(bytesOf(10)), anyStart);
  expect(new Uint8Array(await readFile(join(root, "SNES/Game.sfc")))).toEqual(bytesOf(10));
  // Another file has taken the place meanwhile.
  const late = await uploads.start(wanted("Late.sfc", 0));
  await writeFile(join(root, "SNES/Late.sfc"), "first");
  expect(await refusal(uploads.finish(late.id, sum(bytesOf(0)), anyStart))).toContain("there already");
  expect(await readFile(join(root, "SNES/Late.sfc"), "utf8")).toBe("first");
});

test("nothing is written through a link, over a folder, or into Tapdeck's own files", async () => {
  const outside = join(folder, "outside");
  await mkdir(outside);
  await symlink(outside, join(root, "SNES/Link"));
  await symlink(join(outside, "file"), join(root, "SNES/Game.sfc"));
  await symlink(outside, join(root, "NES"));
  await mkdir(join(root, "SNES/Folder.sfc"));
  await writeFile(join(root, "SNES/File"), "x");
  const uploads = begin();
  for (const path of ["Link/x.sfc", "Game.sfc", "Folder.sfc", "File/x.sfc"])
    expect([path, await refusal(uploads.start(wanted(path)))]).toEqual([
      path,
      expect.stringContaining("is there already"),
    ]);
  // A link in the place of a system's folder does not count as the folder, and stays unchanged.
  expect(await refusal(uploads.start(wanted("x.nes", 0, "NES")))).toContain("is there already");
  const late = await uploads.start(wanted("Late/x.sfc", 0));
  await symlink(outside, join(root, "SNES/Late"));
  expect(await refusal(uploads.finish(late.id, sum(bytesOf(0)), anyStart))).toContain("is there already");
  expect(await readdir(outside)).toEqual([]);
  const own = begin([{ system: "NES", folder }]);
  expect(await refusal(own.start(wanted("config.toml", 1, "NES")))).not.toBe("accepted");
});

test("an unknown system, an unplugged drive, too many uploads and a full disk are refused with a sentence", async () => {
  const uploads = begin();
  expect(await refusal(uploads.start(wanted("x", 1, "SNAS")))).toContain("there is no system SNAS");
  expect(await refusal(uploads.start(wanted("x", 2 ** 52)))).toContain("the disk has no room");
  expect(await uploads.freeBytes()).toBeGreaterThan(uploadFreeBytesMin);
  for (let n = 0; n < uploadsMax; n++) await uploads.start(wanted(`${n}.sfc`));
  const full = await uploads.start(wanted("more.sfc")).catch((error: unknown) => error);
  expect(full).toMatchObject({ code: "busy", data: { limit: "uploadsMax" } });
  const [first] = await uploads.list();
  await uploads.cancel(first?.id ?? "");
  await uploads.start(wanted("more.sfc"));
  await rm(root, { recursive: true });
  await mkdir(root);
  expect(await refusal(begin([], true).start(wanted("x")))).toContain("its drive may not be plugged in");
});

test("two spellings of one name on FAT are one file, and another size begins again", async () => {
  const uploads = begin();
  const first = await uploads.start(wanted("Pokémon.sfc"));
  for (const path of ["POKÉMON.sfc", "Poke\u0301mon.sfc"])
    expect(await refusal(uploads.start(wanted(path)))).toContain("differs in capitals or accents only");
  await uploads.write(first.id, 0, pieces(bytesOf(4)), never);
  const other = await uploads.start(wanted("Pokémon.sfc", 20));
  expect(other).toMatchObject({ offset: 0, size: 20 });
  expect(other.id).not.toBe(first.id);
  expect(await refusal(uploads.write(first.id, 4, pieces(), never))).toContain("there is no such upload");
});

test("a newer write takes over from one that hangs", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  const written = Promise.withResolvers<void>();
  const hanging: Pieces = async function* (signal) {
    yield bytesOf(3);
    written.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  const first = uploads.write(id, 0, hanging, never).catch(messageOf);
  await written.promise;
  expect(await uploads.write(id, 3, pieces(bytesOf(7)), never)).toBe(10);
  expect(await first).toContain("another connection continues this upload");
  await uploads.finish(id, sum(bytesOf(10)), anyStart);
});

test("two connections that continued an upload at once both wrote, and damaged it", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  const asked = [1, 2, 3].map(() => refusal(uploads.write(id, 0, pieces(bytesOf(4), bytesOf(6)), never)));
  expect(await Promise.all(asked)).toEqual([
    "another connection continues this upload",
    "another connection continues this upload",
    "accepted",
  ]);
  await uploads.finish(id, sum(bytesOf(10)), anyStart);
  expect(await readFile(join(root, "SNES/Game.sfc"))).toEqual(Buffer.from(bytesOf(10)));
});

const dataOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => "accepted",
    (error: unknown) => (error instanceof ServiceError ? [error.code, error.data?.limit] : error),
  );

test("one client has a quarter of the places, and the others keep theirs", async () => {
  const uploads = begin();
  const by = (sender: string, path: string) => uploads.start({ ...wanted(path), sender });
  for (let n = 0; n < uploadsPerClientMax; n++) await by("anna", `${n}.sfc`);
  expect(await dataOf(by("anna", "more.sfc"))).toEqual(["busy", "uploadsPerClientMax"]);
  // An upload of the same client continues.
  expect(await dataOf(by("anna", "0.sfc"))).toBe("accepted");
  expect(await dataOf(by("berta", "more.sfc"))).toBe("accepted");
  // The places are counted again after a restart.
  const later = begin();
  expect(await dataOf(later.start({ ...wanted("x.sfc"), sender: "anna" }))).toEqual([
    "busy",
    "uploadsPerClientMax",
  ]);
  await later.cancel((await later.start({ ...wanted("0.sfc"), sender: "anna" })).id);
  expect(await dataOf(later.start({ ...wanted("x.sfc"), sender: "anna" }))).toBe("accepted");
});

test("the unfinished uploads of one client take half of the room, those of an owner all of it", async () => {
  const uploads = begin([{ system: "NES", folder: root }]);
  const free = await uploads.freeBytes();
  const by = (sender: string, path: string, part: number, system = "SNES") =>
    dataOf(uploads.start({ ...wanted(path, Math.floor(free * part), system), sender }));
  const full = ["busy", "uploadRoomPerClient"];
  expect(await by("anna", "a.sfc", 0.55)).toEqual(full);
  expect(await by("anna", "a.sfc", 0.3)).toBe("accepted");
  // The limit also counts in the own folder of another system on the same disk.
  expect(await by("anna", "b.nes", 0.25, "NES")).toEqual(full);
  expect(await by("berta", "b.sfc", 0.3)).toBe("accepted");
  expect(await by("", "owner.sfc", 0.9)).toBe("accepted");
});

test("a client neither continues nor replaces the upload of another one, and an owner does both", async () => {
  const uploads = begin();
  const by = (sender: string, size = 10) => uploads.start({ ...wanted("Game.sfc", size), sender });
  const { id } = await by("anna");
  for (const size of [10, 20]) expect(await dataOf(by("berta", size))).toEqual(["forbidden", undefined]);
  expect(await uploads.list()).toMatchObject([{ id, size: 10, sender: "anna" }]);
  expect((await begin().list()).map(({ sender }) => sender)).toEqual(["anna"]);
  expect((await by("")).id).toBe(id);
  expect((await by("", 20)).id).not.toBe(id);
});

test("no byte changes between the check of the first bytes and the rename", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  await uploads.write(id, 0, pieces(bytesOf(10)), never);
  const seen: unknown[] = [];
  const check = (start: Uint8Array) => {
    seen.push(start[0]);
    seen.push(uploads.write(id, 10, pieces(bytesOf(0)), never).catch((error: unknown) => messageOf(error)));
    // With a wrong hash, the upload of the file would begin again.
    seen.push(refusal(uploads.finish(id, sum(bytesOf(1)), anyStart)));
  };
  await uploads.finish(id, sum(bytesOf(10)), check);
  expect(await Promise.all(seen)).toEqual([
    7,
    "this upload is being finished",
    expect.stringContaining("there is no such upload"),
  ]);
  expect(await readFile(join(root, "SNES/Game.sfc"))).toEqual(Buffer.from(bytesOf(10)));
});

test("a file that the check refuses stays out of sight, and may be cancelled", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  await uploads.write(id, 0, pieces(bytesOf(10)), never);
  const refuse = () => {
    throw new ServiceError("forbidden", "no");
  };
  expect(await refusal(uploads.finish(id, sum(bytesOf(10)), refuse))).toBe("no");
  expect(await readdir(join(root, "SNES"))).toEqual([]);
  await uploads.cancel(id);
});
