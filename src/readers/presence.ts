/**
 * Presence: the tags on one reader, from the reports of its driver; and the tokens on all readers. Because of a debounce, a
 * tag at the edge of the field does not count as removed. A fault of a reader removes no tag: its tags stay until the reader
 * is back and reports.
 *
 *   report with a new tag        added at once; tags that were leaving are removed at once
 *   report without a known tag   it is leaving: removed after `removalDebounceMs`, unless it is seen again
 *   fault of the reader          nothing leaves until the next report
 *   a phone with another UID     the same tag, if it has the same text
 *   a tag is written             it stays the same tag with any new text; a tag that was added for a write is never reported
 */

import type { Bus } from "../bus.ts";
import { type Clock, rfc3339 } from "../core/clock.ts";
import { tokensPerReaderMax } from "../core/limits.ts";
import { withoutSecrets } from "../core/pairing-link.ts";
import type { Requester } from "../core/rights.ts";
import { isMadeUp, type Sighting, type Token, type TokenParams } from "../core/token.ts";
import { removalDebounceMs } from "./driver.ts";

export type Presence = ReturnType<typeof createPresence>;

interface PresenceEvents {
  readonly clock: Clock;
  readonly added: (sighting: Sighting) => void;
  readonly removed: (sighting: Sighting) => void;
}

interface HeldTag {
  /** The first sighting; undefined for a tag that came for a write and was not reported. */
  readonly sighting: Sighting | undefined;
  readonly uid: string;
  leaving: Disposable | undefined;
  written: boolean;
}

export function createPresence({ clock, added, removed }: PresenceEvents) {
  let held: readonly HeldTag[] = [];

  const letGo = (tag: HeldTag) => {
    stay(tag);
    held = held.filter((other) => other !== tag);
    if (tag.sighting !== undefined) removed(tag.sighting);
  };
  const startLeaving = (tag: HeldTag) => {
    tag.leaving ??= clock.after(removalDebounceMs, () => letGo(tag));
  };

  return {
    /** Takes a report of all tags on the reader, and compares them with those known before. */
    see(reported: readonly Sighting[]) {
      const fresh = reported
        .slice(0, tokensPerReaderMax)
        .filter((sighting) => !held.some((tag) => isSame(tag, sighting)));
      const [seen, missing] = partition(held, (tag) => reported.some((sighting) => isSame(tag, sighting)));
      seen.forEach(stay);
      // A new tag means that the card was changed, so there is no debounce.
      missing.forEach(fresh.length > 0 ? letGo : startLeaving);
      for (const sighting of fresh) {
        held = [...held, { sighting, uid: sighting.uid, leaving: undefined, written: false }];
        added(sighting);
      }
    },
    /** The reader failed: its tags stay until the next report. */
    hold: () => held.forEach(stay),
    /** Notes that the tag with this UID is about to be written. Until it has left, reports of it cause no event. */
    writing(uid: string) {
      const known = held.find((tag) => tag.uid === uid);
      const tag = known ?? { sighting: undefined, uid, leaving: undefined, written: true };
      if (known === undefined) held = [...held, tag];
      stay(tag);
      tag.written = true;
    },
    /** True until the tag has left after a write or a failed write. */
    wasWritten: (uid: string) => held.some((tag) => tag.uid === uid && tag.written),
  };
}

function stay(tag: HeldTag): void {
  tag.leaving?.[Symbol.dispose]();
  tag.leaving = undefined;
}

// A card with another text is a new token, even without a removal.
function isSame(tag: HeldTag, sighting: Sighting): boolean {
  const hasSameText = tag.sighting?.text === sighting.text;
  if (tag.uid === sighting.uid) return tag.written || hasSameText;
  // Cards without a text are distinguished by their UIDs alone.
  return hasSameText && sighting.text !== "" && isMadeUp(tag.uid) && isMadeUp(sighting.uid);
}

function partition<T>(
  items: readonly T[],
  belongs: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}

interface VirtualToken {
  readonly token: Token;
  readonly requester: Requester | undefined;
  readonly leaving: Disposable;
}

/** The tokens that are on readers now, real and virtual, and the last one that came. Each change is an event on the bus. */
export function createTokens(bus: Bus, clock: Clock) {
  let active: readonly Token[] = [];
  let last: Token | undefined;
  let virtual: VirtualToken | undefined;

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
    added: (sighting: Sighting, readerId: string): void =>
      add({ ...withoutSecrets(sighting), scanTime: rfc3339(clock.now()), readerId }),
    removed(sighting: Sighting, readerId: string): void {
      const { uid, text } = withoutSecrets(sighting);
      remove(active.find((token) => token.readerId === readerId && token.uid === uid && token.text === text));
    },
    /** Lays a token on the API's virtual reader for `durationMs`. */
    virtual(params: TokenParams, durationMs: number, requester?: Requester): void {
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
    /** The caller that put the virtual token on the reader, until the next one comes; undefined for tokens of readers. */
    requesterOf: (token: Token): Requester | undefined =>
      virtual?.token === token ? virtual.requester : undefined,
    /** Removes the virtual token if `isMeant` returns true for the caller that put it on the reader. */
    withdraw(isMeant: (requester: Requester) => boolean): void {
      if (virtual?.requester !== undefined && isMeant(virtual.requester)) endVirtual();
    },
    list: () => ({ active, last }),
    /** Ends the timer of a virtual token. */
    close: (): void => virtual?.leaving[Symbol.dispose](),
  };
}
