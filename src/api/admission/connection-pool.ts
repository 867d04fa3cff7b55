/**
 * The resources that remote callers may hold at once: connections, request bodies that are being read, and output that they
 * have not read. Connections of callers that have proved nothing, and bodies, are in pools that evict.
 */
import type { Clock } from "../../core/clock.ts";
import {
  anonymousBytesBurst,
  anonymousBytesPerSecondMax,
  anonymousMax,
  anonymousPerAddressMax,
  bodiesMax,
  bodiesPerAddressMax,
  connectionsForDevice,
  connectionsMax,
  connectionsPerAddressMax,
  provenAddressesMax,
  unsealedMax,
  unsealedPerAddressMax,
  unsealedStayMs,
  unsentInAllBytesMax,
  uploadBodiesMax,
  uploadBodiesPerAddressMax,
} from "../../core/limits.ts";
import { sentence, type Visit } from "../http.ts";
import type { Access } from "./access.ts";
import { createIntake } from "./intake.ts";
import { createFailedAttempts, createWriteQuota, TokenBucket } from "./rate-limits.ts";

export interface PoolMember {
  readonly address: string;
  /** Ends the member at once, without a closing handshake. */
  readonly drop: () => void;
}

interface PoolLimits {
  readonly max: number;
  readonly perAddressMax: number;
  /**
   * No member is evicted in its first `ms`, except in favour of one of the `trustedMax` addresses that were trusted last.
   */
  readonly stay?: { readonly ms: number; readonly clock: Clock; readonly trustedMax: number };
}

/** A full pool evicts the member that was inactive longest. In a flood, this is a member of the flood. */
export function createConnectionPool({ max, perAddressMax, stay }: PoolLimits) {
  const now = () => stay?.clock.now() ?? 0;
  /** The members with their times of entry. The member that was inactive longest comes first. */
  const members = new Map<PoolMember, number>();
  /** The address that was trusted longest ago comes first. */
  const trusted = new Set<string>();
  /** The member to evict before another one of this address can enter. */
  const nextEvicted = (address: string): PoolMember | undefined => {
    const ofAddress = [...members.keys()].filter((member) => member.address === address);
    const [oldest] =
      ofAddress.length >= perAddressMax ? ofAddress : members.size >= max ? members.keys() : [];
    return oldest;
  };
  return {
    /** Whether another member of this address may enter. False while the member to evict is still in its first `ms`. */
    hasRoom(address: string) {
      const oldest = trusted.has(address) ? undefined : nextEvicted(address);
      // The absolute value is used, so a clock that was set back locks nobody out.
      return oldest === undefined || Math.abs(now() - (members.get(oldest) ?? 0)) >= (stay?.ms ?? 0);
    },
    /** From now on, a new member of this address may evict another member at once. */
    trust(address: string) {
      trusted.delete(address);
      trusted.add(address);
      const [first = ""] = trusted;
      if (trusted.size > (stay?.trustedMax ?? 0)) trusted.delete(first);
    },
    enter(member: PoolMember) {
      const oldest = nextEvicted(member.address);
      members.set(member, now());
      if (oldest === undefined) return;
      members.delete(oldest);
      oldest.drop();
    },
    /** The member was active, so it is evicted last. */
    touch(member: PoolMember) {
      const enteredMs = members.get(member);
      if (enteredMs !== undefined && members.delete(member)) members.set(member, enteredMs);
    },
    leave: (member: PoolMember) => void members.delete(member),
    has: (member: PoolMember) => members.has(member),
  };
}

/** Counts the open connections, in total and by address. */
export function createConnectionQuota() {
  const byAddress = new Map<string, number>();
  let taken = 0;
  const count = (address: string, change: 1 | -1) => {
    taken += change;
    const left = (byAddress.get(address) ?? 0) + change;
    if (left === 0) byAddress.delete(address);
    else byAddress.set(address, left);
  };
  return {
    /** Some connections are reserved for callers on the device, which have no limit by address. */
    isFree: (address: string, access: Access) =>
      access === "device"
        ? taken < connectionsMax
        : taken < connectionsMax - connectionsForDevice &&
          (byAddress.get(address) ?? 0) < connectionsPerAddressMax,
    take: (address: string) => count(address, 1),
    giveBack: (address: string) => count(address, -1),
  };
}

/** A remote caller with output that it has not read yet. */
export interface Recipient {
  readonly unsentBytes: () => number;
  /** Ends the connection at once, and frees its output. */
  readonly drop: () => void;
}

