/** The way in for known clients, version 1 of the secure layer, where `api.allow_v1_clients` opens it. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { PairByPin } from "../api/pin-pairing-endpoint.ts";
import type { AcceptHello } from "../api/sealed-line.ts";
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { SecureFailure, secureVersion, unsupportedVersion } from "../secure/failure.ts";
import { acceptHandshake } from "../secure/handshake.ts";
import type { Store } from "../store/open.ts";
import { acceptFirstFrame } from "./v1-accept.ts";
import { createV1Pairing } from "./v1-pairing.ts";
import { type AesGcm, type FirstFrame, readFirstFrame } from "./v1-session.ts";

const [tagBytes, algorithm] = [16, "aes-256-gcm"] as const;

/** The runtime's AES-256-GCM. */
export const aes: AesGcm = {
  seal(key, nonce, ad, plaintext) {
    const cipher = createCipheriv(algorithm, key, nonce);
    cipher.setAAD(ad);
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  },
  open(key, nonce, ad, sealed) {
    if (sealed.length < tagBytes) return undefined;
    const decipher = createDecipheriv(algorithm, key, nonce);
    decipher.setAAD(ad);
    decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - tagBytes)), decipher.final()]);
    } catch {
      // The tag does not fit, which is all that there is to say of it.
      return undefined;
    }
  },
};

export interface V1Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  /** The name under which a phone that chose this one is kept: no other client has it. */
  readonly nameFor: (chosen: string) => string;
  /** What `api.allow_v1_clients` says now. */
  readonly isAllowed: () => boolean;
}

export interface Accepting {
  /** Answers the hello of either version; that of version 1 only where it is allowed. Never rejects. */
  readonly accept: AcceptHello;
  /** As `accept`, of version 1 only. */
  readonly acceptV1: AcceptHello;
}

export function acceptHellos({ store, log, isAllowed }: V1Parts): Accepting {
  const remember = async (clientId: string, salt: Uint8Array) => {
    const found = await store.v1Clients.remember(clientId, salt);
    if (found === "full")
      log.warn("api", "a client of version 1 has used up its sessions: pair it again", { client: clientId });
    return found === "new";
  };
  const parts = { aes, find: store.v1Clients.find, remember, randomBytes };
  const acceptFrame = async (frame: FirstFrame | "malformed") => {
    try {
      return await acceptFirstFrame(frame, parts);
    } catch (error) {
      if (error instanceof SecureFailure) return refused(error);
      log.error("api", "a session of version 1 could not be noted, and so not opened", {
        error: messageOf(error),
      });
      return refused(new SecureFailure());
    }
  };
  const accept: AcceptHello = async (hello) => {
    const frame = isAllowed() ? readFirstFrame(hello) : undefined;
    if (frame !== undefined) return acceptFrame(frame);
    const accepted = await acceptHandshake(hello, (id) => store.clients.get(id)?.secret);
    const isOther = accepted.kind === "refused" && accepted.error.code === "unsupported-secure-version";
    return isOther && isAllowed() ? refused(unsupportedVersion([1, secureVersion])) : accepted;
  };
  const acceptV1: AcceptHello = async (hello) => {
    const frame = isAllowed() ? readFirstFrame(hello) : undefined;
    return frame === undefined ? refused(unsupportedVersion([1])) : acceptFrame(frame);
  };
  return { accept, acceptV1 };
}

function refused(error: ServiceError) {
  return { kind: "refused", error } as const;
}

/** Pairing by PIN, as the API offers it. */
export function createPairByPin({ store, clock, audit, nameFor, isAllowed }: V1Parts): PairByPin {
  const pairing = createV1Pairing({
    now: clock.now,
    randomBytes,
    newId: () => crypto.randomUUID(),
    full: () => (store.v1Clients.isFull() ? "maximum paired clients reached" : undefined),
    onWrongPin: () => {},
    keep({ name: chosen, token, key }) {
      const [id, name] = [crypto.randomUUID(), nameFor(chosen)];
      store.v1Clients.add({ id, name, token, key, address: "" }, clock.now());
      audit.note({ event: "paired", client: id, name, by: "pin" });
      return id;
    },
  });
  return {
    isAllowed,
    open() {
      if (!isAllowed())
        throw new ServiceError(
          "failed",
          "these clients are not let in: set api.allow_v1_clients = true first",
        );
      audit.note({ event: "pairing-opened", by: "pin" });
      return pairing.open();
    },
    cancel: pairing.cancel,
    start: pairing.start,
    finish: pairing.finish,
  };
}
