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
  v1FirstFrameCharsMax,
} from "../core/limits.ts";
import { parseJson } from "../core/text.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { Accepted } from "../secure/handshake.ts";
import type { SecureSession } from "../secure/secure-session.ts";
import type { AcceptedV1 } from "../v1/v1-session.ts";
import { errorText } from "./envelope.ts";

/** Answers a hello. Never rejects: a bad hello is a refusal. */
export type AcceptHello = (hello: string) => Promise<Accepted | AcceptedV1>;

export interface SealedLine {
  /** Takes a text of the peer. */
  take(text: string): void;
  /** Seals and sends; does nothing without a session. */
  send(text: string): void;
  /** Of the session; undefined before there is one. */
  readonly clientId: string | undefined;
  close(): void;
}

interface SealedLineParts {
  readonly accept: AcceptHello;
  readonly send: (text: string) => void;
  /**
   * Called once, with the first payload that opens, because that proves that the peer knows the secret. Throws
   * `ServiceError` if the client may not continue all the same.
   */
  readonly onProved: (clientId: string) => void;
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
      onProved(session.clientId);
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
        send(session.seal(errorText(undefined, "busy", "the answer is too long: ask for less", error.data)));
      }
    },
    get clientId() {
      return session?.clientId;
    },
    close,
  };
}

const helloCharsMax = Math.max(handshakeCharsMax + 6 * clientNameCharsMax, v1FirstFrameCharsMax);

/** Whether a text begins a handshake or a pairing, of either version: an object with a version, and no JSON-RPC. */
export function isHello(text: string): boolean {
  if (text.length > helloCharsMax || !text.includes('"v"') || text.includes('"jsonrpc"')) return false;
  const value = parseJson(text);
  return typeof value === "object" && value !== null && "v" in value && ("e" in value || "p" in value);
}
