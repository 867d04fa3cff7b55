/** Downloads that continue, against a real server of files with ranges. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { updateStallMsMax } from "../../../src/core/console-limits.ts";
import { ownAddresses, reachOf } from "../../../src/system/addresses.ts";
import { type Download, download, removeDownload } from "../../../src/system/download.ts";
import { certificateOf, startFileServer } from "../../helpers/file-server.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { printed } from "../../helpers/processes.ts";

const content = Buffer.alloc(300_000, "0123456789abcdef and so on, ");
const sha256 = createHash("sha256").update(content).digest("hex");

async function bench() {
  await using made = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-download-"));
  made.defer(() => rm(folder, { recursive: true }));
  const server = made.use(await startFileServer(content));
  const clock = createManualClock();
  const path = join(folder, "update.bundle");
  const percents: number[] = [];
  const whole = made.move();
  return {
    server,
    clock,
    path,
    folder,
    percents,
    get: (what: Partial<Download> = {}, bytesMax = 1e9, freeBytesMin = 0) =>
      download(
        { url: server.url, ...what },
        { path, bytesMax, freeBytesMin, clock, progress: (percent) => percents.push(percent) },
        new AbortController().signal,
      ),
    cut: () => server.cutAfter(100_000, `${path}.part`),
    names: async () => (await readdir(folder)).sort(),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

test("a download that was cut continues where it ended, and asks for the same version", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get({ sha256 })).rejects.toThrow(one.server.url);
  expect(await one.names()).toEqual(["update.bundle.part", "update.bundle.source"]);
  const { length: there } = await readFile(`${one.path}.part`);
  expect(there).toBeGreaterThan(0);
  await one.get({ sha256 });
  expect(await readFile(one.path)).toEqual(content);
  expect(one.server.asked.at(-1)).toMatchObject({ range: `bytes=${there}-`, "if-range": '"1"' });
  expect(one.percents.at(-1)).toBe(100);
  const { length: requests } = one.server.asked;
  await one.get({ sha256 });
  expect(one.server.asked.length).toBe(requests);
});

test("a file that was changed meanwhile is fetched from its beginning", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get()).rejects.toThrow();
  const other = Buffer.alloc(200_000, "another file ");
  one.server.offer(other);
  await one.get();
  expect(await readFile(one.path)).toEqual(other);
});

test("a server that ignores ranges sends the whole file again", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get({ sha256 })).rejects.toThrow();
  one.server.ignoreRanges();
  await one.get({ sha256 });
  expect(await readFile(one.path)).toEqual(content);
});

test("a torn beginning is found by the hash, and the whole file is fetched once more", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get({ sha256 })).rejects.toThrow();
  await writeFile(`${one.path}.part`, Buffer.alloc(90_000));
  await one.get({ sha256 });
  expect(await readFile(one.path)).toEqual(content);
  expect(one.server.asked.at(-1)?.range).toBeUndefined();
});

test("a beginning that is longer than the file is fetched again", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get({ sha256 })).rejects.toThrow();
  await writeFile(`${one.path}.part`, Buffer.alloc(400_000));
  await one.get({ sha256 });
  expect(await readFile(one.path)).toEqual(content);
});

for (const [name, what, sentence] of [
  ["another hash", { sha256: "0".repeat(64) }, "it has another SHA-256 than was announced"],
  ["another size", { bytes: 299_999 }, "the server has 300000 bytes, and 299999 were announced"],
] as const)
  test(`a file with ${name} is refused for good, and nothing of it stays`, async () => {
    await using one = await bench();
    await expect(one.get(what)).rejects.toMatchObject({
      name: "DownloadRefused",
      message: expect.stringContaining(sentence),
    });
    expect(await one.names()).toEqual([]);
  });

test("the beginning of a file that the server took back stayed on the card for good", async () => {
  await using one = await bench();
  one.cut();
  await expect(one.get({ sha256 })).rejects.toThrow();
  expect(await one.names()).toHaveLength(2);
  one.server.refuse(404);
  await expect(one.get({ sha256 })).rejects.toThrow("answered 404");
  expect(await one.names()).toEqual([]);
});

test("a file that is too large, or leaves too little space, is refused before it is written", async () => {
  await using one = await bench();
  await expect(one.get({}, 200_000)).rejects.toThrow(
    "the file has more than the 0 MiB that an update may have",
  );
  expect(await one.names()).toEqual([]);
});

test("a full disk was said to have room for a negative number of MiB", async () => {
  await using one = await bench();
  await expect(one.get({}, 1e9, Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({
    name: "DownloadRefused",
    message: `${one.server.url}: the disk has room for 0 MiB of this file: free some space, then try again`,
  });
  expect(await one.names()).toEqual([]);
});

for (const [status, name] of [
  [404, "DownloadRefused"],
  [401, "DownloadRefused"],
  [429, "Error"],
  [503, "Error"],
] as const)
  test(`an answer of ${status} is ${name === "Error" ? "tried again later" : "final"}`, async () => {
    await using one = await bench();
    one.server.refuse(status);
    await expect(one.get()).rejects.toMatchObject({
      name,
      message: expect.stringContaining(`answered ${status}`),
    });
  });

test("a redirect is followed, without the token, and not without an end", async () => {
  await using one = await bench();
  await using other = await startFileServer(content);
  one.server.redirect(other.url);
  await one.get({ sha256, headers: { authorization: "TargetToken secret" } });
  expect(one.server.asked[0]?.authorization).toBe("TargetToken secret");
  expect(other.asked[0]?.authorization).toBeUndefined();
  await removeDownload(one.path);
  one.server.redirect(one.server.url);
  await expect(one.get()).rejects.toThrow("was redirected more than 5 times");
  one.server.redirect("file:///etc/passwd");
  await expect(one.get()).rejects.toThrow("which is no safe address");
});

for (const host of ["localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
  test(`a link to ${host} does not lead to this device, unless the setting names it`, async () => {
    await using one = await bench();
    await using local = await startFileServer(content);
    const url = local.url.replace("127.0.0.1", host);
    await expect(one.get({ url, setting: "http://updates.example/" })).rejects.toMatchObject({
      name: "DownloadRefused",
      message: `${new URL(url).href} leads to this device itself, which the setting does not name`,
    });
    one.server.redirect(url);
    await expect(one.get()).rejects.toThrow("leads to this device itself");
    expect(local.asked).toEqual([]);
    await one.get({ url: local.url, sha256, setting: one.server.url });
    expect(await readFile(one.path)).toEqual(content);
  });

test("a link to an address of this device's network card does not lead to this device", async () => {
  await using one = await bench();
  const own = ownAddresses().find((address) => reachOf(address) !== "loopback") ?? "127.0.0.2";
  one.server.redirect(`http://${own.includes(":") ? `[${own}]` : own}:1/`);
  await expect(one.get()).rejects.toThrow("leads to this device itself");
});

test("a server that stops sending is left after a minute", async () => {
  await using one = await bench();
  const hung = one.server.hangAfter(100_000);
  const got = one.get();
  await hung;
  // The last bytes may still be arriving, and each of them begins the minute again.
  const late = setInterval(() => one.clock.advance(updateStallMsMax), 20);
  await expect(got).rejects.toThrow("nothing came for 60 s");
  clearInterval(late);
});

test.skipIf(Bun.which("openssl") === null)("a server may ask for the certificate of the client", async () => {
  await using one = await bench();
  const server = certificateOf("localhost");
  const [keyPath, path] = [join(one.folder, "key.pem"), join(one.folder, "certificate.pem")];
  await printed([
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-subj", "/CN=hall-1", "-keyout", keyPath, "-out", path],
    ...["-addext", "extendedKeyUsage=clientAuth"],
  ]);
  const identity = { cert: await readFile(path, "utf8"), key: await readFile(keyPath, "utf8") };
  const ca = server.certificatePem;
  await using tls = await startFileServer(content, {
    cert: server.certificatePem,
    key: server.keyPem,
    clients: identity.cert,
  });
  await expect(one.get({ url: tls.url, tls: identity })).rejects.toThrow(tls.url);
  await expect(one.get({ url: tls.url, tls: { ca } })).rejects.toThrow(tls.url);
  expect(tls.asked).toEqual([]);
  await one.get({ url: tls.url, sha256, tls: { ca, ...identity } });
  expect(await readFile(one.path)).toEqual(content);
  tls.redirect(one.server.url);
  await removeDownload(one.path);
  await expect(one.get({ url: tls.url, tls: { ca, ...identity } })).rejects.toThrow("no safe address");
});
