/** The Python client as other people use it: on the device, and from another machine, where it pairs, seals and subscribes. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";
import { answerPairing, generatorOfCode, readPairingHello } from "../../src/secure/pairing.ts";
import { deviceForAll } from "../helpers/device.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const packaged = join(import.meta.dir, "../../packaging/python");
const user = join(import.meta.dir, "python-client/user.py");
/** Many of these are longer than a message of the secure layer. */
const mapping = {
  enabled: false,
  type: "uid",
  match: "exact",
  override: "ü".repeat(2000),
} as const;
const device = deviceForAll(noReaders);
beforeAll(() => noisePython(), noisePythonSetUpMs);

/** Runs the user's program; the lines of its output follow. */
async function start(on: (command: readonly string[]) => readonly string[], ...words: readonly string[]) {
  // With -B, Python leaves no compiled file beside the client.
  const child = Bun.spawn([...on([await noisePython(), "-B", user, ...words])], {
    env: { ...process.env, PYTHONPATH: packaged },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = linesOf(child.stdout);
  return {
    async next() {
      const { value } = await lines.next();
      return value === undefined ? undefined : JSON.parse(value);
    },
    /** All further output, after the program has ended by itself. */
    async rest() {
      const rest = await Array.fromAsync(lines, (line) => JSON.parse(line));
      expect(await child.exited).toBe(0);
      return rest;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

test("the Python client names the versions of packages that these tests run with", async () => {
  const [, named = ""] =
    /^ {4}pip install (.*)$/m.exec(await readFile(join(packaged, "tapdeck/__init__.py"), "utf8")) ?? [];
  const pinned = await readFile(join(import.meta.dir, "noise-python/requirements.txt"), "utf8");
  const missing = named.split(" ").filter((one) => !pinned.includes(`\n${one} `));
  expect([named.split(" ").length, missing]).toEqual([3, []]);
});

test("the types of the Python client are complete, and a user's program is checked against them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-types-"));
  try {
    const python = await noisePython();
    const check = async (file: string) => {
      const config = [
        "--config-file",
        join(packaged, "pyproject.toml"),
        "--cache-dir",
        join(folder, "cache"),
      ];
      const command = [python, "-m", "mypy", "--strict", ...config, file];
      const child = Bun.spawn(command, {
        cwd: folder,
        env: { ...process.env, MYPYPATH: packaged },
        stdout: "pipe",
      });
      return `${await new Response(child.stdout).text()}${await child.exited}`;
    };
    expect(await check(join(packaged, "tapdeck"))).toBe("Success: no issues found in 1 source file\n0");
    await Bun.write(join(folder, "wrong.py"), "import tapdeck\ntapdeck.Identity(id=1, secret='x')\n");
    expect(await check("wrong.py")).toContain('Argument "id" to "Identity" has incompatible type "int"');
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the Python package has the version of Tapdeck, and asks for what its client imports", async () => {
  const project = Bun.TOML.parse(await readFile(join(packaged, "pyproject.toml"), "utf8"));
  expect(project).toMatchObject({
    project: {
      version,
      license: "MIT",
      dependencies: expect.arrayContaining([
        expect.stringContaining("websockets"),
        expect.stringContaining("noiseprotocol"),
        expect.stringContaining("cryptography"),
      ]),
    },
  });
});

test("the Python client starts CPace from the same point as the device, on both branches of its map", async () => {
  // For the first three codes the first value of the map is on the curve, and for the others it is not.
  const codes = ["000000", "123456", "111111", "000002", "222222", "161803"];
  await using python = await start((command) => command, "generators", ...codes);
  expect(await python.rest()).toEqual([codes.map((code) => generatorOfCode(code).toHex())]);
});

test("the Python client notices a device that knows another code, and one that reflects its share", async () => {
  const readHello = (text: string) => readPairingHello(text) ?? { name: "", share: new Uint8Array(32) };
  const grants = new WeakMap<object, string>();
  const serve = (reply: (hello: string, socket: object) => string | Promise<string>) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, self) => (self.upgrade(request) ? undefined : new Response(null, { status: 400 })),
      websocket: {
        async message(socket, text) {
          socket.send(grants.get(socket) ?? (await reply(String(text), socket)));
        },
      },
    });
  await using guessing = serve(async (hello, socket) => {
    const device = await answerPairing("654321", readHello(hello));
    grants.set(socket, device?.grant({ id: crypto.randomUUID(), secret: "c3".repeat(32) }) ?? "");
    return device?.reply ?? "";
  });
  await using reflecting = serve((hello) => hello);
  const noticed: unknown[] = [];
  for (const { port } of [guessing, reflecting]) {
    await using python = await start((command) => command, "impostor", `ws://127.0.0.1:${port}/api/v0.1`);
    noticed.push(...(await python.rest()));
  }
  expect(noticed).toEqual([
    ["SecureFailure", "the device does not know the code", null, null],
    ["SecureFailure", "the device sent the share of this client", null, null],
  ]);
});

