/**
 * Both ends of the handshake, from text to session: `acceptHandshake` for the service, `startHandshake` for a client
 * (decisions, "The secure layer, version 2").
 */
import { assert, ServiceError } from "../core/errors.ts";
import { fromHex, toHex } from "../core/hex.ts";
import { encryptionRequired, SecureFailure, unsupportedVersion } from "./failure.ts";
import { helloText, isClientId, readHello, readReply, replyText } from "./frames.ts";
import { createHandshake, type Handshake, nnPsk0 } from "./noise.ts";
import { keyBytes, loadPrimitives, type Primitives } from "./primitives.ts";
import { createSession, type Session } from "./secure-session.ts";

/** The secret of a client, 64 hex characters; undefined where there is no such client. */
export type SecretLookup = (clientId: string) => string | undefined;

export type Accepted =
  /** Send `reply` before anything that the session seals. */
  | { readonly kind: "accepted"; readonly session: Session; readonly reply: string }
  /** Send the error without an id, and close the connection. */
  | { readonly kind: "refused"; readonly error: ServiceError };

export interface StartedHandshake {
  /** The text to send first. */
  readonly hello: string;
  /** Takes the service's answer, once. Throws `SecureFailure` where it is anything but the one that belongs to `hello`. */
  finish(reply: string): Session;
  /** Gives up: forgets the keys. */
  close(): void;
}

/**
 * Answers the first text of a connection from afar. Refusals are `secure-failure` (an unknown client and a wrong secret
 * look the same, byte by byte, and cost the same work), `unsupported-secure-version`, and `encryption-required` for what
 * is no message of the secure layer. The first call loads libsodium: what the connection sends meanwhile must wait.
 */
export async function acceptHandshake(text: string, lookup: SecretLookup): Promise<Accepted> {
  return accept(await loadPrimitives(), text, lookup);
}

/** Begins a session as a client. Throws `invalid-params` where id or secret cannot be right. */
export async function startHandshake(clientId: string, secret: string): Promise<StartedHandshake> {
  return start(await loadPrimitives(), clientId, secret);
}

/** `acceptHandshake` at once, with primitives that are loaded. */
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

/** `startHandshake` at once, with primitives that are loaded. */
export function start(primitives: Primitives, clientId: string, secret: string): StartedHandshake {
  if (!isClientId(clientId)) throw notPaired("id");
  const psk = readSecret(secret);
  if (psk === undefined) throw notPaired("secret");
  const handshake = begin(primitives, "initiator", clientId, psk);
  const message = handshake.write(noPayload);
  assert(message !== undefined, "a first message needs nothing of the other side");
  let isOver = false;
  const close = () => {
    isOver = true;
    handshake.wipe();
  };
  return {
    hello: helloText(clientId, message),
    finish(text) {
      if (isOver) throw new SecureFailure();
      isOver = true;
      const reply = readReply(text);
      if (reply === undefined || handshake.read(reply) === undefined) {
        handshake.wipe();
        throw new SecureFailure();
      }
      return createSession({ ...handshake.split(), clientId, peerIsProved: true });
    },
    close,
  };
}

function answer(
  primitives: Primitives,
  clientId: string,
  message: Uint8Array,
  lookup: SecretLookup,
): Accepted {
  // A stranger is held against a secret that nobody has. It is drawn for everyone, so that the work is the same.
  const nobodys = toHex(primitives.randomBytes(keyBytes));
  const psk = readSecret(lookup(clientId) ?? nobodys);
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
