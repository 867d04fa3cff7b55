/**
 * Pairing by a short code: both ends, from text to text (docs/SECURE.md, "Pairing by a code"). The client knows the code
 * that the device shows, and gets an id and a secret for it; CPace keeps both from whoever listens.
 *
 *   hello    {"v":2,"p":"<base64 of Ya>","n":"<name of the client>"}   the client's; ADa is the name's UTF-8
 *   reply    {"v":2,"p":"<base64 of Yb>"}                              the device's; ADb is empty
 *   proof    {"p":"<base64 of the client's tag>"}                      it knows the code
 *   grant    {"p":"<base64 of the device's tag>","e":"<base64>"}       so does the device; id and secret, sealed
 *
 * PRS is the code's digits in ASCII, CI `tapdeck-pair-2:client:device`, sid empty. The seal is ChaCha20-Poly1305 without
 * associated data, its nonce 12 zeros, its key HKDF-Expand (RFC 5869, SHA-512) of ISK with the info `tapdeck-pair-2`, 32
 * bytes; each key seals one message. Inside is the JSON `{"id":"...","secret":"..."}`.
 */
import { clientNameCharsMax, handshakeCharsMax, pairingDigits } from "../core/limits.ts";
import { fromBase64, toBase64 } from "./base64.ts";
import {
  type CpaceInputs,
  type CpaceMessage,
  confirmationOf,
  generatorOf,
  sessionKey,
  shareName,
  shareOf,
} from "./cpace.ts";
import { SecureFailure, secureVersion } from "./failure.ts";
import { keyBytes, loadPrimitives, type Primitives } from "./primitives.ts";
import { hmacSha512 } from "./sha512.ts";
import { wipe } from "./wipe.ts";

/** What a client keeps: the same two as of `clients.new`. */
export interface Credentials {
  readonly id: string;
  /** 64 hex characters. */
  readonly secret: string;
}

export interface PairingClient {
  /** The text to send first. */
  readonly hello: string;
  /** Takes the reply, and returns the proof to send. Throws `SecureFailure` where it is no reply. */
  prove(reply: string): string;
  /** Takes the grant. Throws `SecureFailure` where the other side did not know the code, or it was altered. */
  finish(grant: string): Credentials;
}

export interface PairingHello {
  readonly name: string;
  readonly share: Uint8Array;
}

export interface PairingDevice {
  readonly reply: string;
  /** The one in the reply. A client that sends it in a hello reflects it. */
  readonly share: Uint8Array;
  /** True where the proof shows that the client knows the code. */
  isProof(proof: string): boolean;
  /** To be sent once `isProof` was true: gives the credentials away. */
  grant(credentials: Credentials): string;
  /** Forgets the key. */
  close(): void;
}

/** The code as it is hashed: people write it in groups. Undefined where it is no code. */
export function readCode(text: string): string | undefined {
  const digits = text.replace(/[\s-]/g, "");
  return digits.length === pairingDigits && /^\d+$/.test(digits) ? digits : undefined;
}

/** Begins as the client. `code` has been through `readCode`. */
export async function startPairing(code: string, name: string): Promise<PairingClient> {
  return pairAsClient(await loadPrimitives(), code, name);
}

/** Answers a hello as the device; undefined where its share is forged or our own. */
export async function answerPairing(
  code: string,
  hello: PairingHello,
  generator?: Uint8Array,
): Promise<PairingDevice | undefined> {
  return pairAsDevice(await loadPrimitives(), code, hello, generator);
}

/** The point of the code, which is half of the work of an answer: a device keeps it for all hellos of an opening. */
export function generatorOfCode(code: string): Uint8Array {
  return generatorOf(inputsOf(code));
}

/** A code of digits, each as likely as the others. */
export async function newPairingCode(): Promise<string> {
  const primitives = await loadPrimitives();
  let code = "";
  while (code.length < pairingDigits) {
    const [byte = 255] = primitives.randomBytes(1);
    // 250 is the last multiple of ten: what is above would favour the low digits.
    if (byte < 250) code += byte % 10;
  }
  return code;
}

/** Undefined where the text is anything else, a handshake for instance. */
export function readPairingHello(text: string): PairingHello | undefined {
  const frame = readFrame(text);
  const share = readBytes(frame?.p, keyBytes);
  const name = frame?.n ?? "";
  if (frame?.v !== secureVersion || share === undefined || typeof name !== "string") return undefined;
  return name.length <= clientNameCharsMax && name.isWellFormed() ? { name, share } : undefined;
}

