/**
 * The certificate of the service over TLS, in the data folder's `tls`. It is the owner's certificate (`owner.pem`,
 * `owner-key.pem`) if there is one. Otherwise the device makes its own certificate, and a new one after its names or
 * addresses have changed.
 *
 * The device signs its certificate itself: ECDSA on P-256 with SHA-256 (RFC 5280; DER of X.690). Libraries for this task
 * would bring twenty packages and a global polyfill, instead of a hundred lines.
 *
 *   Certificate     ::= SEQUENCE { tbs, algorithm, signature BIT STRING }
 *   TBSCertificate  ::= SEQUENCE { [0] version 2, serial, algorithm, issuer, validity, subject, spki, [3] extensions }
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { addressBytes } from "../core/ip-address.ts";
import type { Log } from "../core/log.ts";
import { lastingAddresses, ownAddresses, ownNames } from "./addresses.ts";

interface CertificateParams {
  /** The common name of subject and issuer. */
  readonly commonName: string;
  /** DNS names in ASCII. */
  readonly names: readonly string[];
  /** IP addresses of 4 or 16 bytes each. */
  readonly addresses: readonly Uint8Array[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** A key on P-256. If absent, a new key is made. */
  readonly keyPem?: string;
}

export interface Certificate {
  readonly certificatePem: string;
  /** The private key in PKCS #8. */
  readonly keyPem: string;
}

