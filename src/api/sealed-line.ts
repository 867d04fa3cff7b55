/**
 * A remote socket carries one hello, then one session with sealed payloads only (docs/SECURE.md). Anything else ends it. A hello
 * of version 1 gets no reply, and sealed frames may follow it at once.
 */
import { ServiceError } from "../core/errors.ts";
import {
  clientNameCharsMax,
  earlyFrameCharsMax,
  earlyFramesMax,
  handshakeCharsMax,
  messageBytesMax,
  v1FirstFrameCharsMax,
} from "../core/limits.ts";
import { isRecord, parseJson } from "../core/text.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { Accepted } from "../secure/handshake.ts";
import type { PairingHello } from "../secure/pairing.ts";
import type { SecureSession } from "../secure/secure-session.ts";
import type { AcceptedV1 } from "../v1/v1-session.ts";
import type { ResultFor } from "./connection.ts";
import { errorText, isId } from "./envelope.ts";

/** Answers a hello. Never rejects: a bad hello is a refusal. */
export type AcceptHello = (hello: string) => Promise<Accepted | AcceptedV1>;

export interface SealedLine {
  /** Takes a text of the peer. */
  take(text: string): void;
  /** Seals and sends; does nothing without a session. */
  send(text: string): void;
  /** The client of the session; undefined before there is one. */
  readonly clientId: string | undefined;
  close(): void;
}

interface SealedLineParts {
  readonly accept: AcceptHello;
  readonly send: (text: string) => void;
  /**
   * Called once, with the first payload that opens, because that proves that the peer knows the secret. Throws
   * `ServiceError` if the client may not continue nevertheless. `resultFor` is the function of the caller's session, if
   * it has one.
   */
  readonly onProved: (clientId: string, resultFor?: ResultFor) => void;
  readonly onPayload: (text: string) => void;
  /** Sends the error in cleartext, and ends the connection. */
  readonly refuse: (error: ServiceError) => void;
}

export function createSealedLine({ accept, send, onProved, onPayload, refuse }: SealedLineParts): SealedLine {
  let session: SecureSession | undefined;
  let state: "new" | "shaking" | "open" | "closed" = "new";
  /** Texts that came while the hello was checked. */
  const early: string[] = [];
  let earlyChars = 0;

  const fail = (error: ServiceError) => {
    if (state === "closed") return;
    close();
    refuse(error);
  };
  const close = () => {
    state = "closed";
    early.length = 0;
    session?.close();
  };
  const shake = async (hello: string) => {
    state = "shaking";
    const accepted = await accept(hello);
    if (state !== "shaking") {
      if (accepted.kind !== "refused") accepted.session.close();
      return;
    }
    if (accepted.kind === "refused") return fail(accepted.error);
    session = accepted.session;
    state = "open";
    const came = early.splice(0);
    if (accepted.kind === "accepted") {
      // The peer cannot know the keys before it has the reply, so it must not send earlier.
      if (came.length > 0) return fail(new SecureFailure());
      return send(accepted.reply);
    }
    try {
      onProved(session.clientId, accepted.resultFor);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return fail(error);
    }
    onPayload(accepted.payload);
    for (const text of came) take(text);
  };
  const keep = (text: string) => {
    earlyChars += text.length;
    if (early.length < earlyFramesMax && earlyChars <= earlyFrameCharsMax) early.push(text);
    else fail(new SecureFailure());
  };
  const open = (text: string, over: SecureSession) => {
    try {
      const wasProved = over.peerIsProved;
      const opened = over.open(text);
      if (!wasProved) onProved(over.clientId);
      if (opened.kind === "payload") onPayload(opened.text);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      fail(error);
    }
  };

  const take = (text: string) => {
    if (state === "new") void shake(text);
    else if (state === "shaking") keep(text);
    else if (session !== undefined && state === "open") open(text, session);
    else fail(new SecureFailure());
  };

  return {
    take,
    send(text) {
      if (session === undefined || state !== "open") return;
      try {
        send(session.seal(text));
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== "busy") throw error;
        const shorter = withoutLongAnswers(text, error);
        if (shorter !== undefined) send(session.seal(shorter));
      }
    },
    get clientId() {
      return session?.clientId;
    },
    close,
  };
}

