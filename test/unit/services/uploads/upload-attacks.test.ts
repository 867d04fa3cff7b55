/**
 * Attacks on unfinished uploads by a player or another user, who may write to media folders.
 * Covers: src/services/uploads/uploads.ts, src/services/uploads/upload-store.ts.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceError } from "../../../../src/core/errors.ts";
import { uploadsFolder } from "../../../../src/core/media.ts";
import { holdFile } from "../../../../src/services/uploads/upload-store.ts";
import { createUploads } from "../../../../src/services/uploads/uploads.ts";
import { createManualClock } from "../../../helpers/manual-clock.ts";

let folder: string;
let root: string;
let store: string;
let secret: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-upload-attacks-"));
  root = join(folder, "drive/media");
  store = join(root, uploadsFolder);
  secret = join(folder, "secret");
  await mkdir(join(root, "SNES"), { recursive: true });
  await writeFile(secret, "kept as it is");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const clock = createManualClock(Date.now());
/** The uploads of a service that has just started. */
const begin = () =>
  createUploads({
    folders: () => ({ roots: [root], own: [], closed: { folders: [folder], files: [], open: root } }),
    isIndexed: () => false,
    clock,
  });
const wanted = (path: string, size = 10) => ({ system: "SNES", path, size, replace: false, sender: "" });
const bytes = new Uint8Array(10).fill(7);
const sha256 = createHash("sha256").update(bytes).digest("hex");
const anyStart = () => {};
const never = new AbortController().signal;
const tenBytes = async function* () {
  yield bytes;
};
const refusal = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => "accepted",
    (error: unknown) => (error instanceof ServiceError ? error.message : error),
  );
const makeFifo = (path: string) => Bun.spawnSync(["mkfifo", path]).exitCode;
const replaced = "another program has replaced the file of this upload: cancel it, and send it again";
const moved = "a folder of this path is a link now: nothing is changed there";

/** The file by which an attacker replaces the bytes so far. */
const swaps: readonly (readonly [string, (part: string) => Promise<unknown>])[] = [
  ["a link", (part) => symlink(secret, part)],
  ["a second name", (part) => link(secret, part)],
  ["a FIFO", async (part) => makeFifo(part)],
  ["a folder", (part) => mkdir(part)],
];
for (const [name, put] of swaps)
  test(`the bytes of an upload do not go to another file through ${name} in the place of its own`, async () => {
    const uploads = begin();
    const { id } = await uploads.start(wanted("Game.sfc"));
    const part = join(store, `${id}.part`);
    await rm(part);
    await put(part);
    expect(await refusal(uploads.write(id, 0, tenBytes, never))).toBe(replaced);
    expect(await refusal(uploads.finish(id, sha256, anyStart))).toBe(replaced);
    expect(await readFile(secret, "utf8")).toBe("kept as it is");
    expect(await readdir(join(root, "SNES"))).toEqual([]);
    // The next start neither cuts it nor stops.
    expect(await begin().list()).toEqual([]);
    expect(await readFile(secret, "utf8")).toBe("kept as it is");
  });

test("a second name of a hidden file is not cut to the size of an upload at the next start", async () => {
  const { id } = await begin().start(wanted("Game.sfc", 4));
  await rm(join(store, `${id}.part`));
  await link(secret, join(store, `${id}.part`));
  expect(await begin().list()).toEqual([]);
  expect(await readFile(secret, "utf8")).toBe("kept as it is");
});

test("a link that changes places with the bytes of an upload does not lead the cut to a hidden file", async () => {
  const { id } = await begin().start(wanted("Game.sfc", 4));
  const part = join(store, `${id}.part`);
  await writeFile(part, "more than was declared");
  const uploads = createUploads({
    folders: () => ({ roots: [root], own: [], closed: { folders: [folder], files: [], open: root } }),
    isIndexed: () => false,
    // The service reads the clock between its check of the file and the cut.
    clock: {
      ...clock,
      now: () => {
        Bun.spawnSync(["ln", "--symbolic", "--force", secret, part]);
        return clock.now();
      },
    },
  });
  expect(await uploads.list()).toMatchObject([{ id, offset: 4 }]);
  expect(await readFile(secret, "utf8")).toBe("kept as it is");
  expect(await refusal(uploads.write(id, 4, tenBytes, never))).toBe(replaced);
});