test("the Python client notices a handshake with a point of small order as a failure of the secure layer", async () => {
  const forged = JSON.stringify({ v: 2, e: Buffer.alloc(48).toString("base64") });
  await using impostor = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response(null, { status: 400 })),
    websocket: { message: (socket) => void socket.send(forged) },
  });
  const url = `ws://127.0.0.1:${impostor.port}/api/v0.1`;
  await using python = await start((command) => command, "wrong-secret", url, crypto.randomUUID());
  expect(await python.rest()).toEqual([
    ["SecureFailure", "the other side does not know the secret", null, null],
  ]);
});

test("a device that refuses a connection with a status of HTTP ended Home Assistant's task, which knows no such exception", async () => {
  const sentence = "too many connections: close some, or try again in a second";
  await using busy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(`${sentence}\n`, { status: 503 }),
  });
  await using noHttp = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end("SSH-2.0-other\r\n") },
  });
  const noticed: unknown[] = [];
  for (const { port } of [busy, noHttp]) {
    await using python = await start((command) => command, "impostor", `ws://127.0.0.1:${port}/api/v0.1`);
    noticed.push(...(await python.rest()));
  }
  const url = `ws://127.0.0.1:${busy.port}/api/v0.1`;
  await using python = await start((command) => command, "wrong-secret", url, crypto.randomUUID());
  noticed.push(...(await python.rest()));
  const refusal = ["ConnectionError", `the device refuses the connection: ${sentence}`, null, null];
  const other = [
    "ConnectionError",
    expect.stringContaining("the other side is no device of Tapdeck"),
    null,
    null,
  ];
  expect(noticed).toEqual([refusal, other, refusal]);
});

describe.skipIf(!canMakeNetworks)("the Python client", () => {
  test("needs no identity on the device, and reports refusals and limits as exceptions", async () => {
    await using python = await start(device.network.onDevice, "plain", "ws://127.0.0.1:7497/api/v0.1");
    expect(await python.rest()).toEqual([
      [1, "linux"],
      ["RpcError", 3, "not-found"],
      ["ValueError", "a request has at most 1 MiB: send less at once", null, null],
      ["given up", true],
      ["linux"],
      ["ConnectionError", "the client was closed", null, null],
    ]);
  });

  test("pairs by the code from another machine, hears what it subscribed to, and notices its revocation", async () => {
    const { call } = device.service.client;
    for (let n = 0; n < 20; n++) await call("mappings.new", { ...mapping, pattern: `${n}` });
    const { code } = await call("pairing.open");
    await using python = await start(device.network.onNeighbour, "pair", device.url, code);
    const [id, shown] = await python.next();
    expect(shown).toBe(`Identity(id='${id}')`);
    expect((await call("clients")).clients).toMatchObject([{ id, name: "Python, Ünïcödé" }]);
    expect(await python.next()).toEqual(["listening"]);
    await call("tokens.scan", { text: "**delay:1" });
    expect([await python.next(), await python.next()].toSorted()).toEqual([
      ["running", "**delay:1"],
      ["tokens.added", "**delay:1"],
    ]);
    expect(await python.next()).toEqual([20 * 4000]);
    await call("clients.delete", { id });
    const [heard, called, reconnected, ...more] = await python.rest();
    expect(heard).toEqual([
      "ConnectionError",
      "the connection has ended: this client was deleted",
      null,
      null,
    ]);
    expect(called).toEqual(heard);
    expect(reconnected).toMatchObject(["RpcError", expect.any(String), "secure-failure", null]);
    expect(more).toEqual([]);
  });

  test("reports a wrong code, an unknown client, a wrong secret and a missing identity", async () => {
    const { call } = device.service.client;
    const { code } = await call("pairing.open");
    const wrong = code === "000000" ? "000001" : "000000";
    await using python = await start(device.network.onNeighbour, "refused", device.url, wrong);
    const [short, guessed, unknown, plain, ...more] = await python.rest();
    expect(short.slice(0, 2)).toEqual([
      "ValueError",
      "a code has six digits: tapdeck pair --code shows one on the device",
    ]);
    expect(guessed).toMatchObject(["RpcError", expect.any(String), "forbidden", 2]);
    expect(unknown).toMatchObject(["RpcError", expect.any(String), "secure-failure", null]);
    expect(plain).toMatchObject(["RpcError", expect.any(String), "encryption-required", null]);
    expect(more).toEqual([]);
    const { id } = await call("clients.new", { name: "known" });
    await using stranger = await start(device.network.onNeighbour, "wrong-secret", device.url, id);
    expect(await stranger.rest()).toEqual([unknown]);
  });
});
