/** The client as other people install it: packed, installed, type-checked, and run by Node. */
import { afterAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeClientPackage, packageFolder } from "../../tools/client-package.ts";
import { startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

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
  await writeFile(join(folder, "user.js"), program);
  const check = [
    join(import.meta.dir, "../../node_modules/.bin/tsc"),
    ...["--noEmit", "--strict", "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom"],
  ];
  run([...check, join(folder, "user.ts")]);
  expect(() => run([...check, join(folder, "wrong.ts")])).toThrow("'name' does not exist");

  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const url = `ws://127.0.0.1:${place.port}/api/v0.1`;
  // Node 22 has WebSocket on by itself; 20 by this flag.
  const said = run(["node", "--experimental-websocket", join(folder, "user.js"), url]);
  expect(said).toBe("linux running 3\n");
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

function run(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: folder });
  if (exitCode !== 0) throw new Error(`${command[0]}: ${stdout}${stderr}`);
  return stdout.toString();
}
