/** TLS: who comes by it is private without a handshake, and may do all but what is for the device itself. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { makeCertificate } from "../../src/system/certificate.ts";
import { canMakeNetworks, makeNetwork, type Network, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const [port, tlsPort] = [7497, 7498];

let network: Network;
let place: Place;
let child: Bun.Subprocess;

async function start(): Promise<void> {
  child = Bun.spawn([...network.onDevice([program, `--data=${place.folder}`])], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  for (let tries = 0; tries < 100; tries++) {
    const url = `http://127.0.0.1:${port}/ping`;
    const answer = await visit(network.onDevice, { url }).catch(() => undefined);
    if (answer?.body === "pong") return;
  }
  throw new Error("the service did not start in its namespace");
}

beforeAll(async () => {
  if (!canMakeNetworks) return;
  network = await makeNetwork();
  place = await makePlace();
  await Bun.write(`${place.folder}/config.toml`, "[readers]\ndetect = false\n");
  await start();
});
afterAll(async () => {
  if (!canMakeNetworks) return;
  child.kill("SIGTERM");
  await child.exited;
  await network[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const request = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: method, method });

remoteTest(
  "a neighbour speaks over wss without a secret, and what is for the device is forbidden to it",
  async () => {
    for (const host of [network.deviceAddress, `[${network.deviceAddress6}]`]) {
      const outcome = await visit(network.onNeighbour, {
        url: `wss://${host}:${tlsPort}/api/v0.1`,
        send: [request("version"), request("clients"), "ping"],
        anyCertificate: true,
      });
      const answers = (outcome.messages ?? []).map((text) => (text === "pong" ? text : JSON.parse(text)));
      expect(answers).toContainEqual(expect.objectContaining({ id: "version", result: expect.anything() }));
      expect(answers).toContainEqual(
        expect.objectContaining({ id: "clients", error: expect.objectContaining({ code: 2 }) }),
      );
      expect(answers).toContain("pong");
    }
  },
);

remoteTest("POST and the launch rules hold over https as over http", async () => {
  const base = `https://${network.deviceAddress}:${tlsPort}`;
  const post = await visit(network.onNeighbour, {
    url: `${base}/api`,
    method: "POST",
    body: request("version"),
    headers: { "content-type": "application/json" },
    anyCertificate: true,
  });
  expect([post.status, JSON.parse(post.body ?? "").id]).toEqual([200, "version"]);
  const launch = await visit(network.onNeighbour, { url: `${base}/l/x`, anyCertificate: true });
  expect(launch.status).toBe(403);
  const foreign = await visit(network.onNeighbour, {
    url: `${base}/ping`,
    headers: { host: "evil.example" },
    anyCertificate: true,
  });
  expect(foreign.status).toBe(403);
});

remoteTest("the certificate is for the device's addresses, and the same after a restart", async () => {
  const path = `${place.folder}/tls/device.pem`;
  const before = await readFile(path, "utf8");
  const certificate = new X509Certificate(before);
  expect(certificate.checkIP(network.deviceAddress)).toBe(network.deviceAddress);
  child.kill("SIGTERM");
  await child.exited;
  await start();
  expect(await readFile(path, "utf8")).toBe(before);
});

remoteTest.skipIf(Bun.which("openssl") === null)("TLS 1.2 and 1.3 are spoken, 1.1 is not", async () => {
  const shake = (version: string) => {
    const target = `${network.deviceAddress}:${tlsPort}`;
    const command = ["openssl", "s_client", "-connect", target, `-${version}`, "-cipher", "ALL:@SECLEVEL=0"];
    const { stdout } = Bun.spawnSync([...network.onNeighbour(command)], { stdin: null });
    return stdout.toString().includes("BEGIN CERTIFICATE");
  };
  expect([shake("tls1_1"), shake("tls1_2"), shake("tls1_3")]).toEqual([false, true, true]);
});

// Without openssl there is nobody to show it to.
remoteTest.skipIf(Bun.which("openssl") === null)(
  "the owner's certificate is shown as soon as it is there",
  async () => {
    const { certificatePem, keyPem } = makeCertificate({
      commonName: "owner",
      names: ["device.example"],
      addresses: [],
      notBefore: new Date("2020-01-01T00:00:00Z"),
      notAfter: new Date("2049-01-01T00:00:00Z"),
    });
    await Bun.write(`${place.folder}/tls/owner-key.pem`, keyPem);
    await Bun.write(`${place.folder}/tls/owner.pem`, certificatePem);
    const target = `${network.deviceAddress}:${tlsPort}`;
    await eventually(() => {
      const command = network.onNeighbour(["openssl", "s_client", "-connect", target]);
      return /CN ?= ?owner/.test(Bun.spawnSync([...command], { stdin: null }).stdout.toString());
    });
  },
);

remoteTest("tls_port = 0 switches it off", async () => {
  child.kill("SIGTERM");
  await child.exited;
  await Bun.write(`${place.folder}/config.toml`, "[api]\ntls_port = 0\n[readers]\ndetect = false\n");
  await start();
  const url = `https://${network.deviceAddress}:${tlsPort}/ping`;
  await expect(visit(network.onNeighbour, { url, anyCertificate: true })).rejects.toThrow("visitor failed");
});
