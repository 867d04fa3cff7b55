/**
 * Pairing by a short code: both ends, from text to text. The client proves with CPace that it knows the code that the device
 * shows, and gets an id and a secret. A listener learns neither. docs/SECURE.md, "Pairing by a code", has the four frames,
 * the inputs of CPace and the seal.
 */
import { equalBytes } from "@noble/curves/utils.js";
import { expand } from "@noble/hashes/hkdf.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { clean } from "@noble/hashes/utils.js";
import { clientNameCharsMax, handshakeCharsMax, pairingDigits } from "../core/limits.ts";
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
import { readBytes, readObject, toBase64 } from "./frames.ts";
import { keyBytes, loadPrimitives, type Primitives } from "./primitives.ts";

/** The id and secret that a client keeps, as `clients.new` returns them. */
export interface Credentials {
  readonly id: string;
  /** The secret as 64 hex characters. */
  readonly secret: string;
}

export interface PairingHello {
  readonly name: string;
  readonly share: Uint8Array;
}

export type PairingDevice = NonNullable<ReturnType<typeof pairAsDevice>>;

/** The digits of a code, which people write in groups; undefined for any other text. */
export function readCode(text: string): string | undefined {
  const digits = text.replace(/[\s-]/g, "");
  return digits.length === pairingDigits && /^\d+$/.test(digits) ? digits : undefined;
}

/** Begins as the client. `code` is a result of `readCode`. */
export async function startPairing(code: string, name: string) {
  return pairAsClient(await loadPrimitives(), code, name);
}

/** Answers a hello as the device; undefined if its share is forged or the device's own. */
export async function answerPairing(
  code: string,
  hello: PairingHello,
  generator?: Uint8Array,
): Promise<PairingDevice | undefined> {
  return pairAsDevice(await loadPrimitives(), code, hello, generator);
}

/** The point of the code, half of the work of an answer. A device computes it once for each code. */
export function generatorOfCode(code: string): Uint8Array {
  return generatorOf(inputsOf(code));
}

/** A new code of digits. All digits have the same probability. */
export async function newPairingCode(): Promise<string> {
  const primitives = await loadPrimitives();
  let code = "";
  while (code.length < pairingDigits) {
    const [byte = 255] = primitives.randomBytes(1);
    // 250 is the last multiple of ten below 256; higher bytes would favour the low digits.
    if (byte < 250) code += byte % 10;
  }
  return code;
}

/** Reads a pairing hello; undefined for any other text, such as a handshake. */
export function readPairingHello(text: string): PairingHello | undefined {
  const frame = readFrame(text);
  const share = readShare(frame?.p);
  const name = frame?.n ?? "";
  if (frame?.v !== secureVersion || share === undefined || typeof name !== "string") return undefined;
  return name.length <= clientNameCharsMax && name.isWellFormed() ? { name, share } : undefined;
}

/** The same as `startPairing`, with loaded primitives. */
export function pairAsClient(primitives: Primitives, code: string, name: string) {
  const { share, scalar } = drawShare(primitives, generatorOfCode(code));
  const own = { share, data: utf8(name) };
  let key: Uint8Array | undefined;
  let theirs: CpaceMessage | undefined;
  return {
    /** The text to send first. */
    hello: JSON.stringify({ v: secureVersion, p: toBase64(share), n: name }),
    /** Takes the reply and returns the proof to send. Throws `SecureFailure` for a text that is no reply. */
    prove(reply: string): string {
      const frame = readFrame(reply);
      const theirShare = readShare(frame?.p);
      if (frame?.v !== secureVersion || theirShare === undefined) throw new SecureFailure();
      // A device that reflects our share may not know the code.
      if (shareName(theirShare) === shareName(share)) throw new SecureFailure();
      theirs = { share: theirShare, data: nothing };
      key = sessionKey(primitives, { scalar, theirs: theirShare }, inputsOf(code), [own, theirs]);
      clean(scalar);
      if (key === undefined) throw new SecureFailure();
      return JSON.stringify({ p: toBase64(confirmationOf(key, nothing, own)) });
    },
    /** Takes the grant. Throws `SecureFailure` if the other side does not know the code, or the grant was altered. */
    finish(grant: string): Credentials {
      const frame = readFrame(grant);
      const tag = readBytes(frame?.p);
      const sealed = readBytes(frame?.e);
      if (key === undefined || theirs === undefined || tag === undefined || sealed === undefined)
        throw new SecureFailure();
      const isDevices = equalBytes(tag, confirmationOf(key, nothing, theirs));
      const opened = isDevices ? primitives.decrypt(sealKey(key), nonce, nothing, sealed) : undefined;
      clean(key);
      const credentials = opened === undefined ? undefined : readCredentials(opened);
      if (credentials === undefined) throw new SecureFailure();
      return credentials;
    },
  };
}

/** The same as `answerPairing`, with loaded primitives. */
export function pairAsDevice(
  primitives: Primitives,
  code: string,
  { name, share: theirShare }: PairingHello,
  generator = generatorOfCode(code),
) {
  const { share, scalar } = drawShare(primitives, generator);
  const own = { share, data: nothing };
  const theirs = { share: theirShare, data: utf8(name) };
  const key = sessionKey(primitives, { scalar, theirs: theirShare }, inputsOf(code), [theirs, own]);
  clean(scalar);
  if (key === undefined || shareName(theirShare) === shareName(share)) return undefined;
  return {
    /** The share in the reply. A client that sends this share in a hello reflects it. */
    share,
    reply: JSON.stringify({ v: secureVersion, p: toBase64(share) }),
    /** True if the proof shows that the client knows the code. */
    isProof(proof: string): boolean {
      const tag = readBytes(readFrame(proof)?.p);
      return tag !== undefined && equalBytes(tag, confirmationOf(key, nothing, theirs));
    },
    /** The text with the credentials. The grant. The caller sends it only after `isProof` has returned true. */
    grant(credentials: Credentials): string {
      const sealed = primitives.encrypt(sealKey(key), nonce, nothing, utf8(JSON.stringify(credentials)));
      return JSON.stringify({ p: toBase64(confirmationOf(key, nothing, own)), e: toBase64(sealed) });
    },
    /** Wipes the key. */
    close: (): void => clean(key),
  };
}

const nothing = new Uint8Array(0);
const nonce = new Uint8Array(12); // Each key seals one message, so the nonce may be zero.
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

function sealKey(key: Uint8Array): Uint8Array {
  return expand(sha512, key, utf8("tapdeck-pair-2"), keyBytes);
}

// A character of a name may take six characters in JSON, written as \uXXXX.
const pairingCharsMax = handshakeCharsMax + 6 * clientNameCharsMax;

function readFrame(text: string): ReturnType<typeof readObject> {
  return readObject(text, pairingCharsMax);
}

function readShare(value: unknown): Uint8Array | undefined {
  const bytes = readBytes(value);
  return bytes?.length === keyBytes ? bytes : undefined;
}

function readCredentials(bytes: Uint8Array): Credentials | undefined {
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (typeof value !== "object" || value === null || !("id" in value) || !("secret" in value))
    return undefined;
  const { id, secret } = value;
  return typeof id === "string" && typeof secret === "string" ? { id, secret } : undefined;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
