/** The client as other people install it: packed, installed, type-checked, and run by Node. */
import { afterAll, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeClientPackage, packageFolder } from "../../tools/client-package.ts";
import { type Device, startDevice } from "../helpers/device.ts";
import { emulatedPn532, ntag213, textOn, unlessHeldUp } from "../helpers/emulated.ts";
import { linesOf } from "../helpers/lines.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import {
  firstReader,
  makePlace,
  noReaders,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

const folder = await mkdtemp(join(tmpdir(), "tapdeck-user-"));
afterAll(() => rm(folder, { recursive: true }));

const program = `
import { connect, RpcError } from "tapdeck-client";
const client = await connect(process.argv[2] ?? "");
const { platform } = await client.call("version");
const heard = client.notifications();
await client.call("launch", "**delay:1");
let first = (await heard.next()).value;
while (first?.method === "media.indexing") first = (await heard.next()).value; // Made by itself soon after a start.
let refused = 0;
try {
  await client.call("mappings.delete", { id: 99 });
} catch (error) {
  if (error instanceof RpcError) refused = error.code;
}
console.log(platform, first?.method, refused);
client.close();
await client.closed;
`;

test("a stranger installs the client, their types are checked, and Node runs it", async () => {
  await makeClientPackage();
  const pack = run(["npm", "pack", "--silent", packageFolder, `--pack-destination=${folder}`]);
  const installed = join(folder, "node_modules/tapdeck-client");
  await mkdir(installed, { recursive: true });
  run([
    "tar",
    "--extract",
    "--gzip",
    `--file=${join(folder, pack.trim())}`,
    "--strip-components=1",
    `--directory=${installed}`,
  ]);
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await writeFile(join(folder, "user.ts"), `declare const process: { argv: string[] };${program}`);
  await writeFile(join(folder, "wrong.ts"), program.replace("{ id: 99 }", '{ name: "x" }'));
  await writeFile(
    join(folder, "without.ts"),
    program.replace('"mappings.delete", { id: 99 }', '"mappings.delete"'),
  );
  await writeFile(join(folder, "user.js"), program);
  const check = [
    join(import.meta.dir, "../../node_modules/.bin/tsc"),
    ...["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"],
  ];
  run([...check, join(folder, "user.ts")]);
  expect(() => run([...check, join(folder, "wrong.ts")])).toThrow("'name' does not exist");
  expect(() => run([...check, join(folder, "without.ts")])).toThrow("Expected 2-3 arguments, but got 1");
  expect(JSON.parse(await readFile(join(installed, "package.json"), "utf8"))).toMatchObject({
    engines: { node: expect.any(String) },
    keywords: expect.arrayContaining(["nfc"]),
  });
  // The compiler reports nothing about JavaScript inside node_modules.
  await cp(join(installed, "examples"), join(folder, "examples"), { recursive: true });
  const types = ["--types", "node", "--typeRoots", join(import.meta.dir, "../../node_modules/@types")];
  const examples = ["hear-taps", "now-playing", "write-card"].map((name) => `examples/${name}.js`);
  run([...check, ...types, "--allowJs", "--checkJs", "--noImplicitAny", "false", ...examples]);

  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const url = `ws://127.0.0.1:${place.port}/api/v0.1`;
  // Node 22 has WebSocket by default, and Node 20 only with this flag.
  const said = run(["node", "--experimental-websocket", join(folder, "user.js"), url]);
  expect(said).toBe("linux running 3\n");
  expect(() => run(["node", "--no-experimental-websocket", join(folder, "user.js"), url])).toThrow(
    "this Node has no WebSocket: use Node 22 or newer, or node --experimental-websocket",
  );
});

const sealedProgram = `
import { connect, pair } from "tapdeck-client";
const [url, code] = process.argv.slice(2);
const { id, secret } = await pair(url, code, { name: "Node" });
const client = await connect(url, { id, secret });
await client.call("launch", "**delay:1");
const { platform } = await client.call("version");
console.log(platform, (await client.call("rpc.discover")).openrpc);
client.close();
await client.closed;
`;

