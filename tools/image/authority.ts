/**
 * The authority that signs updates: X.509 certificates of one folder, made by openssl.
 *
 *   ca.pem  ca.key          the authority, for 20 years; P-256
 *   sign.pem  sign.key      the certificate that signs now, for 10 years
 *   issued/<serial>.pem     every certificate that ever signed
 *   keyring.pem             the authority and its list of revoked certificates: overlay/etc/rauc/keyring.pem of an image
 *   ca.cnf  index.txt ...   the files of `openssl ca`
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import {
  appendFile,
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  writeFile,
} from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf } from "../../src/core/errors.ts";
import { run } from "./run.ts";

/** The files that sign a bundle, and those that check it. */
export interface Authority {
  readonly certificate: string;
  readonly key: string;
  readonly keyring: string;
}

export function authorityIn(folder: string): Authority {
  return {
    certificate: join(folder, "sign.pem"),
    key: join(folder, "sign.key"),
    keyring: join(folder, "keyring.pem"),
  };
}

/**
 * Makes an authority with its first certificate, in a folder that has none yet. Throws if openssl fails. Its key gets its
 * name last: until then another call begins again, and after that a renewal completes the folder.
 */
export async function makeAuthority(folder: string): Promise<Authority> {
  if (existsSync(join(folder, "ca.key")))
    throw new Error(`${folder} has an authority already: renew or revoke its certificates`);
  await mkdir(join(folder, "issued"), { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  await writeFile(join(folder, "ca.cnf"), settings);
  await writeFile(join(folder, "index.txt"), "");
  await writeFile(join(folder, "crlnumber"), "01\n");
  const key = "ca.key.new";
  await makeKey(folder, key);
  await openssl(folder, [
    ...["req", "-x509", "-new", "-key", key, "-days", "7300", "-subj", "/O=Tapdeck/CN=Tapdeck updates"],
    ...["-config", "ca.cnf", "-extensions", "authority_extensions", "-out", "ca.pem"],
  ]);
  await rename(join(folder, key), join(folder, "ca.key"));
  return renewCertificate(folder);
}

/**
 * Makes another key and certificate, which sign from now on. Images that trust the authority also accept the new
 * certificate.
 */
export async function renewCertificate(folder: string): Promise<Authority> {
  requireAuthority(folder);
  const number = (await readdir(join(folder, "issued"))).length + 1;
  await makeKey(folder, "sign.key.new");
  await openssl(folder, [
    ...["req", "-new", "-key", "sign.key.new", "-subj", `/O=Tapdeck/CN=Tapdeck signing ${number}`],
    ...["-config", "ca.cnf", "-out", "sign.csr"],
  ]);
  await certified(folder, [
    ...["-batch", "-notext", "-extensions", "signing_extensions", "-in", "sign.csr", "-out", "sign.pem.new"],
  ]);
  const key = createPrivateKey(await readFile(join(folder, "sign.key.new")));
  const made = await certificateAt(join(folder, "sign.pem.new")).catch(() => undefined); // The error below reports it.
  if (made?.checkPrivateKey(key) !== true) throw notWritten(folder);
  for (const name of ["sign.key", "sign.pem"]) await rename(join(folder, `${name}.new`), join(folder, name));
  const authority = authorityIn(folder);
  if (!existsSync(authority.keyring)) await writeKeyring(folder);
  return authority;
}

/**
 * Revokes a certificate, and writes the keyring that refuses it. A board refuses the certificate once it has an image with this
 * keyring. The path is below the folder, or a full one. Throws for the certificate that signs now.
 */
export async function revokeCertificate(folder: string, certificate: string): Promise<void> {
  requireAuthority(folder);
  const signing = join(folder, "sign.pem");
  const revoked = await certificateAt(resolve(folder, certificate));
  if (existsSync(signing) && revoked.fingerprint256 === (await certificateAt(signing)).fingerprint256)
    throw new Error(
      `${certificate} signs now, so renew first: make update-authority FOLDER=${folder} RENEW=1`,
    );
  // openssl refuses a second revocation, and an earlier call may have been cut off before its keyring.
  const index = await readFile(join(folder, "index.txt"), "utf8");
  const isListed = index
    .split("\n")
    .some((line) => line.startsWith("R\t") && line.split("\t").includes(revoked.serialNumber));
  if (!isListed) await certified(folder, ["-revoke", certificate]);
  await writeKeyring(folder);
}

/** Throws a sentence if boards would refuse the folder's signatures. A folder without the keyring is not checked for that. */
export async function checkSigner(folder: string): Promise<void> {
  const { certificate, key, keyring } = authorityIn(folder);
  const missing = [certificate, key].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new Error(`there is no ${missing}: make update-authority FOLDER=${folder} makes it`);
  if (!existsSync(keyring)) return;
  try {
    await run(["openssl", "verify", "-crl_check", "-CAfile", keyring, certificate]);
  } catch (error) {
    const why = /certificate revoked|certificate has expired/.exec(messageOf(error))?.[0];
    if (why === undefined) throw error;
    throw new Error(`${certificate}: ${why}; renew it: make update-authority FOLDER=${folder} RENEW=1`, {
      cause: error,
    });
  }
}

function requireAuthority(folder: string): void {
  if (!existsSync(join(folder, "ca.key")))
    throw new Error(`${folder} has no authority: make update-authority FOLDER=${folder} makes one`);
}

async function certificateAt(path: string): Promise<X509Certificate> {
  if (!existsSync(path)) throw new Error(`there is no certificate ${path}`);
  try {
    return new X509Certificate(await readFile(path));
  } catch (error) {
    throw new Error(`${path} is no certificate`, { cause: error });
  }
}

/** The list must be valid at the time of each signature, even of an earlier one, because a board has no clock. */
async function writeKeyring(folder: string): Promise<void> {
  const number = join(folder, "crlnumber");
  // A full disk empties this file. The time is a higher number than any before.
  if ((await stat(number)).size === 0) {
    const digits = Math.floor(Date.now() / 1000).toString(16);
    await writeFile(number, `${digits.padStart(8, "0")}\n`);
  }
  await certified(folder, [
    ...["-gencrl", "-out", "revoked.pem"],
    ...["-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20991231235959Z"],
  ]);
  const list = await readFile(join(folder, "revoked.pem"), "utf8");
  if (!list.endsWith("-----END X509 CRL-----\n")) throw notWritten(folder);
  const fresh = join(folder, "keyring.pem.new");
  await copyFile(join(folder, "ca.pem"), fresh);
  await appendFile(fresh, await readFile(join(folder, "revoked.pem")));
  await rename(fresh, join(folder, "keyring.pem"));
}

async function makeKey(folder: string, name: string): Promise<void> {
  await writeFile(join(folder, name), "", { mode: 0o600 });
  await openssl(folder, ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", name]);
}

/**
 * Runs `openssl ca`, which ends well on a full disk and may empty its index. Without the index, a later list would lack the
 * certificates that were revoked before. The earlier index then comes back, and this throws.
 */
async function certified(folder: string, words: readonly string[]): Promise<void> {
  const index = join(folder, "index.txt");
  const lines = async () => (await readFile(index, "utf8")).split("\n").length;
  const before = await lines();
  await openssl(folder, ["ca", "-config", "ca.cnf", ...words]);
  if ((await lines()) >= before) return;
  await rename(`${index}.old`, index);
  throw notWritten(folder);
}

function notWritten(folder: string): Error {
  return new Error(`openssl could not write its files in ${folder}: is the disk full?`);
}

async function openssl(cwd: string, words: readonly string[]): Promise<void> {
  await run(["openssl", ...words], { cwd });
}

/** The settings of openssl, with paths below the folder (its manual, ca(1) and x509v3_config(5)). */
const settings = `[req]
distinguished_name = name
[name]
[ca]
default_ca = authority
[authority]
database = index.txt
new_certs_dir = issued
rand_serial = yes
crlnumber = crlnumber
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_days = 3650
unique_subject = no
policy = subject
[subject]
organizationName = match
commonName = supplied
[authority_extensions]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
[signing_extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = emailProtection,codeSigning
`;