/**
 * The answers of a text that is too long for a payload, with a refusal in place of each long one. In a batch of N answers an
 * answer is long if it has more than an N-th of a payload. Undefined for a notification, which nobody waits for.
 */
function withoutLongAnswers(text: string, { code, data }: ServiceError): string | undefined {
  const value = parseJson(text);
  const answers: readonly unknown[] = Array.isArray(value) ? value : [value];
  const bytesMax = Math.floor(messageBytesMax / answers.length) - 2; // Two for the comma and the brackets.
  const shorter = answers.flatMap((answer) => {
    const whole = JSON.stringify(answer);
    if (Buffer.byteLength(whole) <= bytesMax) return [whole];
    const id = isRecord(answer) ? answer.id : undefined;
    return isId(id) ? [errorText(id, code, "the answer is too long: ask for less", data)] : [];
  });
  return Array.isArray(value) ? `[${shorter.join(",")}]` : shorter[0];
}

/** One exchange of a pairing. */
export interface PairingTry {
  readonly reply: string;
  /**
   * Checks the proof, which uses up a try, and returns the grant. Throws `forbidden` for a wrong code, and `busy` if
   * other callers evicted this exchange, or if wrong codes delay it.
   */
  prove(proof: string): string;
  /** Called when the socket is gone. An exchange that ends before a proof uses up no try. */
  close(): void;
}

export interface PairingDoor {
  /** Reads a pairing hello; undefined for any other text. */
  read(text: string): PairingHello | undefined;
  /**
   * Begins an exchange, which does not use up a try. Throws `forbidden` if no pairing is open, and `busy` while wrong
   * codes delay the next one. Throws `secure-failure` for a share that is forged or is the device's own.
   */
  begin(hello: PairingHello, address: string): Promise<PairingTry>;
}

interface PairingLineParts {
  readonly door: PairingDoor;
  readonly address: string;
  readonly send: (text: string) => void;
  readonly refuse: (error: ServiceError) => void;
  /** Called after the grant was sent. */
  readonly onPaired: () => void;
}

/**
 * A sealed line that also accepts a pairing by a code. If the first text is a pairing hello, the socket carries the pairing
 * only, and is closed after it. Any other first text goes to the sealed line.
 */
export function withPairing(sealed: SealedLine, parts: PairingLineParts): SealedLine {
  const { door, address, send, refuse, onPaired } = parts;
  let mode: "new" | "sealed" | "pairing" | "closed" = "new";
  let attempt: PairingTry | undefined;

  const close = () => {
    mode = "closed";
    attempt?.close();
  };
  const fail = (error: unknown) => {
    if (mode === "closed") return;
    close();
    if (!(error instanceof ServiceError)) throw error;
    refuse(error);
  };
  const begin = async (hello: PairingHello) => {
    mode = "pairing";
    try {
      attempt = await door.begin(hello, address);
      // The socket may have closed meanwhile.
      if (mode === "pairing") send(attempt.reply);
      else attempt.close();
    } catch (error) {
      fail(error);
    }
  };
  const prove = (text: string) => {
    try {
      if (attempt === undefined) throw new SecureFailure();
      send(attempt.prove(text));
      close();
      onPaired();
    } catch (error) {
      fail(error);
    }
  };

  return {
    take(text) {
      const hello = mode === "new" ? door.read(text) : undefined;
      if (hello !== undefined) return void begin(hello);
      if (mode === "pairing") return prove(text);
      if (mode === "new") mode = "sealed";
      if (mode === "sealed") sealed.take(text);
    },
    send: sealed.send,
    get clientId() {
      return sealed.clientId;
    },
    close() {
      close();
      sealed.close();
    },
  };
}

const helloCharsMax = Math.max(handshakeCharsMax + 6 * clientNameCharsMax, v1FirstFrameCharsMax);

/** Whether a text begins a handshake or a pairing, of either version: an object with a version, and no JSON-RPC. */
export function isHello(text: string): boolean {
  if (text.length > helloCharsMax || !text.includes('"v"') || text.includes('"jsonrpc"')) return false;
  const value = parseJson(text);
  return typeof value === "object" && value !== null && "v" in value && ("e" in value || "p" in value);
}