test.skipIf(!canMakeNetworks)("Node on another machine pairs by the code, and seals", async () => {
  await writeFile(join(folder, "sealed.js"), sealedProgram);
  await using device = await startDevice(noReaders);
  const { code } = await device.service.client.call("pairing.open");
  const node = ["node", "--experimental-websocket", join(folder, "sealed.js"), device.url, code];
  expect(run(device.network.onNeighbour(node))).toBe("linux 1.3.2\n");
});

test.skipIf(!canMakeNetworks)(
  "an example with a wrong code ends in a sentence, without a stack",
  async () => {
    await using device = await startDevice(noReaders);
    const { code } = await device.service.client.call("pairing.open");
    const wrong = code === "000000" ? "111111" : "000000";
    await using first = startExample(device, ["now-playing"], wrong, "pipe");
    expect(await first.errors()).toBe(
      "not paired: this is not the code that the device shows, and 2 tries are left\n",
    );
    await using second = startExample(device, ["now-playing"], "12", "pipe");
    expect(await second.errors()).toBe(
      "not paired: a code has six digits: tapdeck pair --code shows one on the device\n",
    );
  },
);

const example = (name: string) => join(folder, "node_modules/tapdeck-client/examples", `${name}.js`);

/** Runs an example on the device's neighbour, in a folder that keeps its identity. */
function startExample(
  { network, url }: Device,
  words: readonly [string, ...string[]],
  code?: string,
  stderr: "inherit" | "pipe" = "inherit",
) {
  const [name, ...rest] = words;
  const child = Bun.spawn(
    [...network.onNeighbour(["node", "--experimental-websocket", "--no-warnings", example(name), ...rest])],
    {
      cwd: folder,
      env: { ...process.env, TAPDECK_URL: url, TAPDECK_CODE: code },
      stdio: ["ignore", "pipe", stderr],
    },
  );
  const lines = linesOf(child.stdout);
  return {
    next: async () => (await lines.next()).value,
    errors: () => new Response(child.stderr ?? "").text(),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

test.skipIf(!canMakeNetworks)(
  "its examples show what plays, write a card and hear its tap, on another machine",
  () =>
    unlessHeldUp(async () => {
      await using reader = emulatedPn532("real");
      await using device = await startDevice(readerConfig(reader) + sleeper());
      const { call } = device.service.client;
      await device.place.file("SNES/Game.sfc");
      await firstReader(device.service);
      const { code } = await call("pairing.open");
      {
        await using playing = startExample(device, ["now-playing"], code);
        expect(await playing.next()).toBe("nothing plays");
        await call("launch", "SNES/Game.sfc");
        expect(await playing.next()).toBe("now playing: Game");
        await call("stop");
        expect(await playing.next()).toMatch(/^stopped after \d+ s: Game$/);
      }
      expect((await stat(join(folder, "tapdeck-identity.json"))).mode & 0o777).toBe(0o600);
      const tag = ntag213("04a1a2a3a4a5a6");
      {
        await using writing = startExample(device, ["write-card", "**delay:1"]);
        expect(await writing.next()).toBe("put a card on the reader");
        reader.put(tag);
        expect(await writing.next()).toBe("written, and read back equal");
        expect(await writing.exited).toBe(0);
        expect(textOn(tag)).toBe("**delay:1");
      }
      await using hearing = startExample(device, ["hear-taps"]);
      expect(await hearing.next()).toBe("readers: pn532-uart");
      // A tag that was just written is no token until it was removed.
      reader.take(tag);
      reader.put(ntag213("04b1b2b3b4b5b6", "**delay:2"));
      expect(await hearing.next()).toBe("04b1b2b3b4b5b6: **delay:2");
    }),
);

function run(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: folder });
  if (exitCode !== 0) throw new Error(`${command[0]}: ${stdout}${stderr}`);
  return stdout.toString();
}
