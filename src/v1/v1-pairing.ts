/**
 * Pairing by PIN, the service's side of the secure layer's version 1: opened at the device, for one client, for five
 * minutes and three wrong tries in all, whoever makes them from wherever.
 */
import {
  v1ClientNameBytesMax,
  v1ExchangeMsMax,
  v1ExchangesMax,
  v1PinMsMax,
  v1PinTriesMax,
} from "../core/limits.ts";
import { wipe } from "../secure/wipe.ts";
import { answerPake } from "./pake.ts";
import { confirmation, pairingKeys, type Transcript } from "./v1-keys.ts";

export interface OpenPairing {
  /** Six digits. */
  readonly pin: string;
  readonly endsMs: number;
}

export interface V1PairingParts {
  readonly now: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly newId: () => string;
  /** Keeps the client, and returns the id that it is listed by; throws where there is no room for one more. */
  readonly keep: (client: NewV1Client) => string;
  /** Undefined where there is room for one more client; else why there is none. */
  readonly full: () => string | undefined;
  /** A try ended: who it was is for the caller to know. */
  readonly onWrongPin: () => void;
}

export interface NewV1Client {
  readonly name: string;
  readonly token: string;
  /** 64 hex characters. */
  readonly key: string;
}

/** Refusals in the words and numbers that known clients tell apart. */
export type PairingAnswer<T> =
  | ({ readonly kind: "answer" } & T)
  | { readonly kind: "refused"; readonly status: number; readonly error: string };

export interface V1Pairing {
  /** Opens it anew: a PIN that was open until now no longer counts. */
  open(): OpenPairing;
  cancel(): void;
  readonly isOpen: boolean;
  start(name: string, message: Uint8Array): PairingAnswer<{ session: string; message: Uint8Array }>;
  finish(
    session: string,
    confirm: Uint8Array,
  ): PairingAnswer<{ token: string; clientId: string; confirm: Uint8Array }>;
}

interface Exchange extends Transcript {
  readonly key: Uint8Array;
  readonly endsMs: number;
}

interface Opening extends OpenPairing {
  readonly exchanges: Map<string, Exchange>;
  started: number;
  wrong: number;
}

export function createV1Pairing(parts: V1PairingParts): V1Pairing {
  let opening: Opening | undefined;
  /** Kept for a while after the third wrong try, so that the person in front of the phone learns why. */
  let isExhausted = false;

  const current = (): Opening | ReturnType<typeof refused> => {
    if (isExhausted) return refused(403, "too many failed attempts");
    if (opening === undefined) return refused(400, "no pairing in progress");
    if (parts.now() < opening.endsMs) return opening;
    opening = undefined;
    return refused(410, "pairing expired");
  };

  return {
    open() {
      isExhausted = false;
      const endsMs = parts.now() + v1PinMsMax;
      opening = { pin: newPin(parts.randomBytes), endsMs, exchanges: new Map(), started: 0, wrong: 0 };
      return { pin: opening.pin, endsMs };
    },
    cancel() {
      opening = undefined;
      isExhausted = false;
    },
    get isOpen() {
      return !("kind" in current());
    },
    start(name, message) {
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
      const endsMs = parts.now() + v1ExchangeMsMax;
      now.exchanges.set(session, {
        name,
        toService: message,
        toClient: answer.message,
        key: answer.key,
        endsMs,
      });
      return { kind: "answer", session, message: answer.message };
    },
    finish(session, confirm) {
      const now = current();
      if ("kind" in now) return now;
      const exchange = now.exchanges.get(session);
      if (exchange === undefined) return refused(404, "unknown pairing session");
      // One exchange is one guess.
      now.exchanges.delete(session);
      if (parts.now() >= exchange.endsMs) return refused(410, "pairing expired");
      const keys = pairingKeys(exchange.key, exchange.toService, exchange.toClient);
      wipe(exchange.key);
      const isRight = isSame(confirm, confirmation(keys.clientConfirm, "client", exchange));
      const answer = confirmation(keys.serviceConfirm, "server", exchange);
      const key = keys.pairing.toHex();
      wipe(keys.clientConfirm, keys.serviceConfirm, keys.pairing);
      if (!isRight) {
        now.wrong += 1;
        if (now.wrong >= v1PinTriesMax) {
          opening = undefined;
          isExhausted = true;
        }
        parts.onWrongPin();
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

/** Six digits, each number as likely as every other: draws above the last whole million are drawn again. */
function newPin(randomBytes: (count: number) => Uint8Array): string {
  for (;;) {
    const drawn = new DataView(randomBytes(4).slice().buffer).getUint32(0);
    if (drawn < 4_294_000_000) return String(drawn % 1_000_000).padStart(6, "0");
  }
}

/** In a time that does not depend on where they differ. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  one.forEach((byte, index) => {
    difference |= byte ^ (other[index] ?? 0);
  });
  return difference === 0;
}
