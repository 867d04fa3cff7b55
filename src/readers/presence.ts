/**
 * Presence: what lies on one reader, out of a driver's reports. A tag that flickers at the edge of the field is one
 * tag; a reader that fails says nothing about its tags.
 *
 *   report with a new tag        added at once, and whatever was leaving has left
 *   report without a known tag   it is leaving: removed after `removalDebounceMs`, unless it is seen again
 *   fault of the reader          nothing leaves until the next report
 *   a tag is written             it is the same one whatever it says then; one that came to be written never came at all
 */

import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { tokensPerReaderMax } from "../core/limits.ts";
import { withoutSecrets } from "../core/pairing-link.ts";
import type { Requester } from "../core/rights.ts";
import type { Sighting, Token, TokenParams } from "../core/token.ts";

// A hand that puts a card down lets it bounce; 300 ms is more than three re-checks of a driver and less than a person
// needs to change cards.
export const removalDebounceMs = 300;

export interface Presence {
  /** Takes all that the reader reports now. */
  see(reported: readonly Sighting[]): void;
  /** The reader failed: what was there stays, until a report says otherwise. */
  hold(): void;
  /** The tag with this UID is about to be written: until it has left, no report of it is news. */
  writing(uid: string): void;
  /** True while a tag that was written, or refused to be, has not left since. */
  wasWritten(uid: string): boolean;
}

export interface PresenceEvents {
  readonly clock: Clock;
  readonly added: (sighting: Sighting) => void;
  readonly removed: (sighting: Sighting) => void;
}

interface Held {
  /** As it was when it came; absent where it came to be written, and nobody was told. */
  readonly sighting: Sighting | undefined;
  readonly uid: string;
  leaving: Disposable | undefined;
  written: boolean;
}

export function createPresence({ clock, added, removed }: PresenceEvents): Presence {
  let held: readonly Held[] = [];

  const letGo = (tag: Held) => {
    stay(tag);
    held = held.filter((other) => other !== tag);
    if (tag.sighting !== undefined) removed(tag.sighting);
  };
  const startLeaving = (tag: Held) => {
    tag.leaving ??= clock.after(removalDebounceMs, () => letGo(tag));
  };

  return {
    see(reported) {
      const fresh = reported
        .slice(0, tokensPerReaderMax)
        .filter((sighting) => !held.some((tag) => isSame(tag, sighting)));
      const [seen, missing] = partition(held, (tag) => reported.some((sighting) => isSame(tag, sighting)));
      seen.forEach(stay);
      // A new tag settles the matter: the card before it was changed, not jolted.
      missing.forEach(fresh.length > 0 ? letGo : startLeaving);
      for (const sighting of fresh) {
        held = [...held, { sighting, uid: sighting.uid, leaving: undefined, written: false }];
        added(sighting);
      }
    },
    hold: () => held.forEach(stay),
    writing(uid) {
      const known = held.find((tag) => tag.uid === uid);
      const tag = known ?? { sighting: undefined, uid, leaving: undefined, written: true };
      if (known === undefined) held = [...held, tag];
      stay(tag);
      tag.written = true;
    },
    wasWritten: (uid) => held.some((tag) => tag.uid === uid && tag.written),
  };
}

function stay(tag: Held): void {
  tag.leaving?.[Symbol.dispose]();
  tag.leaving = undefined;
}

// A card that was rewritten while it lay there is a new token: it asks for something else.
function isSame(tag: Held, sighting: Sighting): boolean {
  return tag.uid === sighting.uid && (tag.written || tag.sighting?.text === sighting.text);
}

function partition<T>(
  items: readonly T[],
  belongs: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}

export interface Tokens {
  added(sighting: Sighting, readerId: string): void;
  removed(sighting: Sighting, readerId: string): void;
  /** A token of the API's virtual reader: comes now, leaves after `durationMs`. */
  virtual(params: TokenParams, durationMs: number, requester?: Requester): void;
  /** The caller that laid the virtual token down; undefined for tokens of readers. */
  requesterOf(token: Token): Requester | undefined;
  /** Takes the virtual token off, where its caller is meant. */
  withdraw(isMeant: (requester: Requester) => boolean): void;
  list(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /** Ends virtual tokens' timers. */
  close(): void;
}

interface Virtual {
  readonly token: Token;
  readonly requester: Requester | undefined;
  readonly leaving: Disposable;
}

export function createTokens(bus: Bus, clock: Clock): Tokens {
  let active: readonly Token[] = [];
  let last: Token | undefined;
  let virtual: Virtual | undefined;

  const add = (token: Token) => {
    active = [...active, token];
    last = token;
    bus.emit("tokens.added", token);
  };
  const remove = (token: Token | undefined) => {
    if (token === undefined) return;
    active = active.filter((other) => other !== token);
    bus.emit("tokens.removed", token);
  };
  const endVirtual = () => {
    virtual?.leaving[Symbol.dispose]();
    const token = virtual?.token;
    virtual = undefined;
    remove(token);
  };

  return {
    added: (sighting, readerId) =>
      add({ ...withoutSecrets(sighting), scanTime: rfc3339(clock.now()), readerId }),
    removed(sighting, readerId) {
      const { uid, text } = withoutSecrets(sighting);
      remove(active.find((token) => token.readerId === readerId && token.uid === uid && token.text === text));
    },
    virtual(params, durationMs, requester) {
      endVirtual();
      const { uid, text, data } = withoutSecrets(params);
      const token = {
        type: params.type || "api",
        uid,
        text,
        data,
        scanTime: rfc3339(clock.now()),
        readerId: "",
      };
      virtual = { token, requester, leaving: clock.after(durationMs, endVirtual) };
      add(token);
    },
    // Asked while the token is new: the next one takes its place.
    requesterOf: (token) => (virtual?.token === token ? virtual.requester : undefined),
    withdraw(isMeant) {
      if (virtual?.requester !== undefined && isMeant(virtual.requester)) endVirtual();
    },
    list: () => ({ active, last }),
    close: () => virtual?.leaving[Symbol.dispose](),
  };
}
