/** Pairing and sessions of clients of the secure layer's version 1, which `api.allow_v1_clients` allows. */
import { randomBytes } from "node:crypto";
import type { PairByPin } from "../api/pin-pairing-endpoint.ts";
import type { AcceptHello } from "../api/sealed-line.ts";
import type { Audit } from "../core/audit.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { encryptionRequired, SecureFailure, secureVersion, unsupportedVersion } from "../secure/failure.ts";
import { readHello } from "../secure/frames.ts";
import { acceptHandshake } from "../secure/handshake.ts";
import type { Store } from "../store/open.ts";
import { createV1Pairing } from "./v1-pairing.ts";
import { acceptFirstFrame, type FirstFrame, readFirstFrame } from "./v1-session.ts";

interface V1Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  /** The stored name for a phone that chose this name. No other client has it. */
  readonly nameFor: (chosen: string) => string;
  /** The present value of `api.allow_v1_clients`. */
  readonly isAllowed: () => boolean;
}

export function acceptHellos({ store, log, isAllowed }: V1Parts) {
  const remember = async (clientId: string, salt: Uint8Array) => {
    const found = await store.v1Clients.remember(clientId, salt);
    if (found === "full")
      log.warn("api", "a client of version 1 has used up its sessions: pair it again", { client: clientId });
    return found === "new";
  };
  const parts = { find: store.v1Clients.find, remember, randomBytes };
  const acceptFrame = async (frame: FirstFrame | "malformed") => {
    try {
      return await acceptFirstFrame(frame, parts);
    } catch (error) {
      if (error instanceof SecureFailure) return refused(pairAgain(error));
      log.error("api", "a session of version 1 could not be stored, and does not open", {
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
    if (frame !== undefined) return acceptFrame(frame);
    return refused(readHello(hello).kind === "cleartext" ? encryptionRequired() : unsupportedVersion([1]));
  };
  return {
    /** Answers the hello of either version; that of version 1 only if it is allowed. It never rejects. */
    accept,
    /** Answers the hello of version 1 only. */
    acceptV1,
  };
}

/** The app of version 1 takes `encryption-required` as the order to forget its identity and to pair again. */
function pairAgain(cause: SecureFailure): ServiceError {
  const sentence = "this does not open: pair this client with the device again";
  return new ServiceError("encryption-required", sentence, { cause });
}

function refused(error: ServiceError) {
  return { kind: "refused", error } as const;
}

/** Pairing by PIN for the API. */
export function createPairByPin({ store, clock, audit, nameFor, isAllowed }: V1Parts): PairByPin {
  const pairing = createV1Pairing({
    now: clock.now,
    randomBytes,
    newId: () => crypto.randomUUID(),
    full: () => (store.v1Clients.isFull() ? "maximum paired clients reached" : undefined),
    keep({ name: chosen, token, key }) {
      const id = crypto.randomUUID();
      const name = nameFor(chosen);
      store.v1Clients.add({ id, name, token, key, address: "" }, clock.now());
      audit.note({ event: "paired", client: id, name, by: "pin" });
      return id;
    },
  });
  return {
    ...pairing,
    isAllowed,
    open() {
      if (!isAllowed())
        throw new ServiceError(
          "failed",
          "these clients may not connect: set api.allow_v1_clients = true first",
        );
      audit.note({ event: "pairing-opened", by: "pin" });
      return pairing.open();
    },
  };
}
