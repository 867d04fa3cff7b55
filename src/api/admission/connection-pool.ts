/**
 * Callers from afar who may cost memory and have shown nothing for it: so many at a time, in all and from one address.
 * Whoever did nothing for the longest time makes room for the newest: in a flood that is the flood's own. Where they may stay
 * for a while, the newest has to come again, but from an address that is known for good.
 */
import type { Clock } from "../../core/clock.ts";

export interface Member {
  readonly address: string;
  /** Another one takes its place: it ends at once, and is not asked to. */
  readonly drop: () => void;
}

export interface Crowd {
  /** Whether another one of this address may enter: not where whoever would make room has only just come. */
  hasRoom(address: string): boolean;
  /** From now on others of this address need not wait for room. */
  know(address: string): void;
  enter(member: Member): void;
  /** It did something useful: of those that are there, it is now the last to make room. Nothing for one that is not. */
  stir(member: Member): void;
  leave(member: Member): void;
  has(member: Member): boolean;
}

export interface CrowdLimits {
  readonly max: number;
  readonly perAddressMax: number;
  /** So long whoever has come may stay; but not before those of the `knownMax` addresses that were last told to `know`. */
  readonly stay?: { readonly ms: number; readonly clock: Clock; readonly knownMax: number };
}

export function createCrowd({ max, perAddressMax, stay }: CrowdLimits): Crowd {
  const now = () => stay?.clock.now() ?? 0;
  /** With the time at which they came; whoever did nothing for the longest time first. */
  const members = new Map<Member, number>();
  /** Whoever was told of longest ago first. */
  const known = new Set<string>();
  /** Who has to go before another one of this address can come. */
  const inTheWay = (address: string): Member | undefined => {
    const ofAddress = [...members.keys()].filter((member) => member.address === address);
    const [oldest] =
      ofAddress.length >= perAddressMax ? ofAddress : members.size >= max ? members.keys() : [];
    return oldest;
  };
  return {
    hasRoom(address) {
      const oldest = known.has(address) ? undefined : inTheWay(address);
      // A clock that was set back must not shut anybody out.
      return oldest === undefined || Math.abs(now() - (members.get(oldest) ?? 0)) >= (stay?.ms ?? 0);
    },
    know(address) {
      known.delete(address);
      known.add(address);
      const [first = ""] = known;
      if (known.size > (stay?.knownMax ?? 0)) known.delete(first);
    },
    enter(member) {
      const oldest = inTheWay(member.address);
      members.set(member, now());
      if (oldest === undefined) return;
      members.delete(oldest);
      oldest.drop();
    },
    stir(member) {
      const cameMs = members.get(member);
      if (cameMs !== undefined && members.delete(member)) members.set(member, cameMs);
    },
    leave: (member) => void members.delete(member),
    has: (member) => members.has(member),
  };
}
