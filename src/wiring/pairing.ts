/**
 * Pairing by a code: opened at the device for two minutes and three tries in all, whoever makes them. A try is spent when it
 * begins, so that many at once are no more than three.
 */
import type { PairingDoor, PairingTry } from "../api/pairing-line.ts";
import type { Client, OpenPairing, PairingEnd, PairingService } from "../api/services.ts";
import type { Audit } from "../core/audit.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { pairingOpenMs, pairingTriesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { SecureFailure } from "../secure/failure.ts";
import { answerPairing, newPairingCode, type PairingDevice, readPairingHello } from "../secure/pairing.ts";
import { reachableHosts } from "../system/reachable.ts";

export interface Pairing extends PairingDoor {
  /** Shows a new code; one that was open before is called off. */
  open(): Promise<OpenPairing>;
  /** Calls it off; nothing where none is open. */
  cancel(): void;
  /** The opening without its code; undefined where none is open. */
  current(): Omit<OpenPairing, "code"> | undefined;
  /** Resolves when the opening has ended. Throws `not-found` where none is open. */
  wait(): Promise<PairingEnd>;
}

export interface PairingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly addClient: (name: string) => Client;
  readonly audit: Audit;
}

interface Opening {
  readonly code: string;
  readonly expires: string;
  triesLeft: number;
  /** Tries that may still prove themselves. */
  readonly running: Set<PairingDevice>;
  readonly timer: Disposable;
  readonly ended: PromiseWithResolvers<PairingEnd>;
}

export function createPairing({ clock, log, addClient, audit }: PairingParts): Pairing {
  let opening: Opening | undefined;

  const end = (which: Opening, how: PairingEnd) => {
    if (opening !== which) return;
    opening = undefined;
    which.timer[Symbol.dispose]();
    for (const device of which.running) device.close();
    which.running.clear();
    which.ended.resolve(how);
  };
  /** A try has ended without having been granted, or never began; the last one ends the opening. */
  const drop = (which: Opening, device: PairingDevice | undefined, address: string) => {
    if (device !== undefined && !which.running.delete(device)) return;
    audit.refused("wrong-code", { address });
    device?.close();
    if (which.triesLeft === 0 && which.running.size === 0) end(which, { reason: "tries" });
  };
  const attempt = (which: Opening, device: PairingDevice, name: string, address: string): PairingTry => ({
    reply: device.reply,
    prove(proof) {
      if (opening !== which || !which.running.has(device)) throw notOpen();
      if (!device.isProof(proof)) {
        log.warn("pairing", "a wrong code was tried", { address, triesLeft: which.triesLeft });
        drop(which, device, address);
        throw wrongCode(which.triesLeft);
      }
      const { id, secret } = addClient(name);
      const grant = device.grant({ id, secret });
      log.info("pairing", "a client was paired by its code", { client: id, address });
      end(which, { reason: "paired", client: { id, name } });
      return grant;
    },
    close: () => drop(which, device, address),
  });

  return {
    async open() {
      const code = await newPairingCode();
      if (opening !== undefined) end(opening, { reason: "cancelled" });
      const expires = rfc3339(clock.now() + pairingOpenMs);
      const fresh: Opening = {
        code,
        expires,
        triesLeft: pairingTriesMax,
        running: new Set(),
        timer: clock.after(pairingOpenMs, () => end(fresh, { reason: "expired" })),
        ended: Promise.withResolvers(),
      };
      opening = fresh;
      audit.note({ event: "pairing-opened", by: "code" });
      return { code, expires, triesLeft: fresh.triesLeft };
    },
    cancel() {
      if (opening !== undefined) end(opening, { reason: "cancelled" });
    },
    current: () => opening && { expires: opening.expires, triesLeft: opening.triesLeft },
    async wait() {
      if (opening === undefined) throw new ServiceError("not-found", "no pairing is open");
      return opening.ended.promise;
    },
    read: readPairingHello,
    async begin(hello, address) {
      const which = opening;
      if (which === undefined || which.triesLeft === 0) {
        audit.refused("wrong-code", { address });
        throw notOpen();
      }
      which.triesLeft -= 1;
      const device = await answerPairing(which.code, hello);
      if (device === undefined) {
        drop(which, device, address);
        throw new SecureFailure();
      }
      which.running.add(device);
      return attempt(which, device, hello.name, address);
    },
  };
}

export interface PairingSurroundings {
  /** Addresses of the config to listen on. */
  readonly listen: () => readonly string[];
  readonly port: () => number;
  readonly fingerprint: () => string | undefined;
}

/** What the API offers of it. */
export function pairingService(
  pairing: Pairing,
  { listen, port, fingerprint }: PairingSurroundings,
): PairingService {
  return {
    async describe() {
      const [print, open] = [fingerprint(), pairing.current()];
      return {
        hosts: await reachableHosts(listen()),
        port: port(),
        ...(print === undefined ? {} : { fingerprint: print }),
        ...(open === undefined ? {} : { open }),
      };
    },
    open: pairing.open,
    wait: pairing.wait,
    cancel: pairing.cancel,
  };
}

function notOpen(): ServiceError {
  return new ServiceError(
    "forbidden",
    "no pairing by code is open: open one on the device itself, with tapdeck pair --code",
  );
}

function wrongCode(triesLeft: number): ServiceError {
  const tries = triesLeft === 1 ? "one try is left" : `${triesLeft} tries are left`;
  const sentence =
    triesLeft === 0 ? "and that was the last try: open it again on the device" : `and ${tries}`;
  return new ServiceError("forbidden", `this is not the code that the device shows, ${sentence}`, {
    data: { triesLeft },
  });
}
