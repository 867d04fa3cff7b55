/**
 * A session after its handshake: payloads are sealed into frames, and frames of the other side opened.
 *
 * A transport message's plaintext is one byte, 1 (more follows) or 0 (last), and a piece of the payload's UTF-8; the
 * message has at most 65,535 bytes with its tag. A frame holds one or more messages without anything between them: each
 * is 65,535 bytes long but the last, which takes what is left. A payload may go on in the next frame; a frame never
 * holds more than one payload's messages (decisions, "The secure layer, version 2").
 */
import { assert } from "../core/errors.ts";
import { messageBytesMax, sealedMessageBytesMax } from "../core/limits.ts";
import type { CipherState } from "./cipher-state.ts";
import { SecureFailure } from "./failure.ts";
import { readSealed, sealedText } from "./frames.ts";
import { tooLong, utf8Text } from "./payload-text.ts";
import { tagBytes } from "./primitives.ts";
import { wipe } from "./wipe.ts";

const flagBytes = 1;
const more = 1;
const last = 0;
/** Bytes of a payload that fit into one message. */
export const pieceBytesMax = sealedMessageBytesMax - tagBytes - flagBytes;

export type Opened =
  | { readonly kind: "payload"; readonly text: string }
  /** The payload goes on in the next frame. */
  | { readonly kind: "partial" };

export interface Session {
  readonly clientId: string;
  /**
   * True once the other side has shown, in this session, that it knows the secret. A client's is from the start; the
   * service's is not before the first frame has opened, since an eavesdropper can repeat somebody's hello.
   */
  readonly peerIsProved: boolean;
  /**
   * A payload as one frame; frames are sent in the order in which they were sealed. Throws `busy` for more than
   * `messageBytesMax` bytes, which leaves the session as it was, and `SecureFailure` after the session's end.
   */
  seal(text: string): string;
  /** A frame, in the order received. Throws `SecureFailure` for anything wrong, which ends the session. */
  open(text: string): Opened;
  /** Forgets all keys; a second call does nothing. */
  close(): void;
}

export interface SessionKeys {
  readonly clientId: string;
  readonly send: CipherState;
  readonly receive: CipherState;
  readonly peerIsProved: boolean;
}

/** Takes the cipher states over. */
export function createSession({ clientId, send, receive, peerIsProved }: SessionKeys): Session {
  const gathered = createGatherer();
  let isOpen = true;
  let isProved = peerIsProved;

  const close = () => {
    isOpen = false;
    send.wipe();
    receive.wipe();
    gathered.wipe();
  };
  const fail = (): never => {
    close();
    throw new SecureFailure();
  };

  return {
    clientId,
    get peerIsProved() {
      return isProved;
    },
    seal(text) {
      if (!isOpen) throw new SecureFailure();
      const payload = text.length > messageBytesMax ? undefined : new TextEncoder().encode(text);
      if (payload === undefined || payload.length > messageBytesMax) throw tooLong();
      return sealedText(sealPieces(payload, send) ?? fail());
    },
    open(text) {
      if (!isOpen) throw new SecureFailure();
      const messages = readSealed(text);
      const end = messages === undefined ? undefined : openPieces(messages, receive, gathered);
      if (end === undefined) return fail();
      isProved = true;
      if (end === "more") return { kind: "partial" };
      return { kind: "payload", text: utf8Text(gathered.take()) ?? fail() };
    },
    close,
  };
}

/** All messages of a payload, one behind the other; undefined once the sending counter is used up. */
function sealPieces(payload: Uint8Array, send: CipherState): Uint8Array | undefined {
  const pieces = Math.max(1, Math.ceil(payload.length / pieceBytesMax));
  const messages = new Uint8Array(payload.length + pieces * (flagBytes + tagBytes));
  let written = 0;
  for (let index = 0; index < pieces; index++) {
    const piece = payload.subarray(index * pieceBytesMax, (index + 1) * pieceBytesMax);
    const plaintext = new Uint8Array(flagBytes + piece.length);
    plaintext[0] = index < pieces - 1 ? more : last;
    plaintext.set(piece, flagBytes);
    const message = send.encrypt(nothing, plaintext);
    if (message === undefined) return undefined;
    messages.set(message, written);
    written += message.length;
  }
  assert(written === messages.length, "the messages fill the frame");
  return messages;
}

/** What the frame's last message says of its payload; undefined where anything is wrong. */
function openPieces(
  messages: Uint8Array,
  receive: CipherState,
  gathered: Gatherer,
): "more" | "last" | undefined {
  let flag: number | undefined;
  for (let at = 0; at < messages.length; at += sealedMessageBytesMax) {
    // Behind the last message of a payload nothing may follow.
    if (flag === last) return undefined;
    const plaintext = receive.decrypt(nothing, messages.subarray(at, at + sealedMessageBytesMax));
    flag = plaintext?.[0];
    if (plaintext === undefined || (flag !== more && flag !== last)) return undefined;
    if (!gathered.add(plaintext.subarray(flagBytes))) return undefined;
  }
  if (flag === undefined) return undefined;
  return flag === more ? "more" : "last";
}

interface Gatherer {
  /** False where the payload would become longer than `messageBytesMax`. */
  add(piece: Uint8Array): boolean;
  /** The payload; the next one starts afresh. */
  take(): Uint8Array;
  wipe(): void;
}

/** One growing buffer, so that a payload of many small pieces costs no more than its bytes. */
function createGatherer(): Gatherer {
  let buffer: Uint8Array = nothing;
  let length = 0;
  return {
    add(piece) {
      const needed = length + piece.length;
      if (needed > messageBytesMax) return false;
      if (needed > buffer.length) {
        const grown = new Uint8Array(Math.min(messageBytesMax, Math.max(needed, 2 * buffer.length)));
        grown.set(buffer.subarray(0, length));
        wipe(buffer);
        buffer = grown;
      }
      buffer.set(piece, length);
      length = needed;
      return true;
    },
    take() {
      const whole = buffer.subarray(0, length);
      buffer = nothing;
      length = 0;
      return whole;
    },
    wipe: () => wipe(buffer),
  };
}

const nothing = new Uint8Array(0);
