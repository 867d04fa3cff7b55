/**
 * The part of a backup that only its passphrase opens: clients and keys. Argon2id (RFC 9106) derives a key of 32 bytes, and
 * XChaCha20-Poly1305 of libsodium encrypts with it. The salt and the nonce are random, and the parameters of Argon2id are
 * stored. 64 MiB of memory is an eighth of the smallest board's.
 */
import { argon2 } from "node:crypto";
import {
  backupKeyMemoryKibMax,
  backupKeyPassesMax,
  backupPassphraseCharsMax,
  backupPassphraseCharsMin,
} from "../core/console-limits.ts";
import { coded, failed } from "../core/errors.ts";
import { isRecord, parseJson } from "../core/text.ts";

/** Binary values are base64. */
export interface SealedPart {
  readonly salt: string;
  readonly memoryKib: number;
  readonly passes: number;
  readonly nonce: string;
  readonly box: string;
}

const keyBytes = 32;
const saltBytes = 16;
const nonceBytes = 24;
const tagBytes = 16;
const context = new TextEncoder().encode("tapdeck-backup-1");

/** Throws `failed` for a passphrase that is too short to protect anything. */
export async function sealPart(value: unknown, passphrase: string): Promise<SealedPart> {
  const length = [...passphrase].length;
  if (length < backupPassphraseCharsMin || length > backupPassphraseCharsMax)
    throw coded(
      "backup-passphrase-length",
      failed(
        `a passphrase has ${backupPassphraseCharsMin} to ${backupPassphraseCharsMax} characters, and this one has ${length}`,
      ),
      { min: backupPassphraseCharsMin, max: backupPassphraseCharsMax },
    );
  const salt = randomBytes(saltBytes);
  const nonce = randomBytes(nonceBytes);
  const memoryKib = backupKeyMemoryKibMax;
  const passes = backupKeyPassesMax;
  const key = await keyOf(passphrase, { salt, memoryKib, passes });
  const sodium = await loadSodium();
  const text = new TextEncoder().encode(JSON.stringify(value));
  const box = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(text, context, null, nonce, key);
  return { salt: toBase64(salt), memoryKib, passes, nonce: toBase64(nonce), box: toBase64(box) };
}

/** The value; undefined if the passphrase is wrong. Throws `failed` if the part is malformed. */
export async function openPart(part: unknown, passphrase: string): Promise<unknown> {
  const { salt, nonce, box, memoryKib, passes } = checkedPart(part);
  const key = await keyOf(passphrase, { salt, memoryKib, passes });
  const sodium = await loadSodium();
  try {
    const text = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, box, context, nonce, key);
    return parseJson(new TextDecoder().decode(text));
  } catch {
    // The authentication tag does not match.
    return undefined;
  }
}

function checkedPart(part: unknown) {
  const { salt, nonce, box, memoryKib, passes } = isRecord(part) ? part : {};
  const isWithin = (value: unknown, max: number): value is number =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max;
  if (!isWithin(memoryKib, backupKeyMemoryKibMax) || !isWithin(passes, backupKeyPassesMax)) throw malformed();
  const bytes = { salt: fromBase64(salt), nonce: fromBase64(nonce), box: fromBase64(box) };
  if (bytes.salt.length !== saltBytes || bytes.nonce.length !== nonceBytes || bytes.box.length < tagBytes)
    throw malformed();
  return { ...bytes, memoryKib, passes };
}

const malformed = () =>
  failed("the encrypted part of this backup is not as this version of Tapdeck writes it");

/** It runs on a thread of the runtime, because it takes 0.4 s on a PC and no tap must wait for it. */
function keyOf(
  passphrase: string,
  {
    salt,
    memoryKib,
    passes,
  }: { readonly salt: Uint8Array; readonly memoryKib: number; readonly passes: number },
): Promise<Uint8Array> {
  // A passphrase that keyboards can encode in several ways gets one form (Unicode NFC).
  const message = new TextEncoder().encode(passphrase.normalize("NFC"));
  const params = { message, nonce: salt, parallelism: 1, tagLength: keyBytes, memory: memoryKib, passes };
  return new Promise((resolve, reject) => {
    argon2("argon2id", params, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

async function loadSodium() {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  return sodium;
}

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count));
const toBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const fromBase64 = (text: unknown) =>
  new Uint8Array(Buffer.from(typeof text === "string" ? text : "", "base64"));
