/**
 * Pairing by a code. It is open for ten minutes, and for three tries of all phones together. A try is used up when a
 * proof arrives, before it is checked, so many simultaneous proofs use up the three tries. A hello uses up no try.
 */
import type { PairingTry } from "../api/sealed-line.ts";
import type { ClientEntry, PairingEnd, PairingOpening, PairingService } from "../api/services.ts";
import type { Audit } from "../core/audit.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { coded, failed, limitReached, ServiceError } from "../core/errors.ts";
import {
  pairingHellosMax,
  pairingHellosPerAddressMax,
  pairingOpenMs,
  pairingSharesKeptMax,
  pairingTriesMax,
} from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { codeLink } from "../core/pairing-link.ts";
import { allows, type Role } from "../core/rights.ts";
import { shareName } from "../secure/cpace.ts";
import { SecureFailure } from "../secure/failure.ts";
import {
  answerPairing,
  generatorOfCode,
  newPairingCode,
  type PairingDevice,
  type PairingHello,
  readPairingHello,
} from "../secure/pairing.ts";
import type { PairingGuesses } from "../store/client-table.ts";
import { reachableHosts } from "../system/addresses.ts";
import { createGuesses } from "./pairing-backoff.ts";
import type { Screen } from "./screen.ts";

interface CodePairingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly addClient: (name: string, role: Role) => Pick<ClientEntry, "id" | "secret" | "name">;
  readonly guesses: PairingGuesses;
  readonly audit: Audit;
}

interface Opening {
  readonly code: string;
  readonly generator: Uint8Array;
  /** The role of the phone. The role is read after the phone has proved the code. */
  readonly role: () => Role;
  readonly expires: string;
  triesLeft: number;
  /** Wrong codes before this opening. */
  readonly wrongBefore: number;
  /** Exchanges without a proof, the oldest first, with their addresses. */
  readonly running: Map<PairingDevice, string>;
  /** The device's shares in this opening. A client that sends one of them reflects it. */
  readonly shares: Set<string>;
  readonly timer: Disposable;
  readonly ended: PromiseWithResolvers<PairingEnd>;
}

type Pairing = ReturnType<typeof createPairing>;

export function createPairing({ clock, log, addClient, guesses: store, audit }: CodePairingParts) {
  const guesses = createGuesses(clock, store);
  let opening: Opening | undefined;

  /** Throws `busy` while wrong codes delay the next one. */
  const refuseWhileDelayed = () => {
    const retryAfterMs = guesses.waitMs();
    if (retryAfterMs === 0) return;
    const sentence = `wrong codes were tried: the next one counts in ${minutes(retryAfterMs)}; until then a link of tapdeck pair lets a phone in`;
    const data = { limit: "pairingWrongCodesFree", retryAfterMs };
    throw coded("pairing-delayed", new ServiceError("busy", sentence, { data }), {
      minutes: Math.ceil(retryAfterMs / 60_000),
    });
  };
  const end = (which: Opening, how: PairingEnd) => {
    if (opening !== which) return;
    opening = undefined;
    which.timer[Symbol.dispose]();
    for (const device of which.running.keys()) device.close();
    which.running.clear();
    which.ended.resolve(how);
  };
  const drop = (which: Opening, device: PairingDevice) => {
    which.running.delete(device);
    device.close();
  };
  /**
   * Counts and checks a proof. Nothing may wait between the two steps, because each of many simultaneous proofs must
   * count.
   */
  const isRight = (which: Opening, device: PairingDevice, proof: string) => {
    refuseWhileDelayed();
    guesses.count();
    which.triesLeft -= 1;
    return device.isProof(proof);
  };
  const attempt = (which: Opening, device: PairingDevice, name: string, address: string): PairingTry => ({
    reply: device.reply,
    prove(proof) {
      if (opening !== which) throw notOpen();
      if (!which.running.has(device))
        throw limitReached(
          "pairingHellosMax",
          "others began to pair at the same time, and took this place: try again",
        );
      try {
        if (!isRight(which, device, proof)) {
          audit.refused("wrong-code", { address });
          log.warn("pairing", "a wrong code was tried", { address, triesLeft: which.triesLeft });
          throw wrongCode(which.triesLeft, guesses.waitMs());
        }
        // Only people to whom the owner showed the code know it, so this opening's wrong codes were typing errors. Earlier
        // wrong codes still count: a neighbour who guesses gains at most two free guesses for each phone that the owner pairs.
        guesses.forgive(which.wrongBefore);
        const { id, secret, name: kept } = addClient(name, which.role());
        const grant = device.grant({ id, secret });
        log.info("pairing", "a client was paired by its code", { client: id, address });
        end(which, { reason: "paired", client: { id, name: kept } });
        return grant;
      } finally {
        drop(which, device);
        if (which.triesLeft === 0) end(which, { reason: "tries" });
      }
    },
    close: () => drop(which, device),
  });

  const cancel = () => {
    if (opening !== undefined) end(opening, { reason: "cancelled" });
  };
  return {
    /** Makes a new code, and cancels an open one. Rejects with `busy` while wrong codes delay the next one. */
    async open(asked: Role | (() => Role)): Promise<PairingOpening> {
      const role = typeof asked === "function" ? asked : () => asked;
      const code = await newPairingCode();
      refuseWhileDelayed();
      cancel();
      const expires = rfc3339(clock.now() + pairingOpenMs);
      const fresh: Opening = {
        code,
        generator: generatorOfCode(code),
        role,
        expires,
        triesLeft: pairingTriesMax,
        wrongBefore: guesses.wrong,
        running: new Map(),
        shares: new Set(),
        timer: clock.after(pairingOpenMs, () => end(fresh, { reason: "expired" })),
        ended: Promise.withResolvers(),
      };
      opening = fresh;
      audit.note({ event: "pairing-opened", by: "code" });
      return { code, expires, triesLeft: fresh.triesLeft };
    },
    /** Cancels the pairing. It does nothing if no pairing is open. */
    cancel,
    /** The opening without its code; undefined if no pairing is open. */
    current: () => opening && { expires: opening.expires, triesLeft: opening.triesLeft },
    /** Resolves when the opening has ended. Rejects with `not-found` if no pairing is open. */
    async wait() {
      if (opening === undefined) throw new ServiceError("not-found", "no pairing is open");
      return opening.ended.promise;
    },
    read: readPairingHello,
    /** The same as `PairingDoor.begin`. */
    async begin(hello: PairingHello, address: string) {
      const which = opening;
      if (which === undefined) {
        audit.refused("wrong-code", { address });
        throw notOpen();
      }
      refuseWhileDelayed();
      const isOurs = which.shares.has(shareName(hello.share));
      const device = isOurs ? undefined : await answerPairing(which.code, hello, which.generator);
      if (device === undefined) {
        audit.refused("secure-failure", { address });
        throw new SecureFailure();
      }
      if (opening !== which) {
        device.close();
        throw notOpen();
      }
      const oldest = nextEvicted(which, address);
      if (oldest !== undefined) drop(which, oldest);
      which.running.set(device, address);
      remember(which.shares, shareName(device.share));
      return attempt(which, device, hello.name, address);
    },
    /** Cancels the pairing, and stops all timers. */
    close() {
      cancel();
      guesses[Symbol.dispose]();
    },
  };
}

