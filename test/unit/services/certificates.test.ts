/** Certificates that end, as `health` lists and reports them. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateEnds } from "../../../src/services/certificates.ts";
import { makeCertificate } from "../../../src/system/certificate.ts";
import { defaultConfig } from "../../helpers/defaults.ts";

const dayMs = 24 * 60 * 60_000;
const nowMs = Date.parse("2030-01-01T00:00:00Z");

test("the certificates are those of the settings, the owner's own and the broker's; a file that is absent is left out", async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), "tapdeck-certificates-"));
  try {
    const make = async (name: string, days: number) => {
      const notAfter = new Date(nowMs + days * dayMs);
      const made = makeCertificate({
        commonName: name,
        names: [name],
        addresses: [],
        notBefore: new Date(nowMs),
        notAfter,
      });
      await writeFile(join(dataFolder, `${name}.pem`), made.certificatePem);
      await writeFile(join(dataFolder, `${name}-key.pem`), made.keyPem);
    };
    await mkdir(join(dataFolder, "tls"));
    await make("tls/owner", 10);
    await make("client", 20);
    await make("authority", 30);
    const settings = {
      certificate: "client.pem",
      key: "client-key.pem",
      ca: join(dataFolder, "authority.pem"),
    };
    const ends = createCertificateEnds({
      config: () => ({
        ...defaultConfig,
        mqtt: { ...defaultConfig.mqtt, ...settings },
        cards: { ...defaultConfig.cards, caFile: "absent.pem" },
      }),
      dataFolder,
      broker: () => ({ of: "broker", endMs: nowMs + 40 * dayMs, host: "broker.lan" }),
    });
    expect((await ends()).map(({ of, endMs }) => [of, (endMs - nowMs) / dayMs])).toEqual([
      ["tls/owner.pem", 10],
      ["mqtt.certificate", 20],
      ["mqtt.ca", 30],
      ["broker", 40],
    ]);
  } finally {
    await rm(dataFolder, { recursive: true });
  }
});
