/**
 * A certificate that the device signs itself: ECDSA on P-256 with SHA-256, for the names and addresses that it has now
 * (RFC 5280; DER of X.690). Written here because the libraries that do it bring some twenty packages and a global
 * polyfill for these hundred lines.
 *
 *   Certificate     ::= SEQUENCE { tbs, algorithm, signature BIT STRING }
 *   TBSCertificate  ::= SEQUENCE { [0] version 2, serial, algorithm, issuer, validity, subject, spki, [3] extensions }
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from "node:crypto";

export interface CertificateParams {
  /** Of subject and issuer. */
  readonly commonName: string;
  /** DNS names, ASCII. */
  readonly names: readonly string[];
  /** IPv4 as `10.0.0.1`, IPv6 as 16 bytes in hex. */
  readonly addresses: readonly Uint8Array[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Of this key, on P-256; of a new one where absent. */
  readonly keyPem?: string;
}

export interface Certificate {
  readonly certificatePem: string;
  /** PKCS #8. */
  readonly keyPem: string;
}

/** Makes a certificate, and its key where none is given. */
export function makeCertificate({
  commonName,
  names,
  addresses,
  notBefore,
  notAfter,
  keyPem,
}: CertificateParams): Certificate {
  const privateKey =
    keyPem === undefined
      ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
      : createPrivateKey(keyPem);
  const publicKey = createPublicKey(privateKey);
  const name = sequence(set(sequence(objectId(oids.commonName), utf8(commonName))));
  const alternatives = sequence(
    ...names.map((one) => tagged(0x82, new TextEncoder().encode(one))),
    ...addresses.map((one) => tagged(0x87, one)),
  );
  const extensions = sequence(
    extension(oids.subjectAltName, alternatives),
    extension(oids.basicConstraints, sequence(), true),
    // Digital signature: the first bit of seven.
    extension(oids.keyUsage, tagged(0x03, Uint8Array.of(7, 0x80)), true),
    extension(oids.extKeyUsage, sequence(objectId(oids.serverAuth))),
  );
  // Positive, and 127 bits of chance.
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
    certificatePem: pem("CERTIFICATE", certificate),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** SHA-256 of a certificate in PEM, as browsers show it: `AB:CD:...`. */
export function fingerprintOf(certificatePem: string): string {
  const [, body = ""] = /-----BEGIN CERTIFICATE-----([^-]+)-----END/.exec(certificatePem) ?? [];
  const digest = createHash("sha256").update(Buffer.from(body, "base64")).digest("hex").toUpperCase();
  return digest.replace(/..(?=.)/g, "$&:");
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

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, 4.1.2.5). */
function time(date: Date): Uint8Array {
  const digits = date.toISOString().replace(/[-:T]/g, "").slice(0, 14);
  const isShort = date.getUTCFullYear() < 2050;
  return tagged(isShort ? 0x17 : 0x18, new TextEncoder().encode(`${isShort ? digits.slice(2) : digits}Z`));
}

/** The first two numbers share a byte; the rest are in base 128, high digits first and marked (X.690, 8.19). */
function objectId([first = 0, second = 0, ...rest]: readonly number[]): Uint8Array {
  const groups = rest.flatMap((number) => {
    const digits = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Uint8Array.of(40 * first + second, ...groups));
}

function utf8(text: string): Uint8Array {
  return tagged(0x0c, new TextEncoder().encode(text));
}

function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(0x31, Buffer.concat(parts));
}

/** Tag, length (short, or as many bytes as it needs behind their number), content (X.690, 8.1). */
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

function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
