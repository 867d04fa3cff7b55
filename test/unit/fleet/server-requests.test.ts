/** The files of a device's account at a server of updates. */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { accountReader } from "../../../src/fleet/server-requests.ts";
import { makeCertificate } from "../../../src/system/certificate.ts";

const certificate = (year: number, keyPem?: string) =>
  makeCertificate({
    commonName: "hall-1",
    names: ["hall-1"],
    addresses: [],
    notBefore: new Date("2026-01-01"),
    notAfter: new Date(`${year}-01-01`),
    ...(keyPem === undefined ? {} : { keyPem }),
  });

test("a renewed certificate of the data folder counts at the next request, and only for its own key", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-account-"));
  try {
    const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
    const present = certificate(2030);
    await write("client.pem", present.certificatePem);
    await write("client.key", present.keyPem);
    const files = { caFile: "", certificateFile: "client.pem", keyFile: "client.key", tokenFile: "" };
    const read = accountReader(files, folder, silentLog);
    const cert = async () => (await read()).tls.cert?.trim();
    expect(await cert()).toBe(present.certificatePem.trim());
    const renewed = certificate(2040, present.keyPem).certificatePem;
    await write("client-renewed.pem", renewed);
    expect(await cert()).toBe(renewed.trim());
    await write("client-renewed.pem", certificate(2040).certificatePem);
    expect(await cert()).toBe(present.certificatePem.trim());
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a file that is absent is named in words, with its setting", async () => {
  const files = { caFile: "ca.pem", certificateFile: "", keyFile: "", tokenFile: "" };
  const read = accountReader(files, "/absent", silentLog);
  await expect(read()).rejects.toThrow(
    "fleet.ca_file: cannot read /absent/ca.pem: there is no such file or folder",
  );
});
