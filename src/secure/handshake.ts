/**
 * Both ends of the handshake, from text to session: `acceptHandshake` for the service, `startHandshake` for a client
 * (docs/SECURE.md).
 */
import { assert, ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { encryptionRequired, SecureFailure, unsupportedVersion } from "./failure.ts";
import { helloText, isClientId, readHello, readReply, replyText } from "./frames.ts";
import { createHandshake, type Handshake, nnPsk0 } from "./noise.ts";
import { keyBytes, loadPrimitives, type Primitives } from "./primitives.ts";
import { createSession, type SecureSession } from "./secure-session.ts";

/** The secret of a client, 64 hex characters; undefined for an unknown client. */
type SecretLookup = (clientId: string) => string | undefined;

export type Accepted =
  /** The caller sends `reply` before everything that the session seals. */
  | { readonly kind: "accepted"; readonly session: SecureSession; readonly reply: string }
  /** The caller sends the error without an id and closes the connection. */
  | { readonly kind: "refused"; readonly error: ServiceError };

/**
 * Answers the first text of a remote connection. It refuses with `secure-failure`, `unsupported-secure-version`, or
 * `encryption-required` for a text that is no handshake. An unknown client and a wrong secret get the same bytes after the
 * same work. The first call loads libsodium, and the caller holds back later texts of the connection meanwhile.
 */
export async function acceptHandshake(text: string, lookup: SecretLookup): Promise<Accepted> {
  return accept(await loadPrimitives(), text, lookup);
}

/** Begins a session as a client. Throws `invalid-params` for an id or a secret of the wrong form. */
export async function startHandshake(clientId: string, secret: string) {
  return start(await loadPrimitives(), clientId, secret);
}

/** The same as `acceptHandshake`, with loaded primitives. */
export function accept(primitives: Primitives, text: string, lookup: SecretLookup): Accepted {
  const hello = readHello(text);
  switch (hello.kind) {
    case "cleartext":
      return { kind: "refused", error: encryptionRequired() };
    case "other-version":
      return { kind: "refused", error: unsupportedVersion() };
    case "malformed":
      return { kind: "refused", error: new SecureFailure() };
    case "hello":
      return answer(primitives, hello.clientId, hello.message, lookup);
  }
}

/** The same as `startHandshake`, with loaded primitives. */
export function start(primitives: Primitives, clientId: string, secret: string) {
  if (!isClientId(clientId)) throw notPaired("id");
  const psk = readSecret(secret);
  if (psk === undefined) throw notPaired("secret");
  const handshake = begin(primitives, "initiator", clientId, psk);
  const message = handshake.write(noPayload);
  assert(message !== undefined, "the first message does not depend on the other side's key");
  let isOver = false;
  const close = () => {
    isOver = true;
    handshake.wipe();
  };
  return {
    /** The text to send first. */
    hello: helloText(clientId, message),
    /** Takes the service's reply, once. Throws `SecureFailure` for any text but the reply to `hello`. */
    finish(text: string): SecureSession {
      if (isOver) throw new SecureFailure();
      isOver = true;
      const reply = readReply(text);
      if (reply === undefined || handshake.read(reply) === undefined) {
        handshake.wipe();
        throw new SecureFailure();
      }
      return createSession({ ...handshake.split(), clientId, peerIsProved: true });
    },
    /** Gives up and wipes the keys. */
    close,
  };
}

function answer(
  primitives: Primitives,
  clientId: string,
  message: Uint8Array,
  lookup: SecretLookup,
): Accepted {
  // For an unknown client a random secret is used. The random secret is drawn for every client, so the work is the same.
  const random = toHex(primitives.randomBytes(keyBytes));
  const psk = readSecret(lookup(clientId) ?? random);
  assert(psk !== undefined, "a client is stored with a secret of 64 hex characters");
  const handshake = begin(primitives, "responder", clientId, psk);
  const isOurs = handshake.read(message) !== undefined;
  const reply = isOurs ? handshake.write(noPayload) : undefined;
  if (reply === undefined) {
    handshake.wipe();
    return { kind: "refused", error: new SecureFailure() };
  }
  const session = createSession({ ...handshake.split(), clientId, peerIsProved: false });
  return { kind: "accepted", session, reply: replyText(reply) };
}

function begin(
  primitives: Primitives,
  role: "initiator" | "responder",
  clientId: string,
  psk: Uint8Array,
): Handshake {
  return createHandshake(primitives, {
    pattern: nnPsk0,
    role,
    prologue: new TextEncoder().encode(`tapdeck-secure-2:${clientId}`),
    psks: [psk],
    ephemeral: primitives.randomBytes(keyBytes),
  });
}

const noPayload = new Uint8Array(0);

function readSecret(hex: string): Uint8Array | undefined {
  return /^[0-9a-fA-F]{64}$/.test(hex) ? fromHex(hex) : undefined;
}

function notPaired(field: "id" | "secret"): ServiceError {
  const shape = field === "id" ? "a text without spaces" : "64 hex characters";
  return new ServiceError(
    "invalid-params",
    `${field} must be ${shape}, as the device gave it when it was paired`,
    { data: { field } },
  );
}