/** Makes a certificate, and a key if none is given. */
export function makeCertificate(params: CertificateParams): Certificate {
  const { commonName, names, addresses, notBefore, notAfter, keyPem } = params;
  const privateKey =
    keyPem === undefined
      ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      : createPrivateKey(keyPem);
  const publicKey = createPublicKey(privateKey);
  const name = sequence(
    tagged(0x31, sequence(objectId(oids.commonName), tagged(0x0c, new TextEncoder().encode(commonName)))),
  );
  const alternatives = sequence(
    ...names.map((one) => tagged(0x82, new TextEncoder().encode(one))),
    ...addresses.map((one) => tagged(0x87, one)),
  );
  const extensions = sequence(
    extension(oids.subjectAltName, alternatives),
    extension(oids.basicConstraints, sequence(), true),
    // The flag digitalSignature is the first bit. The other seven bits of the byte are unused (RFC 5280, 4.2.1.3).
    extension(oids.keyUsage, tagged(0x03, Uint8Array.of(7, 0x80)), true),
    extension(oids.extKeyUsage, sequence(objectId(oids.serverAuth))),
  );
  // A positive number with 120 random bits.
  const serial = Uint8Array.of(1, ...randomBytes(15));
  const tbs = sequence(
    tagged(0xa0, tagged(0x02, Uint8Array.of(2))),
    tagged(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    new Uint8Array(publicKey.export({ type: "spki", format: "der" })),
    tagged(0xa3, extensions),
  );
  const signature = sign("sha256", tbs, privateKey);
  const certificate = sequence(tbs, ecdsaWithSha256, tagged(0x03, Uint8Array.of(0, ...signature)));
  return {
    certificatePem: new X509Certificate(certificate).toString(),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** The SHA-256 of a certificate in PEM, as browsers show it: `AB:CD:...`. */
export function fingerprintOf(certificatePem: string): string {
  return new X509Certificate(certificatePem).fingerprint256;
}

const oids = {
  commonName: [2, 5, 4, 3],
  subjectAltName: [2, 5, 29, 17],
  basicConstraints: [2, 5, 29, 19],
  keyUsage: [2, 5, 29, 15],
  extKeyUsage: [2, 5, 29, 37],
  serverAuth: [1, 3, 6, 1, 5, 5, 7, 3, 1],
  ecdsaWithSha256: [1, 2, 840, 10045, 4, 3, 2],
} as const;

function extension(id: readonly number[], value: Uint8Array, critical = false): Uint8Array {
  const isCritical = critical ? [tagged(0x01, Uint8Array.of(0xff))] : [];
  return sequence(objectId(id), ...isCritical, tagged(0x04, value));
}

/** A time: UTCTime until 2049, and GeneralizedTime after that (RFC 5280, 4.1.2.5). */
function time(date: Date): Uint8Array {
  const digits = date.toISOString().replace(/[-:T]/g, "").slice(0, 14);
  const isShort = date.getUTCFullYear() < 2050;
  return tagged(isShort ? 0x17 : 0x18, new TextEncoder().encode(`${isShort ? digits.slice(2) : digits}Z`));
}

/**
 * An object identifier. The first two numbers share a byte. The others are in base 128, high digits first, and all
 * digits but the last are marked (X.690, 8.19).
 */
function objectId([first = 0, second = 0, ...rest]: readonly number[]): Uint8Array {
  const groups = rest.flatMap((number) => {
    const digits = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Uint8Array.of(40 * first + second, ...groups));
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(0x30, Buffer.concat(parts));
}

/** A value with its tag and length. The length is one byte, or the number of its bytes followed by these (X.690, 8.1). */
function tagged(tag: number, content: Uint8Array): Uint8Array {
  const length: number[] = [];
  if (content.length < 0x80) length.push(content.length);
  else {
    for (let left = content.length; left > 0; left >>= 8) length.unshift(left & 0xff);
    length.unshift(0x80 | length.length);
  }
  return Buffer.concat([Uint8Array.of(tag, ...length), content]);
}

const ecdsaWithSha256 = sequence(objectId(oids.ecdsaWithSha256));

const yearsValid = 10;
const dayMs = 24 * 60 * 60 * 1000;
// The clock of a board without a battery starts in the past, so certificates are valid from this time on.
const earliest = new Date("2020-01-01T00:00:00Z");
const renewDaysBefore = 30;

/** Reads the certificate, or makes it. Throws if the folder cannot be used. */
export async function certificateIn(folder: string, nowMs: number, log: Log): Promise<Certificate> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const owners = await readPair(join(folder, "owner.pem"), join(folder, "owner-key.pem"));
  if (owners !== undefined) {
    const fault = certificateFault(owners);
    if (fault === undefined) return owners;
    log.error("tls", "the owner's certificate cannot be used, so the device shows its own", { fault });
  }
  const certificatePath = join(folder, "device.pem");
  const keyPath = join(folder, "device-key.pem");
  const known = await readPair(certificatePath, keyPath);
  if (known !== undefined && certificateFault(known) === undefined && isFresh(known, nowMs)) return known;
  const made = makeCertificate({
    commonName: ownNames()[0] ?? "tapdeck",
    names: ownNames(),
    addresses: ownAddresses().flatMap((address) => addressBytes(address) ?? []),
    notBefore: earliest,
    notAfter: new Date(Math.max(nowMs, earliest.getTime()) + yearsValid * 365 * dayMs),
    // The key stays the same, so clients still trust the certificate.
    ...(known === undefined || certificateFault(known) !== undefined ? {} : { keyPem: known.keyPem }),
  });
  await writePrivate(keyPath, made.keyPem);
  await writePrivate(certificatePath, made.certificatePem);
  const addresses = lastingAddresses().join(" ");
  log.info("tls", "made a certificate", { names: ownNames().join(" "), addresses });
  return made;
}

async function readPair(certificatePath: string, keyPath: string): Promise<Certificate | undefined> {
  try {
    const certificatePem = await readFile(certificatePath, "utf8");
    return { certificatePem, keyPem: await readFile(keyPath, "utf8") };
  } catch {
    // One of the files is missing, so there is no certificate.
    return undefined;
  }
}

/** The reason why a certificate and a key cannot be used together; undefined if they can. */
export function certificateFault({ certificatePem, keyPem }: Certificate): string | undefined {
  try {
    const isPair = new X509Certificate(certificatePem).checkPrivateKey(createPrivateKey(keyPem));
    return isPair ? undefined : "the key does not belong to it";
  } catch (error) {
    return messageOf(error);
  }
}

/** True if the certificate covers all present names and lasting addresses, and does not expire soon. */
function isFresh({ certificatePem }: Certificate, nowMs: number): boolean {
  const certificate = new X509Certificate(certificatePem);
  return (
    Date.parse(certificate.validTo) - nowMs > renewDaysBefore * dayMs &&
    ownNames().every((name) => certificate.checkHost(name) !== undefined) &&
    lastingAddresses().every((address) => certificate.checkIP(address) !== undefined)
  );
}

async function writePrivate(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { flush: true, mode: 0o600 });
  await rename(`${path}.new`, path);
}