test("a FIFO or a folder with the name of an upload's description does not block uploads", async () => {
  await mkdir(join(store, `${"b".repeat(32)}.json`), { recursive: true });
  for (const id of ["a".repeat(32), "b".repeat(32)]) await writeFile(join(store, `${id}.part`), "x");
  expect(makeFifo(join(store, `${"a".repeat(32)}.json`))).toBe(0);
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  await uploads.write(id, 0, tenBytes, never);
  await uploads.finish(id, sha256, anyStart);
  expect(await readdir(join(root, "SNES"))).toEqual(["Game.sfc"]);
});

test("a link in the place of the folder of uploads leads neither writes nor removals to another folder", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  const own = join(folder, "own");
  await mkdir(own);
  for (const name of ["state.json", "state.part", `${id}.part`, `${id}.json`])
    await writeFile(join(own, name), "x");
  await rename(store, `${store}-away`);
  await symlink(own, store);
  expect(await refusal(uploads.write(id, 0, tenBytes, never))).toBe(moved);
  expect(await refusal(uploads.start(wanted("Other.sfc")))).toBe(moved);
  expect(await begin().list()).toEqual([]);
  await uploads.cancel(id);
  expect((await readdir(own)).sort()).toEqual(
    ["state.json", "state.part", `${id}.part`, `${id}.json`].sort(),
  );
  expect(await readFile(join(own, `${id}.part`), "utf8")).toBe("x");
});

test("a link that appears at the last moment does not lead a finished file to a hidden folder", async () => {
  const uploads = begin();
  const { id } = await uploads.start({ ...wanted("RPG/secret"), replace: true });
  await uploads.write(id, 0, tenBytes, never);
  await mkdir(join(root, "SNES/RPG"));
  const own = join(folder, "own");
  const swap = () => {
    Bun.spawnSync(["cp", "--recursive", join(folder, "drive"), own]);
    Bun.spawnSync(["mv", join(folder, "drive"), join(folder, "away")]);
    Bun.spawnSync(["ln", "--symbolic", own, join(folder, "drive")]);
  };
  expect(await refusal(uploads.finish(id, sha256, swap))).toBe(moved);
  expect(await readdir(join(own, "media/SNES/RPG"))).toEqual([]);
});

test("a file that changes places with the checked one is not taken for it", async () => {
  const uploads = begin();
  const { id } = await uploads.start(wanted("Game.sfc"));
  await uploads.write(id, 0, tenBytes, never);
  const part = join(store, `${id}.part`);
  const swap = () => {
    Bun.spawnSync(["cp", part, `${part}-other`]);
    Bun.spawnSync(["mv", `${part}-other`, part]);
  };
  expect(await refusal(uploads.finish(id, sha256, swap))).toContain("put its own file in the place");
});

test("a folder of uploads that others may read is closed to them", async () => {
  await mkdir(store);
  await chmod(store, 0o777);
  await begin().start(wanted("Game.sfc"));
  expect((await stat(store)).mode & 0o777).toBe(0o700);
});

test.if(process.geteuid?.() === 0)("a folder of uploads of another user is refused", async () => {
  const { id } = await begin().start(wanted("Game.sfc"));
  await chown(store, 12345, 12345);
  expect(await refusal(begin().start(wanted("Other.sfc")))).toBe(
    `${uploadsFolder} belongs to another user: remove it`,
  );
  expect(await begin().list()).toEqual([]);
  await chown(store, 0, 0);
  await chown(join(store, `${id}.part`), 12345, 12345);
  expect(await begin().list()).toEqual([]);
});

test("a link in the place of a media file's folder does not lead its removal to another folder", async () => {
  const odd = Buffer.concat([
    Buffer.from(join(root, "SNES/")),
    Buffer.from([0xff]),
    Buffer.from("/Game.sfc"),
  ]);
  const game = Buffer.from(join(root, "SNES/RPG/Game.sfc"));
  const own = join(folder, "own");
  for (const path of [join(root, "SNES/RPG"), own, odd.subarray(0, odd.lastIndexOf("/"))]) await mkdir(path);
  for (const path of [odd, game, join(own, "Game.sfc")]) await writeFile(path, "x");
  for (const path of [odd, game]) {
    const at = path.subarray(0, path.lastIndexOf("/"));
    await using held = await holdFile(path);
    await rename(at, join(folder, "away"));
    await symlink(own, at);
    await rm(held.path);
    expect(await readdir(join(folder, "away"))).toEqual([]);
    expect(await readdir(own)).toEqual(["Game.sfc"]);
    // A link that existed before.
    expect(await refusal(holdFile(path))).toBe(moved);
    await rm(join(folder, "away"), { recursive: true });
  }
  await mkdir(join(own, "Below"));
  // A link higher up.
  expect(await refusal(holdFile(join(root, "SNES/RPG/Below/Game.sfc")))).toBe(moved);
});
