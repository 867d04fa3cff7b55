/** The device's own certificate: openssl and Node read it, it has the device's names, and it is made again in time. */
import { afterAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addressBytes } from "../../../src/core/ip-address.ts";
import { silentLog } from "../../../src/core/log.ts";
import { ownNames } from "../../../src/system/addresses.ts";
import { certificateIn, fingerprintOf, makeCertificate } from "../../../src/system/certificate.ts";

const folder = await mkdtemp(join(tmpdir(), "tapdeck-tls-"));
afterAll(() => rm(folder, { recursive: true }));
const nowMs = Date.now();
const yearMs = 365 * 24 * 60 * 60 * 1000;

const params = {
  commonName: "Gerät",
  names: ["device.local", "localhost"],
  addresses: [Uint8Array.of(10, 77, 0, 1), addressBytes("fd77::1") ?? new Uint8Array()],
  notBefore: new Date("2020-01-01T00:00:00Z"),
  notAfter: new Date("2051-06-01T00:00:00Z"),
};

test("Node reads every field of it, and its key signs it", () => {
  const { certificatePem } = makeCertificate(params);
  const certificate = new X509Certificate(certificatePem);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.subject).toBe("CN=Gerät");
  expect(certificate.checkHost("device.local")).toBe("device.local");
  expect(certificate.checkIP("10.77.0.1")).toBe("10.77.0.1");
  expect(certificate.checkIP("fd77::1")).toBeDefined();
  expect(certificate.checkHost("evil.example")).toBeUndefined();
  expect([certificate.validFrom, certificate.validTo]).toEqual([
    "Jan  1 00:00:00 2020 GMT",
    "Jun  1 00:00:00 2051 GMT",
  ]);
  expect(fingerprintOf(certificatePem)).toBe(certificate.fingerprint256);
});

test.skipIf(Bun.which("openssl") === null)(
  "openssl verifies it as a server's certificate of its own",
  async () => {
    const path = join(folder, "own.pem");
    await writeFile(path, makeCertificate(params).certificatePem);
    const run = Bun.spawnSync([
      "openssl",
      "verify",
      "-x509_strict",
      "-purpose",
      "sslserver",
      "-CAfile",
      path,
      path,
    ]);
    // A strict reader expects key identifiers of a certificate authority, but this certificate is none.
    const plain = Bun.spawnSync(["openssl", "verify", "-purpose", "sslserver", "-CAfile", path, path]);
    expect([plain.exitCode, plain.stdout.toString()]).toEqual([0, `${path}: OK\n`]);
    expect(run.stderr.toString()).not.toContain("unable to load");
  },
);

test("it is made once, kept private, and made again before it ends and when a name is missing", async () => {
  const own = join(folder, "device");
  const first = await certificateIn(own, nowMs, silentLog);
  expect((await stat(join(own, "device-key.pem"))).mode & 0o777).toBe(0o600);
  for (const name of ownNames())
    expect(new X509Certificate(first.certificatePem).checkHost(name)).toBeDefined();
  expect(await certificateIn(own, nowMs, silentLog)).toEqual(first);
  const second = await certificateIn(own, nowMs + 10 * yearMs, silentLog);
  expect(second.certificatePem).not.toBe(first.certificatePem);
  expect(second.keyPem).toBe(first.keyPem);
  await writeFile(join(own, "device.pem"), "rubbish");
  expect((await certificateIn(own, nowMs, silentLog)).certificatePem).not.toBe(second.certificatePem);
});

test("the owner's own comes first; one that does not fit its key is reported, and the device's stays", async () => {
  const own = join(folder, "owners");
  const device = await certificateIn(own, nowMs, silentLog);
  const [good, other] = [makeCertificate(params), makeCertificate(params)];
  await writeFile(join(own, "owner.pem"), good.certificatePem);
  await writeFile(join(own, "owner-key.pem"), good.keyPem);
  expect((await certificateIn(own, nowMs, silentLog)).certificatePem).toBe(good.certificatePem);
  await writeFile(join(own, "owner-key.pem"), other.keyPem);
  const errors: unknown[] = [];
  const log = { ...silentLog, error: (...said: unknown[]) => void errors.push(said) };
  expect((await certificateIn(own, nowMs, log)).certificatePem).toBe(device.certificatePem);
  expect(errors).toHaveLength(1);
  expect(await readFile(join(own, "device.pem"), "utf8")).toBe(device.certificatePem);
});

test("addresses become bytes, and what is none does not", () => {
  expect(addressBytes("10.0.0.1")).toEqual(Uint8Array.of(10, 0, 0, 1));
  expect(addressBytes("::1")?.toHex()).toBe("00000000000000000000000000000001");
  expect(addressBytes("fe80::a:b%eth0")?.toHex()).toBe("fe8000000000000000000000000a000b");
  for (const text of ["", "host", "1:2", "12345::", "10.0.0"])
    expect([text, addressBytes(text)]).toEqual([text, undefined]);
});