/** `startPairing` at once. */
export function pairAsClient(primitives: Primitives, code: string, name: string): PairingClient {
  const { share, scalar } = drawShare(primitives, generatorOfCode(code));
  const own = { share, data: utf8(name) };
  let key: Uint8Array | undefined;
  let theirs: CpaceMessage | undefined;
  return {
    hello: JSON.stringify({ v: secureVersion, p: toBase64(share), n: name }),
    prove(reply) {
      const frame = readFrame(reply);
      const theirShare = readBytes(frame?.p, keyBytes);
      if (frame?.v !== secureVersion || theirShare === undefined) throw new SecureFailure();
      // A device that reflects our share knows no code.
      if (shareName(theirShare) === shareName(share)) throw new SecureFailure();
      theirs = { share: theirShare, data: nothing };
      key = sessionKey(primitives, { scalar, theirs: theirShare }, inputsOf(code), [own, theirs]);
      wipe(scalar);
      if (key === undefined) throw new SecureFailure();
      return JSON.stringify({ p: toBase64(confirmationOf(key, nothing, own)) });
    },
    finish(grant) {
      const frame = readFrame(grant);
      const [tag, sealed] = [readBytes(frame?.p), readBytes(frame?.e)];
      if (key === undefined || theirs === undefined || tag === undefined || sealed === undefined)
        throw new SecureFailure();
      const isDevices = equal(tag, confirmationOf(key, nothing, theirs));
      const opened = isDevices ? primitives.decrypt(sealKey(key), nonce, nothing, sealed) : undefined;
      wipe(key);
      const credentials = opened === undefined ? undefined : readCredentials(opened);
      if (credentials === undefined) throw new SecureFailure();
      return credentials;
    },
  };
}

/** `answerPairing` at once. */
export function pairAsDevice(
  primitives: Primitives,
  code: string,
  { name, share: theirShare }: PairingHello,
  generator = generatorOfCode(code),
): PairingDevice | undefined {
  const { share, scalar } = drawShare(primitives, generator);
  const own = { share, data: nothing };
  const theirs = { share: theirShare, data: utf8(name) };
  const key = sessionKey(primitives, { scalar, theirs: theirShare }, inputsOf(code), [theirs, own]);
  wipe(scalar);
  if (key === undefined || shareName(theirShare) === shareName(share)) return undefined;
  return {
    share,
    reply: JSON.stringify({ v: secureVersion, p: toBase64(share) }),
    isProof(proof) {
      const tag = readBytes(readFrame(proof)?.p);
      return tag !== undefined && equal(tag, confirmationOf(key, nothing, theirs));
    },
    grant(credentials) {
      const sealed = primitives.encrypt(sealKey(key), nonce, nothing, utf8(JSON.stringify(credentials)));
      return JSON.stringify({ p: toBase64(confirmationOf(key, nothing, own)), e: toBase64(sealed) });
    },
    close: () => wipe(key),
  };
}

const nothing = new Uint8Array(0);
const nonce = new Uint8Array(12); // Each key seals one message.
const roles = "tapdeck-pair-2:client:device";

function inputsOf(code: string): CpaceInputs {
  return { prs: utf8(code), ci: utf8(roles), sid: nothing };
}

function drawShare(
  primitives: Primitives,
  generator: Uint8Array,
): { readonly share: Uint8Array; readonly scalar: Uint8Array } {
  for (;;) {
    const scalar = primitives.randomBytes(keyBytes);
    const share = shareOf(primitives, generator, scalar);
    if (share !== undefined) return { share, scalar };
  }
}

/** HKDF-Expand's first block is all that 32 bytes need (RFC 5869, 2.3). */
function sealKey(key: Uint8Array): Uint8Array {
  return hmacSha512(key, utf8("tapdeck-pair-2"), Uint8Array.of(1)).subarray(0, keyBytes);
}

interface Frame {
  readonly v?: unknown;
  readonly p?: unknown;
  readonly n?: unknown;
  readonly e?: unknown;
}

function readFrame(text: string): Frame | undefined {
  if (text.length > pairingCharsMax) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    // Not JSON: no frame.
    return undefined;
  }
}

// A name may take six characters for each of its own, written as \uXXXX.
const pairingCharsMax = handshakeCharsMax + 6 * clientNameCharsMax;

function readBytes(value: unknown, length?: number): Uint8Array | undefined {
  const bytes = typeof value === "string" ? fromBase64(value) : undefined;
  return length === undefined || bytes?.length === length ? bytes : undefined;
}

function readCredentials(bytes: Uint8Array): Credentials | undefined {
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (typeof value !== "object" || value === null || !("id" in value) || !("secret" in value))
    return undefined;
  const { id, secret } = value;
  return typeof id === "string" && typeof secret === "string" ? { id, secret } : undefined;
}

/** Without telling by its time where the first difference is. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.reduce((sum, byte, index) => sum | (byte ^ (b[index] ?? 0)), 0) === 0;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
