/**
 * A session after its handshake: it seals payloads into frames and opens the frames of the other side (docs/SECURE.md, "A
 * session"). All messages of a frame but the last have 65,535 bytes. A payload may continue in the next frame, and a frame
 * holds messages of one payload only.
 */
import { clean } from "@noble/hashes/utils.js";
import { assert } from "../core/errors.ts";
import { messageBytesMax, sealedMessageBytesMax } from "../core/limits.ts";
import { SecureFailure } from "./failure.ts";
import { payloadBytes, payloadText, readSealed, sealedText } from "./frames.ts";
import type { CipherState } from "./noise.ts";
import { tagBytes } from "./primitives.ts";

const flagBytes = 1;
const more = 1;
const last = 0;
/** Bytes of a payload that fit into one message. */
export const sealedPieceBytesMax = sealedMessageBytesMax - tagBytes - flagBytes;

export type Opened =
  | { readonly kind: "payload"; readonly text: string }
  /** The payload continues in the next frame. */
  | { readonly kind: "partial" };

interface SessionKeys {
  readonly clientId: string;
  readonly send: CipherState;
  readonly receive: CipherState;
  readonly peerIsProved: boolean;
}

export type SecureSession = ReturnType<typeof createSession>;

/** Makes a session, which owns the cipher states from now on and wipes them. */
export function createSession({ clientId, send, receive, peerIsProved }: SessionKeys) {
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
    /**
     * True after the other side has proved in this session that it knows the secret. The handshake proves the service. The
     * first frame that opens proves the client, because an eavesdropper can repeat a hello.
     */
    get peerIsProved() {
      return isProved;
    },
    /**
     * Seals a payload into one frame. The caller sends frames in the order in which they were sealed. Throws `busy` for more
     * than `messageBytesMax` bytes, and the session then stays as it was. Throws `SecureFailure` after the session's end.
     */
    seal(text: string): string {
      if (!isOpen) throw new SecureFailure();
      return sealedText(sealPieces(payloadBytes(text), send) ?? fail());
    },
    /** Opens a frame, in the order received. A frame that does not open throws `SecureFailure` and ends the session. */
    open(text: string): Opened {
      if (!isOpen) throw new SecureFailure();
      const messages = readSealed(text);
      const end = messages === undefined ? undefined : openPieces(messages, receive, gathered);
      if (end === undefined) return fail();
      isProved = true;
      if (end === "more") return { kind: "partial" };
      return { kind: "payload", text: payloadText(gathered.take()) ?? fail() };
    },
    /** Forgets all keys; a second call does nothing. */
    close,
  };
}

/** All messages of a payload, one after the other; undefined after the last nonce. */
function sealPieces(payload: Uint8Array, send: CipherState): Uint8Array | undefined {
  const pieces = Math.max(1, Math.ceil(payload.length / sealedPieceBytesMax));
  const messages = new Uint8Array(payload.length + pieces * (flagBytes + tagBytes));
  let written = 0;
  for (let index = 0; index < pieces; index++) {
    const piece = payload.subarray(index * sealedPieceBytesMax, (index + 1) * sealedPieceBytesMax);
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

/** The flag of the frame's last message; undefined if a message does not open or is out of place. */
function openPieces(
  messages: Uint8Array,
  receive: CipherState,
  gathered: Gatherer,
): "more" | "last" | undefined {
  let flag: number | undefined;
  for (let at = 0; at < messages.length; at += sealedMessageBytesMax) {
    // Nothing may follow the last message of a payload.
    if (flag === last) return undefined;
    const plaintext = receive.decrypt(nothing, messages.subarray(at, at + sealedMessageBytesMax));
    flag = plaintext?.[0];
    if (plaintext === undefined || (flag !== more && flag !== last)) return undefined;
    if (!gathered.add(plaintext.subarray(flagBytes))) return undefined;
  }
  if (flag === undefined) return undefined;
  return flag === more ? "more" : "last";
}

type Gatherer = ReturnType<typeof createGatherer>;

/**
 * Gathers pieces in one buffer that doubles. The time for a payload of many small pieces therefore depends only on its
 * bytes.
 */
function createGatherer() {
  let buffer: Uint8Array = nothing;
  let length = 0;
  return {
    /** Adds a piece. Returns false if the payload would be longer than `messageBytesMax`. */
    add(piece: Uint8Array): boolean {
      const needed = length + piece.length;
      if (needed > messageBytesMax) return false;
      if (needed > buffer.length) {
        const grown = new Uint8Array(Math.min(messageBytesMax, Math.max(needed, 2 * buffer.length)));
        grown.set(buffer.subarray(0, length));
        clean(buffer);
        buffer = grown;
      }
      buffer.set(piece, length);
      length = needed;
      return true;
    },
    /** Returns the payload and starts the next one. */
    take(): Uint8Array {
      const whole = buffer.subarray(0, length);
      buffer = nothing;
      length = 0;
      return whole;
    },
    wipe: () => clean(buffer),
  };
}

const nothing = new Uint8Array(0);
