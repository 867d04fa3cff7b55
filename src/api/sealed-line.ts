/**
 * A remote socket's way: one hello, one session, and from then on sealed payloads only (decisions, "The secure layer,
 * version 2"). Whatever else comes ends it.
 */
import { ServiceError } from "../core/errors.ts";
import { SecureFailure } from "../secure/failure.ts";
import type { Accepted } from "../secure/handshake.ts";
import type { Session } from "../secure/session.ts";
import { errorText } from "./envelope.ts";

/** Answers a hello. Never rejects: what is wrong with it is a refusal. */
export type AcceptHello = (hello: string) => Promise<Accepted>;

export interface SealedLine {
  /** Takes what the peer sent. */
  take(text: string): void;
  /** Seals and sends; nothing where there is no session any more. */
  send(text: string): void;
  /** Of the session; undefined before there is one. */
  readonly clientId: string | undefined;
  close(): void;
}

export interface SealedLineParts {
  readonly accept: AcceptHello;
  readonly send: (text: string) => void;
  /** Told once, with the first payload that opens: only then is it certain that the peer knows the secret. */
  readonly onProved: (clientId: string) => void;
  readonly onPayload: (text: string) => void;
  /** The error goes out in cleartext, and the connection ends. */
  readonly refuse: (error: ServiceError) => void;
}

export function createSealedLine({ accept, send, onProved, onPayload, refuse }: SealedLineParts): SealedLine {
  let session: Session | undefined;
  let state: "new" | "shaking" | "open" | "closed" = "new";

  const fail = (error: ServiceError) => {
    if (state === "closed") return;
    close();
    refuse(error);
  };
  const close = () => {
    state = "closed";
    session?.close();
  };
  const shake = async (hello: string) => {
    state = "shaking";
    const accepted = await accept(hello);
    if (state !== "shaking") {
      if (accepted.kind === "accepted") accepted.session.close();
      return;
    }
    if (accepted.kind === "refused") return fail(accepted.error);
    session = accepted.session;
    state = "open";
    send(accepted.reply);
  };
  const open = (text: string, over: Session) => {
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

  return {
    take(text) {
      if (state === "new") void shake(text);
      else if (session !== undefined && state === "open") open(text, session);
      // The peer cannot know the keys before it has the reply: what comes meanwhile is not from one that follows the rules.
      else fail(new SecureFailure());
    },
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
