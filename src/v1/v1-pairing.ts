/**
 * Pairing by PIN, the service's side of the secure layer's version 1. It is opened on the device, and ends when one client
 * has paired, after five minutes, or after three wrong tries of all callers together.
 *
 * Its keys come from HKDF (RFC 5869) with SHA-256. ikm is the key of the password exchange, and salt is both messages as
 * they went over the wire.
 */
import { createHmac, hkdfSync } from "node:crypto";
import { equalBytes } from "@noble/curves/utils.js";
import { clean } from "@noble/hashes/utils.js";
import {
  v1ClientNameBytesMax,
  v1ExchangeMsMax,
  v1ExchangesMax,
  v1PinMsMax,
  v1PinTriesMax,
} from "../core/limits.ts";
import { answerPake } from "./pake.ts";

export interface OpenPinPairing {
  /** The PIN of six digits. */
  readonly pin: string;
  /** By the wall clock, as it is at the opening. */
  readonly endsMs: number;
}

interface V1PairingParts {
  readonly now: () => number;
  /** Milliseconds on a clock that only goes forward: a board without a battery sets its clock after the start. */
  readonly elapsedMs?: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly newId: () => string;
  /** Stores the client, `key` in hex, and returns its id in the list of clients. Throws if the list is full. */
  readonly keep: (client: { readonly name: string; readonly token: string; readonly key: string }) => string;
  /** The reason why no further client can be stored; undefined if one can. */
  readonly full: () => string | undefined;
}

/** Refusals have the status and the words that known clients expect. */
export type PairingAnswer<T> =
  | ({ readonly kind: "answer" } & T)
  | { readonly kind: "refused"; readonly status: number; readonly error: string };

/** `endsMs` of an exchange and of an opening is on the clock that only goes forward. */
interface Exchange extends Transcript {
  readonly key: Uint8Array;
  readonly endsMs: number;
}

interface Opening {
  readonly pin: string;
  readonly endsMs: number;
  readonly exchanges: Map<string, Exchange>;
  started: number;
  wrong: number;
}

export type V1Pairing = ReturnType<typeof createV1Pairing>;

export function createV1Pairing(parts: V1PairingParts) {
  const elapsedMs = parts.elapsedMs ?? (() => performance.now());
  let opening: Opening | undefined;
  /** True after the third wrong try, so the phone can show the reason. */
  let isExhausted = false;

  const current = (): Opening | ReturnType<typeof refused> => {
    if (isExhausted) return refused(403, "too many failed attempts");
    if (opening === undefined) return refused(400, "no pairing in progress");
    if (elapsedMs() < opening.endsMs) return opening;
    opening = undefined;
    return refused(410, "pairing expired");
  };

  return {
    /** Opens a pairing with a new PIN. An earlier PIN is no longer valid. */
    open(): OpenPinPairing {
      isExhausted = false;
      const pin = newPin(parts.randomBytes);
      opening = { pin, endsMs: elapsedMs() + v1PinMsMax, exchanges: new Map(), started: 0, wrong: 0 };
      return { pin, endsMs: parts.now() + v1PinMsMax };
    },
    cancel() {
      opening = undefined;
      isExhausted = false;
    },
    start(name: string, message: Uint8Array): PairingAnswer<{ session: string; message: Uint8Array }> {
      const now = current();
      if ("kind" in now) return now;
      const why = parts.full();
      if (why !== undefined) return refused(403, why);
      if (name === "") return refused(400, "client name required");
      if (new TextEncoder().encode(name).length > v1ClientNameBytesMax)
        return refused(400, "client name too long");
      if (now.started >= v1ExchangesMax) return refused(403, "too many failed attempts");
      now.started += 1;
      const answer = answerPake(now.pin, message, parts.randomBytes(48));
      if (answer === undefined) return refused(400, "invalid PAKE message");
      const session = parts.newId();
      const endsMs = elapsedMs() + v1ExchangeMsMax;
      now.exchanges.set(session, {
        name,
        toService: message,
        toClient: answer.message,
        key: answer.key,
        endsMs,
      });
      return { kind: "answer", session, message: answer.message };
    },
    finish(
      session: string,
      confirm: Uint8Array,
    ): PairingAnswer<{ token: string; clientId: string; confirm: Uint8Array }> {
      const now = current();
      if ("kind" in now) return now;
      const exchange = now.exchanges.get(session);
      if (exchange === undefined) return refused(404, "unknown pairing session");
      // One exchange allows one guess.
      now.exchanges.delete(session);
      if (elapsedMs() >= exchange.endsMs) return refused(410, "pairing expired");
      const keys = pairingKeys(exchange.key, exchange.toService, exchange.toClient);
      clean(exchange.key);
      const isRight = equalBytes(confirm, confirmation(keys.clientConfirm, "client", exchange));
      const answer = confirmation(keys.serviceConfirm, "server", exchange);
      const key = keys.pairing.toHex();
      clean(keys.clientConfirm, keys.serviceConfirm, keys.pairing);
      if (!isRight) {
        now.wrong += 1;
        if (now.wrong >= v1PinTriesMax) {
          opening = undefined;
          isExhausted = true;
        }
        return refused(401, "wrong PIN");
      }
      const token = parts.newId();
      const clientId = parts.keep({ name: exchange.name, token, key });
      opening = undefined;
      return { kind: "answer", token, clientId, confirm: answer };
    },
  };
}

function refused(status: number, error: string) {
  return { kind: "refused", status, error } as const;
}

/** A PIN of six digits, which are all equally likely, because a draw above the last whole million is repeated. */
function newPin(randomBytes: (count: number) => Uint8Array): string {
  for (;;) {
    const drawn = new DataView(randomBytes(4).slice().buffer).getUint32(0);
    if (drawn < 4_294_000_000) return String(drawn % 1_000_000).padStart(6, "0");
  }
}

export interface Transcript {
  readonly name: string;
  readonly toService: Uint8Array;
  readonly toClient: Uint8Array;
}

/** The keys that both sides confirm with, and `pairing`, which both keep and never send. */
export function pairingKeys(exchanged: Uint8Array, toService: Uint8Array, toClient: Uint8Array) {
  const salt = Buffer.concat([toService, toClient]);
  const key = (info: string) => new Uint8Array(hkdfSync("sha256", exchanged, salt, info, 32));
  return {
    clientConfirm: key("zaparoo-confirm-A"),
    serviceConfirm: key("zaparoo-confirm-B"),
    pairing: key("zaparoo-pairing-v1"),
  };
}

/** Proves that a side knows its confirmation key: an HMAC of the transcript, each part after its length. */
export function confirmation(
  key: Uint8Array,
  side: "client" | "server",
  { name, toService, toClient }: Transcript,
): Uint8Array {
  const hmac = createHmac("sha256", key);
  const texts = ["zaparoo-v1", "p256", side, name].map((text) => Buffer.from(text));
  for (const part of [...texts, toService, toClient]) hmac.update(lengthOf(part)).update(part);
  return hmac.digest();
}

/** The length of a part in 4 bytes, big-endian. */
function lengthOf(part: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, part.length);
  return bytes;
}
