/**
 * Uploads against the compiled service: interruptions, kills, a full disk, forged bytes, and states that nobody may see
 * or launch.
 */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, RpcError } from "../../src/client/client.ts";
import { UploadRefused, uploadFile } from "../../src/client/upload.ts";
import { fromHex } from "../../src/core/hex.ts";
import { uploadChunkBytesMax, uploadFreeBytesMin } from "../../src/core/limits.ts";
import { uploadsFolder } from "../../src/core/media.ts";
import { loadPrimitives } from "../../src/secure/primitives.ts";
import { sealUpload } from "../../src/secure/upload-frames.ts";
import { startScene } from "../helpers/attack-scene.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { reported, shellLauncher } from "../helpers/served-place.ts";
import { makePlace, noReaders, type Place, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const chunk = uploadChunkBytesMax;
const originOf = (place: Place) => `http://127.0.0.1:${place.port}`;
const sum = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
/** Bytes whose pattern differs from place to place. */
const content = (length: number) =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8) * 17 + (at >> 16)) & 0xff);

async function begin(client: Client, system: string, path: string, size: number) {
  const { uploads } = await client.call("uploads.start", { files: [{ system, path, size }] });
  const [first] = uploads;
  if (first === undefined || !("id" in first)) throw new Error(first?.refused);
  return first;
}

const put = (place: Place, at: string, body: Uint8Array<ArrayBuffer>) =>
  fetch(`${originOf(place)}/uploads/${at}`, { method: "PUT", body });

const reasonOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => "accepted",
    (error: unknown) => (error instanceof RpcError || error instanceof UploadRefused ? error.message : error),
  );

test("an upload that was interrupted is neither found nor launched, survives a kill, and is found when it is finished", async () => {
  await using place = await makePlace(noReaders + sleeper());
  await place.file("SNES/Other.sfc");
  const bytes = content(3 * chunk + 5);
  const first = await startTapdeck(place);
  const { id } = await begin(first.client, "SNES", "RPG/New Game.sfc", bytes.length);
  expect(await (await put(place, `${id}?offset=0`, bytes.slice(0, chunk))).json()).toEqual({ offset: chunk });
  process.kill(first.pid, "SIGKILL");
  await first[Symbol.asyncDispose]();
  await using service = await startTapdeck(place);
  const { client } = service;
  await client.call("media.index").catch(() => {});
  await eventually(async () => expect((await client.call("systems")).systems).toHaveLength(1));
  expect(await client.call("media.search", { query: "game" })).toMatchObject({ total: 0 });
  expect((await client.call("media.browse", { path: "SNES" })).entries.map(({ name }) => name)).toEqual([
    "Other",
  ]);
  const part = join(place.folder, "media", uploadsFolder, `${id}.part`);
  for (const text of [
    part,
    `${uploadsFolder}/${id}.part`,
    "SNES/RPG/New Game.sfc",
    `**launch:${part}?launcher=sleeper`,
  ]) {
    await client.call("run", { text });
    expect(await service.heard.next("launch.finished")).toMatchObject({ success: false });
  }
  expect(await reasonOf(client.call("media.delete", { path: part }))).toContain("is being uploaded");

  expect((await client.call("uploads")).uploads).toMatchObject([{ id, offset: chunk }]);
  const progress: number[] = [];
  const source = { system: "SNES", path: "RPG/New Game.sfc", file: new Blob([bytes]) };
  const options = { origin: originOf(place), onProgress: (at: number) => progress.push(at) };
  expect(await uploadFile(client, source, options)).toBe("SNES/RPG/New Game.sfc");
  expect(progress).toEqual([chunk, 2 * chunk, 3 * chunk, bytes.length]);
  expect(sum(await readFile(join(place.folder, "media/SNES/RPG/New Game.sfc")))).toBe(sum(bytes));
  await eventually(async () =>
    expect((await client.call("media.search", { query: "new game" })).total).toBe(1),
  );
  await service.heard.next(
    "media.uploading",
    ({ state, offset }) => state === "finished" && offset === bytes.length,
  );
  expect(await readdir(join(place.folder, "media"))).toEqual(["SNES"]);
  // The same upload again is refused, because the file is there already.
  expect(await reasonOf(uploadFile(client, source, options))).toBe("RPG/New Game.sfc is there already");
  await client.call("media.delete", { path: "SNES/RPG/New Game.sfc" });
  await eventually(async () =>
    expect((await client.call("media.search", { query: "new game" })).total).toBe(0),
  );
});

