/** TLS: a caller over TLS is private without a handshake, and may do everything except administer the device. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { makeCertificate } from "../../src/system/certificate.ts";
import { deviceForAll, tlsPort } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
// Without openssl the test cannot read the certificate.
const opensslTest = test.skipIf(!canMakeNetworks || Bun.which("openssl") === null);
const device = deviceForAll(noReaders);
const request = (method: string) => JSON.stringify({ jsonrpc: "2.0", id: method, method });

remoteTest(
  "a neighbour speaks over wss without a secret, and what is for the device is forbidden to it",
  async () => {
    for (const host of [device.network.deviceAddress, `[${device.network.deviceAddress6}]`]) {
      const outcome = await visit(device.network.onNeighbour, {
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
  const base = `https://${device.network.deviceAddress}:${tlsPort}`;
  const post = await visit(device.network.onNeighbour, {
    url: `${base}/api`,
    method: "POST",
    body: request("version"),
    headers: { "content-type": "application/json" },
    anyCertificate: true,
  });
  expect([post.status, JSON.parse(post.body ?? "").id]).toEqual([200, "version"]);
  const launch = await visit(device.network.onNeighbour, { url: `${base}/l/x`, anyCertificate: true });
  expect(launch.status).toBe(403);
  const foreign = await visit(device.network.onNeighbour, {
    url: `${base}/ping`,
    headers: { host: "evil.example" },
    anyCertificate: true,
  });
  expect(foreign.status).toBe(403);
});

remoteTest("the certificate is for the device's addresses, and the same after a restart", async () => {
  const path = `${device.place.folder}/tls/device.pem`;
  const before = await readFile(path, "utf8");
  const certificate = new X509Certificate(before);
  expect(certificate.checkIP(device.network.deviceAddress)).toBe(device.network.deviceAddress);
  await device.stop();
  await device.start();
  expect(await readFile(path, "utf8")).toBe(before);
});

opensslTest("TLS 1.2 and 1.3 are spoken, 1.1 is not", async () => {
  const shake = (version: string) => {
    const target = `${device.network.deviceAddress}:${tlsPort}`;
    const command = ["openssl", "s_client", "-connect", target, `-${version}`, "-cipher", "ALL:@SECLEVEL=0"];
    const { stdout } = Bun.spawnSync([...device.network.onNeighbour(command)], { stdin: null });
    return stdout.toString().includes("BEGIN CERTIFICATE");
  };
  expect([shake("tls1_1"), shake("tls1_2"), shake("tls1_3")]).toEqual([false, true, true]);
});

opensslTest(
  "the certificate follows the addresses: one that comes later stands in it, with the same key",
  async () => {
    const { network } = device;
    const shown = () => {
      const target = `${network.deviceAddress}:${tlsPort}`;
      const { stdout } = Bun.spawnSync(
        [...network.onNeighbour(["openssl", "s_client", "-connect", target])],
        {
          stdin: null,
        },
      );
      const [pem] = /-----BEGIN[\s\S]+END CERTIFICATE-----/.exec(stdout.toString()) ?? [];
      return pem === undefined ? undefined : new X509Certificate(pem);
    };
    const before = shown();
    expect(before?.checkIP("10.77.0.99")).toBeUndefined();
    const add = "ip address add 10.77.0.99/24 dev $(ip -o link | grep -o 'tdd[^@:]*')";
    expect(Bun.spawnSync([...network.onDevice(["sh", "-c", add])]).exitCode).toBe(0);
    await eventually(() => expect(shown()?.checkIP("10.77.0.99")).toBeDefined());
    const after = shown();
    expect(after?.checkIP(network.deviceAddress)).toBeDefined();
    expect(after?.publicKey.export({ type: "spki", format: "pem" })).toEqual(
      before?.publicKey.export({ type: "spki", format: "pem" }) ?? "",
    );
  },
);

opensslTest("the owner's certificate is shown as soon as it is there", async () => {
  const { certificatePem, keyPem } = makeCertificate({
    commonName: "owner",
    names: ["device.example"],
    addresses: [],
    notBefore: new Date("2020-01-01T00:00:00Z"),
    notAfter: new Date("2049-01-01T00:00:00Z"),
  });
  await Bun.write(`${device.place.folder}/tls/owner-key.pem`, keyPem);
  await Bun.write(`${device.place.folder}/tls/owner.pem`, certificatePem);
  const target = `${device.network.deviceAddress}:${tlsPort}`;
  await eventually(() => {
    const command = device.network.onNeighbour(["openssl", "s_client", "-connect", target]);
    expect(Bun.spawnSync([...command], { stdin: null }).stdout.toString()).toMatch(/CN ?= ?owner/);
  });
});

remoteTest("tls_port = 0 switches it off", async () => {
  await device.stop();
  await device.config(`[api]\ntls_port = 0\n${noReaders}`);
  await device.start();
  const url = `https://${device.network.deviceAddress}:${tlsPort}/ping`;
  await expect(visit(device.network.onNeighbour, { url, anyCertificate: true })).rejects.toThrow(
    "visitor failed",
  );
});