export type SendBacklog = ReturnType<typeof createSendBacklog>;

/** Limits the unread output of all remote callers together: above the limit, the largest is dropped. */
export function createSendBacklog(bytesMax: number = unsentInAllBytesMax) {
  /** Recipients that had unread output when it was last measured. */
  const known = new Map<Recipient, number>();
  let total = 0;
  const set = (recipient: Recipient, bytes: number) => {
    total += bytes - (known.get(recipient) ?? 0);
    if (bytes === 0) known.delete(recipient);
    else known.set(recipient, bytes);
  };
  const largest = () => {
    let found: Recipient | undefined;
    let most: number = 0;
    for (const [recipient, bytes] of known) if (bytes > most) [found, most] = [recipient, bytes];
    return found;
  };
  return {
    /** Something was sent to the recipient. */
    note(recipient: Recipient) {
      set(recipient, recipient.unsentBytes());
      if (total <= bytesMax) return;
      // Some recipients may have read since they were measured.
      for (const one of [...known.keys()]) set(one, one.unsentBytes());
      while (total > bytesMax) {
        const one = largest();
        if (one === undefined) return;
        set(one, 0);
        one.drop();
      }
    },
    forget: (recipient: Recipient) => set(recipient, 0),
  };
}

type ReadBody =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  | { readonly kind: "too-long" }
  /** The body was evicted, or its connection broke. `answer` reports this and ends the connection. */
  | { readonly kind: "dropped"; readonly answer: Response };

/**
 * Reads request bodies. Each body may stay in memory until its last byte has come, so a pool limits those of remote callers.
 */
export function createBodyReader() {
  const pool = createConnectionPool({ max: bodiesMax, perAddressMax: bodiesPerAddressMax });
  return {
    async read(
      { request, address, access }: Pick<Visit, "request" | "address" | "access">,
      bytesMax: number,
    ): Promise<ReadBody> {
      if (Number(request.headers.get("content-length") ?? 0) > bytesMax) return { kind: "too-long" };
      const dropped = Promise.withResolvers<undefined>();
      const member: PoolMember = { address, drop: () => dropped.resolve(undefined) };
      if (access !== "device") pool.enter(member);
      try {
        const read = await Promise.race([readUpTo(request, bytesMax), dropped.promise]);
        return read ?? { kind: "dropped", answer: tooSlow() };
      } catch {
        // The caller is gone, so nobody reads the answer.
        return { kind: "dropped", answer: tooSlow() };
      } finally {
        pool.leave(member);
      }
    },
  };
}

/** A body that does not announce its length is read no further than the limit. */
async function readUpTo(request: Request, bytesMax: number): Promise<ReadBody> {
  if (request.body === null || request.headers.has("content-length"))
    return { kind: "whole", bytes: await request.bytes() };
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.length;
    if (length > bytesMax) return { kind: "too-long" };
    chunks.push(chunk);
  }
  return { kind: "whole", bytes: Buffer.concat(chunks) };
}

function tooSlow(): Response {
  return sentence(503, "too many requests are being read: send it again", { connection: "close" });
}

export type RemoteLimits = ReturnType<typeof createRemoteLimits>;

/** The limits that all remote callers share. */
export function createRemoteLimits(clock: Clock) {
  return {
    connections: createConnectionQuota(),
    /** Connections in the clear whose caller has not proved its secret yet. */
    unsealed: createConnectionPool({
      max: unsealedMax,
      perAddressMax: unsealedPerAddressMax,
      stay: { ms: unsealedStayMs, clock, trustedMax: provenAddressesMax },
    }),
    /** Connections over TLS whose caller has no identity. */
    anonymous: createConnectionPool({ max: anonymousMax, perAddressMax: anonymousPerAddressMax }),
    /** The bytes that anonymous callers may be sent. An answer costs memory and work before anybody reads it. */
    answerBudget: new TokenBucket(clock, {
      tokenMs: 1000 / anonymousBytesPerSecondMax,
      burst: anonymousBytesBurst,
    }),
    /** Limits the messages of callers without an identity. */
    intake: createIntake(clock),
    backlog: createSendBacklog(),
    bodies: createBodyReader(),
    uploads: createConnectionPool({ max: uploadBodiesMax, perAddressMax: uploadBodiesPerAddressMax }),
    failures: createFailedAttempts(clock),
    writes: createWriteQuota(clock),
  };
}