/** The exchange to evict: the oldest of the address, or the oldest of all; undefined if there is room. */
function nextEvicted({ running }: Pick<Opening, "running">, address: string): PairingDevice | undefined {
  const own = [...running].filter(([, from]) => from === address).map(([device]) => device);
  if (own.length >= pairingHellosPerAddressMax) return own[0];
  return running.size < pairingHellosMax ? undefined : running.keys().next().value;
}

/** Evicts the oldest share above the limit. */
function remember(shares: Set<string>, share: string): void {
  const [oldest] = shares;
  if (oldest !== undefined && shares.size >= pairingSharesKeptMax) shares.delete(oldest);
  shares.add(share);
}

interface DeviceReach {
  /** The addresses of the config to listen on. */
  readonly listen: () => readonly string[];
  readonly port: () => number;
  readonly fingerprint: () => string | undefined;
}

/** The pairing that the API offers. */
export function pairingService(pairing: Pairing, { listen, port, fingerprint }: DeviceReach): PairingService {
  return {
    async describe() {
      const print = fingerprint();
      const open = pairing.current();
      return {
        hosts: await reachableHosts(listen()),
        port: port(),
        ...(print === undefined ? {} : { fingerprint: print }),
        ...(open === undefined ? {} : { open }),
      };
    },
    async open(role, host, grant) {
      if (host === undefined && (await reachableHosts(listen())).length === 0)
        throw coded(
          "pairing-no-network",
          failed(
            "the service is not reached from the network: see api.listen in the settings, or name its address (tapdeck pair --code --host)",
          ),
        );
      return await pairing.open(() => {
        // An owner who was revoked meanwhile admits nobody any more.
        if (!allows(grant(), "own")) throw notOpen();
        return role;
      });
    },
    wait: pairing.wait,
    cancel: pairing.cancel,
  };
}

function notOpen(): ServiceError {
  return coded(
    "pairing-not-open",
    new ServiceError(
      "forbidden",
      "no pairing by code is open: open one on the device itself, with tapdeck pair --code",
    ),
  );
}

function wrongCode(triesLeft: number, retryAfterMs: number): ServiceError {
  const tries = triesLeft === 1 ? "one try is left" : `${triesLeft} tries are left`;
  const sentence =
    triesLeft === 0 ? "and that was the last try: open it again on the device" : `and ${tries}`;
  const delay = retryAfterMs === 0 ? "" : `, in ${minutes(retryAfterMs)}`;
  const data = { triesLeft, ...(retryAfterMs === 0 ? {} : { retryAfterMs }) };
  const whole = `this is not the code that the device shows, ${sentence}${delay}`;
  const refusal = triesLeft === 0 ? "pairing-last-code" : "pairing-wrong-code";
  return coded(refusal, new ServiceError("forbidden", whole, { data }));
}

function minutes(ms: number): string {
  const whole = Math.ceil(ms / 60_000);
  return whole === 1 ? "a minute" : `${whole} minutes`;
}

interface PairOnScreenParts {
  readonly pairing: Pairing;
  readonly screen: Pick<Screen, "isThere" | "showPairing">;
  /** Names and addresses by which others reach the device, the best first, and its port. */
  readonly place: () => Promise<{ readonly hosts: readonly string[]; readonly port: number }>;
  /** The role of a phone that knows the code of the screen. */
  readonly role: () => Role;
}

/** Opens pairing and shows its code and link on the screen until it has ended. Rejects with `failed` without a screen or network. */
export async function pairOnScreen({ pairing, screen, place, role }: PairOnScreenParts): Promise<void> {
  if (!screen.isThere) throw failed("there is no screen to show a code on: tapdeck pair does it elsewhere");
  const { hosts, port } = await place();
  const [host] = hosts;
  if (host === undefined) throw failed("the device is in no network yet, so no phone finds it");
  const { code } = await pairing.open(role);
  const base = `http://${host}:${port}`;
  const shown = screen.showPairing({ link: codeLink(base, code), base, code });
  // A later opening cancels this one, and may be on the screen already.
  void pairing.wait().finally(() => shown[Symbol.dispose]());
}