test("a file that arrives damaged is never finished, and is sent again from its start", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const { client } = service;
  const bytes = content(100_000);
  const { id } = await begin(client, "SNES", "Game.sfc", bytes.length);
  const torn = bytes.slice(0, 50_000).fill(0, 40_000);
  expect((await put(place, `${id}?offset=0`, torn)).status).toBe(200);
  // The sender continues, finds at the end that bytes are wrong, and sends the file again.
  const source = { system: "SNES", path: "Game.sfc", file: new Blob([bytes]) };
  const progress: number[] = [];
  await uploadFile(client, source, { origin: originOf(place), onProgress: (at) => progress.push(at) });
  expect(progress).toEqual([50_000, 100_000, 0, 100_000]);
  expect(sum(await readFile(join(place.folder, "media/SNES/Game.sfc")))).toBe(sum(bytes));
});

test("bytes at a wrong place, too many bytes, and requests that are none are refused with a sentence", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const { id } = await begin(service.client, "SNES", "Game.sfc", 2 * chunk);
  const answers: [number, string][] = [];
  for (const [at, length] of [
    [`${id}?offset=7`, 10],
    [`${id}?offset=0`, chunk + 1],
    [`${id}?offset=${2 ** 40}`, 10],
    [id, 10],
    [`${id}?offset=-1`, 10],
    [`${"f".repeat(32)}?offset=0`, 10],
    [`${id}?offset=0&sealed=1`, 10],
  ] as const) {
    const answer = await put(place, at, new Uint8Array(length));
    answers.push([answer.status, (await answer.text()).slice(0, 24)]);
  }
  expect(answers).toEqual([
    [409, '{"offset":0}'],
    [413, "more bytes came than the"],
    [409, expect.stringMatching(/^{"offset":\d+}$/)],
    [400, "offset: it must be a num"],
    [400, "offset: it must be a num"],
    [404, "there is no such upload:"],
    [403, "encryption is required f"],
  ]);
  const get = await fetch(`${originOf(place)}/uploads/${id}`);
  expect([get.status, get.headers.get("allow")]).toEqual([405, "PUT"]);
});

test.skipIf(!canMakeNetworks)(
  "a full disk ends an upload with a sentence, and it continues when there is room",
  async () => {
    await using place = await makePlace(noReaders);
    const media = join(place.folder, "media");
    const free = 8 * chunk;
    const mounted = Bun.spawnSync([
      "mount",
      "-t",
      "tmpfs",
      "-o",
      `size=${uploadFreeBytesMin + free}`,
      "tmpfs",
      media,
    ]);
    expect(mounted.exitCode).toBe(0);
    try {
      await using service = await startTapdeck(place);
      const { client } = service;
      const send = (path: string, file: Blob) =>
        uploadFile(client, { system: "SNES", path, file }, { origin: originOf(place) });
      expect(await reasonOf(send("Large.sfc", new Blob([new Uint8Array(free + 1)])))).toContain("no room");
      const bytes = content(5 * chunk);
      const { id } = await begin(client, "SNES", "Game.sfc", bytes.length);
      expect((await put(place, `${id}?offset=0`, bytes.slice(0, chunk))).status).toBe(200);
      await mkdir(join(media, "Other"));
      await writeFile(join(media, "Other/filler"), new Uint8Array(7 * chunk));
      const full = await put(place, `${id}?offset=${chunk}`, bytes.slice(chunk, 2 * chunk));
      expect([full.status, await full.text()]).toEqual([507, expect.stringContaining("the disk is full")]);
      await rm(join(media, "Other"), { recursive: true });
      await send("Game.sfc", new Blob([bytes]));
      expect(sum(await readFile(join(media, "SNES/Game.sfc")))).toBe(sum(bytes));
    } finally {
      Bun.spawnSync(["umount", "--lazy", media]);
    }
  },
);

test("a long upload takes no more memory than a short one", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const peak = async () =>
    Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${service.pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  const send = async (path: string, chunks: number) => {
    const piece = content(chunk);
    const { id } = await begin(service.client, "Video", path, chunks * chunk);
    const hash = createHash("sha256");
    for (let at = 0; at < chunks; at++) {
      expect((await put(place, `${id}?offset=${at * chunk}`, piece)).status).toBe(200);
      hash.update(piece);
    }
    await service.client.call("uploads.finish", { id, sha256: hash.digest("hex") });
  };
  await send("Short.mkv", 32);
  const before = await peak();
  await send("Long.mkv", 1024);
  expect((await peak()) - before).toBeLessThan(48);
}, 120_000);

