/**
 * The certificate that the service shows over TLS, in the data folder's `tls`: the owner's own (`owner.pem`,
 * `owner-key.pem`) where it is there, else one that the device makes and makes anew when its names or addresses change.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { addressBytes } from "../core/ip-address.ts";
import type { Log } from "../core/log.ts";
import { lastingAddresses, ownAddresses, ownNames } from "./addresses.ts";
import { type Certificate, makeCertificate } from "./certificate.ts";

const yearsValid = 10;
const dayMs = 24 * 60 * 60 * 1000;
// A board without a clock of its own starts in the past.
const earliest = new Date("2020-01-01T00:00:00Z");
const renewDaysBefore = 30;

/** Reads the certificate, or makes it. Throws where the folder cannot be used. */
export async function certificateIn(folder: string, nowMs: number, log: Log): Promise<Certificate> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const owners = await readPair(join(folder, "owner.pem"), join(folder, "owner-key.pem"));
  if (owners !== undefined) {
    const fault = faultOf(owners);
    if (fault === undefined) return owners;
    log.error("tls", "the owner's certificate cannot be used, so the device shows its own", { fault });
  }
  const [certificatePath, keyPath] = [join(folder, "device.pem"), join(folder, "device-key.pem")];
  const known = await readPair(certificatePath, keyPath);
  if (known !== undefined && faultOf(known) === undefined && isFresh(known, nowMs)) return known;
  const made = makeCertificate({
    commonName: ownNames()[0] ?? "tapdeck",
    names: ownNames(),
    addresses: addressesNow(),
    notBefore: earliest,
    notAfter: new Date(Math.max(nowMs, earliest.getTime()) + yearsValid * 365 * dayMs),
    // Who trusts the key goes on trusting it.
    ...(known === undefined || faultOf(known) !== undefined ? {} : { keyPem: known.keyPem }),
  });
  await writePrivate(keyPath, made.keyPem);
  await writePrivate(certificatePath, made.certificatePem);
  const addresses = lastingAddresses().join(" ");
  log.info("tls", "made a certificate", { names: ownNames().join(" "), addresses });
  return made;
}

async function readPair(certificatePath: string, keyPath: string): Promise<Certificate | undefined> {
  try {
    const [certificatePem, keyPem] = await Promise.all([
      readFile(certificatePath, "utf8"),
      readFile(keyPath, "utf8"),
    ]);
    return { certificatePem, keyPem };
  } catch {
    // Not there, or half of it: as good as not there.
    return undefined;
  }
}

function faultOf({ certificatePem, keyPem }: Certificate): string | undefined {
  try {
    const isPair = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
    return isPair ? undefined : "the key does not belong to it";
  } catch (error) {
    return messageOf(error);
  }
}

/** For all names and lasting addresses that the device has now, and not about to end. */
function isFresh({ certificatePem }: Certificate, nowMs: number): boolean {
  const certificate = new X509Certificate(certificatePem);
  return (
    Date.parse(certificate.validTo) - nowMs > renewDaysBefore * dayMs &&
    ownNames().every((name) => certificate.checkHost(name) !== undefined) &&
    lastingAddresses().every((address) => certificate.checkIP(address) !== undefined)
  );
}

function addressesNow(): readonly Uint8Array[] {
  return ownAddresses().flatMap((address) => addressBytes(address) ?? []);
}

async function writePrivate(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  const file = await open(fresh, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}
