/** The certificates that may replace a client certificate, and the one that is used. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endOfCertificate, newestCertificate, renewalFault } from "../../../src/system/client-certificate.ts";
import { printed } from "../../helpers/processes.ts";

const opensslTest = test.skipIf(Bun.which("openssl") === null);
const dayMs = 24 * 60 * 60_000;

let folder = "";
const read = (name: string) => readFile(join(folder, name), "utf8");
/** Signs `<name>.pem` for a key of the folder. */
const sign = (name: string, key: string, subject: string, days: number, by = "ca", extension = "CA:FALSE") =>
  printed([
    "sh",
    "-euc",
    `cd "$1"; printf 'basicConstraints=critical,${extension}\n' >ext
openssl req -new -key ${key}.key -subj "${subject}" -out request
openssl x509 -req -in request -CA ${by}.pem -CAkey ${by}.key -CAserial serial -CAcreateserial -days ${days} -extfile ext -out ${name}.pem 2>said`,
    "sh",
    folder,
  ]);

beforeAll(async () => {
  if (Bun.which("openssl") === null) return;
  folder = await mkdtemp(join(tmpdir(), "tapdeck-renewal-"));
  for (const name of ["deck", "second"])
    await printed([
      "openssl",
      "ecparam",
      "-name",
      "prime256v1",
      "-genkey",
      "-noout",
      "-out",
      join(folder, `${name}.key`),
    ]);
  // Two authorities of one name, with keys of their own.
  for (const name of ["ca", "false"])
    await printed([
      ...[
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "3000",
      ],
      ...[
        "-subj",
        "/O=Tapdeck/CN=Fleet",
        "-keyout",
        join(folder, `${name}.key`),
        "-out",
        join(folder, `${name}.pem`),
      ],
    ]);
  await sign("present", "deck", "/O=Tapdeck/CN=hall-1", 20);
  await sign("renewed", "deck", "/O=Tapdeck/CN=hall-1", 400);
  await sign("key", "second", "/O=Tapdeck/CN=hall-1", 400);
  await sign("name", "deck", "/O=Tapdeck/CN=hall-2", 400);
  await sign("stranger", "deck", "/O=Tapdeck/CN=hall-1", 400, "false");
  await sign("authority", "deck", "/O=Tapdeck/CN=hall-1", 400, "ca", "CA:TRUE");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

opensslTest("only a certificate of the same key and name, by a known authority, is a renewal", async () => {
  const present = { cert: await read("present.pem"), key: await read("deck.key"), ca: await read("ca.pem") };
  const fault = async (name: string, nowMs = Date.now()) => renewalFault(await read(name), present, nowMs);
  expect(await fault("renewed.pem")).toBeUndefined();
  expect(
    renewalFault(
      await read("renewed.pem"),
      { ...present, ca: (await read("false.pem")) + present.ca },
      Date.now(),
    ),
  ).toBeUndefined();
  expect(await fault("key.pem")).toBe("it is for another key");
  expect(renewalFault(await read("renewed.pem"), { ...present, key: "garbage" }, Date.now())).toBe(
    "it is for another key",
  );
  expect(await fault("name.pem")).toBe("it is for another name");
  expect(await fault("stranger.pem")).toBe("no authority of mqtt.ca signed it");
  expect(await fault("authority.pem")).toBe("it is an authority");
  expect(await fault("deck.key")).toBe("it is no certificate in PEM");
  expect(await fault("renewed.pem", Date.now() - dayMs)).toBe("it is not valid yet");
});

opensslTest("each single damaged byte of a renewal is refused", async () => {
  const present = { cert: await read("present.pem"), key: await read("deck.key"), ca: await read("ca.pem") };
  const lines = (await read("renewed.pem")).trim().split("\n");
  const bytes = Buffer.from(lines.slice(1, -1).join(""), "base64");
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Uint8Array.from(bytes, (byte, place) => (place === at ? byte ^ 0x41 : byte));
    const body = Buffer.from(damaged).toString("base64");
    const text = `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
    expect([at, renewalFault(text, present, Date.now())]).toEqual([at, expect.any(String)]);
  }
});

opensslTest("the kept renewal counts while it ends later, and never for another key or name", async () => {
  const pair = { cert: await read("present.pem"), key: await read("deck.key") };
  const path = join(folder, "kept.pem");
  const newest = async (kept: string, of = pair) => {
    await writeFile(path, kept);
    return (await newestCertificate(of, path)).trim();
  };
  expect((await newestCertificate(pair, join(folder, "absent.pem"))).trim()).toBe(pair.cert.trim());
  const renewed = (await read("renewed.pem")).trim();
  expect(await newest(renewed)).toBe(renewed);
  for (const kept of ["", "garbage", await read("key.pem"), await read("name.pem"), pair.cert])
    expect(await newest(kept)).toBe(pair.cert.trim());
  // A new card has a later certificate.
  expect(await newest(pair.cert, { ...pair, cert: renewed })).toBe(renewed);
});

opensslTest("the end is that of a certificate or a chain, and a bundle of authorities has none", async () => {
  const days = (pem: string) => Math.round(((endOfCertificate(pem) ?? 0) - Date.now()) / dayMs);
  const leaf = await read("renewed.pem");
  const authority = await read("ca.pem");
  expect([days(leaf), days(leaf + authority), days(authority)]).toEqual([400, 400, 3000]);
  expect(endOfCertificate(authority + authority)).toBeUndefined();
  expect(endOfCertificate("")).toBeUndefined();
});