test.skipIf(!canMakeNetworks)(
  "a stranger in the clear can neither send, take over nor learn an upload, and a revoked phone cannot go on",
  async () => {
    await using made = new AsyncDisposableStack();
    const scene = made.use(await startScene(noReaders));
    const { device } = scene;
    const member = await scene.client("member");
    const line = await scene.sealed(member);
    const bytes = content(3 * 16 * 1024);
    const files = [{ system: "SNES", path: "Game.sfc", size: bytes.length }];
    const { result } = await line.call("uploads.start", { files });
    const { uploads } = result as { uploads: readonly [{ id: string; key: string }] };
    const [{ id, key }] = uploads;
    const seal = { key: fromHex(key) ?? new Uint8Array(), id };
    const primitives = await loadPrimitives();
    const send = async (offset: number, body: Uint8Array, isSealed = true) => {
      const { status = 0, body: text = "" } = await visit(device.network.onNeighbour, {
        url: `http://${device.network.deviceAddress}:7497/uploads/${id}?offset=${offset}${isSealed ? "&sealed=1" : ""}`,
        method: "PUT",
        bytes: Buffer.from(body).toString("base64"),
      });
      return [status, text.trim()];
    };
    const refused = [403, "encryption is required for remote connections"];
    const frame = (offset: number) =>
      sealUpload(primitives, seal, offset, bytes.slice(offset, offset + 16 * 1024));
    expect(await send(0, bytes.slice(0, 100), false)).toEqual(refused);
    expect(await send(0, bytes.slice(0, 100))).toEqual(refused);
    expect(await send(0, await frame(0))).toEqual([200, `{"offset":${16 * 1024}}`]);
    // These frames are refused: a replayed one, one at another offset, a changed one, and one with the key of an earlier
    // start.
    expect(await send(0, await frame(0))).toEqual(refused);
    expect(await send(16 * 1024, await frame(0))).toEqual(refused);
    expect(await send(16 * 1024, (await frame(16 * 1024)).fill(0, 9, 12))).toEqual(refused);
    await line.call("uploads.start", { files });
    expect(await send(16 * 1024, await frame(16 * 1024))).toEqual(refused);
    const again = await line.call("uploads.start", { files });
    expect(again.result).toMatchObject({ uploads: [{ id, offset: 16 * 1024 }] });
    const [now] = (again.result as { uploads: readonly [{ key: string }] }).uploads;
    seal.key = fromHex(now.key) ?? new Uint8Array();
    const { client } = device.service;
    await client.call("clients.update", { id: member.id, role: "player" });
    expect(await send(16 * 1024, await frame(16 * 1024))).toEqual(refused);
    await client.call("clients.update", { id: member.id, role: "member" });
    expect(await send(16 * 1024, await frame(16 * 1024))).toEqual([200, `{"offset":${32 * 1024}}`]);
    await client.call("clients.delete", { id: member.id });
    expect(await send(32 * 1024, await frame(32 * 1024))).toEqual(refused);
    expect(await client.call("uploads")).toMatchObject({ uploads: [{ offset: 32 * 1024 }] });
  },
);

// Arguments: the config file, then the media file.
const linker = `
for file; do :; done
exec 2>/dev/null
cd "$(dirname "$file")/../${uploadsFolder}"
for part in *.part; do ln -sf "$1" "$part" && echo "$part"; done >found
touch ${"a".repeat(32)}.part
mkfifo ${"a".repeat(32)}.json && echo fifo >>found
mv found "$(dirname "$file")/report"
`;

test("a player's link in the place of an unfinished upload is not written through, and its FIFO stops no start", async () => {
  await using place = await makePlace();
  const config = join(place.folder, "config.toml");
  await place.config(noReaders + shellLauncher("linker", linker, config));
  const media = await place.file("linker/Game.linker");
  const settings = await readFile(config, "utf8");
  const bytes = content(100);
  const replaced = expect.stringContaining("another program has replaced the file of this upload");
  {
    await using service = await startTapdeck(place);
    const { id } = await begin(service.client, "SNES", "Game.sfc", bytes.length);
    expect(await reported(service, media)).toEqual([`${id}.part`, "fifo"]);
    const answer = await put(place, `${id}?offset=0`, bytes);
    expect([answer.status, await answer.text()]).toEqual([507, replaced]);
    expect(await reasonOf(service.client.call("uploads.finish", { id, sha256: sum(bytes) }))).toEqual(
      replaced,
    );
    expect(await readFile(config, "utf8")).toBe(settings);
  }
  await using service = await startTapdeck(place);
  const source = { system: "SNES", path: "Game.sfc", file: new Blob([bytes]) };
  expect(await uploadFile(service.client, source, { origin: originOf(place) })).toBe("SNES/Game.sfc");
  expect(await readFile(config, "utf8")).toBe(settings);
});
