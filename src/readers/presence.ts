/**
 * Presence: what lies on one reader, out of a driver's reports. A tag that flickers at the edge of the field is one
 * tag; a reader that fails says nothing about its tags.
 *
 *   report with a new tag        added at once, and whatever was leaving has left
 *   report without a known tag   it is leaving: removed after `removalDebounceMs`, unless it is seen again
 *   fault of the reader          nothing leaves until the next report
 */
import type { Clock } from "../core/clock.ts";
import { tokensPerReaderMax } from "../core/limits.ts";
import type { Sighting } from "../core/token.ts";

// A hand that puts a card down lets it bounce; 300 ms is more than three re-checks of a driver and less than a person
// needs to change cards.
export const removalDebounceMs = 300;

export interface Presence {
  /** Takes all that the reader reports now. */
  see(reported: readonly Sighting[]): void;
  /** The reader failed: what was there stays, until a report says otherwise. */
  hold(): void;
}

export interface PresenceEvents {
  readonly clock: Clock;
  readonly added: (sighting: Sighting) => void;
  readonly removed: (sighting: Sighting) => void;
}

interface Held {
  readonly sighting: Sighting;
  leaving: Disposable | undefined;
}

export function createPresence({ clock, added, removed }: PresenceEvents): Presence {
  let held: readonly Held[] = [];

  const letGo = (tag: Held) => {
    stay(tag);
    held = held.filter((other) => other !== tag);
    removed(tag.sighting);
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
        held = [...held, { sighting, leaving: undefined }];
        added(sighting);
      }
    },
    hold: () => held.forEach(stay),
  };
}

function stay(tag: Held): void {
  tag.leaving?.[Symbol.dispose]();
  tag.leaving = undefined;
}

// A card that was rewritten while it lay there is a new token: it asks for something else.
function isSame(tag: Held, sighting: Sighting): boolean {
  return tag.sighting.uid === sighting.uid && tag.sighting.text === sighting.text;
}

function partition<T>(
  items: readonly T[],
  belongs: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}
