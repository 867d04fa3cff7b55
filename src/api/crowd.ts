/**
 * Callers from afar who may cost memory and have shown nothing for it: so many at a time, in all and from one address. The
 * newest always comes in, and whoever did nothing for the longest time makes room: in a flood that is the flood's own.
 */
export interface Member {
  readonly address: string;
  /** Another one takes its place: it ends at once, and is not asked to. */
  readonly drop: () => void;
}

export interface Crowd {
  enter(member: Member): void;
  /** It did something useful: of those that are there, it is now the last to make room. Nothing for one that is not. */
  stir(member: Member): void;
  leave(member: Member): void;
  has(member: Member): boolean;
}

export interface CrowdLimits {
  readonly max: number;
  readonly perAddressMax: number;
}

export function createCrowd({ max, perAddressMax }: CrowdLimits): Crowd {
  /** Whoever did nothing for the longest time first. */
  const members = new Set<Member>();
  return {
    enter(member) {
      members.add(member);
      const ofAddress = [...members].filter(({ address }) => address === member.address);
      const [oldest] = ofAddress.length > perAddressMax ? ofAddress : members.size > max ? members : [];
      if (oldest === undefined) return;
      members.delete(oldest);
      oldest.drop();
    },
    stir(member) {
      if (members.delete(member)) members.add(member);
    },
    leave: (member) => void members.delete(member),
    has: (member) => members.has(member),
  };
}
