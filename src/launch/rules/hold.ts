/**
 * Hold mode as a machine of states: events in, what is to be done out; no clock, no bus (decisions, "Hold mode").
 *
 *   a card comes       it is launched, unless it was only put back: off for less than the delay, and what it started
 *                      plays, or is still to start
 *   a card goes        what it started is stopped when the delay is over, unless its system is never stopped that way
 *   media starts       it belongs to the card whose script started it, or to none; where that card has gone meanwhile, the
 *                      delay runs from its going
 *   media ends         there is nothing left to stop
 *   the rules change   at once, for a delay that runs too; a going that they forgave stays forgiven
 *
 * A reader that fails says nothing, and so nothing goes. A card on a reader that cannot tell when it goes never stops
 * anything. A card lies where it was seen last: what another reader says of its going is old news.
 */
import { cardsGoneMax } from "../../core/limits.ts";

export interface HoldRules {
  readonly isOn: boolean;
  readonly isSpared: (systemId: string) => boolean;
  readonly exitDelayMs: number;
}

export type HoldEvent =
  | {
      readonly kind: "added";
      readonly card: string;
      readonly readerId: string;
      /** Whether the reader can tell when the card goes. */
      readonly isRemovable: boolean;
      /** Whether an earlier launch of this card waits or runs. */
      readonly isLaunching: boolean;
    }
  | {
      readonly kind: "removed";
      readonly card: string;
      readonly readerId: string;
      readonly isLaunching: boolean;
    }
  /** `card` is undefined where no card started it. */
  | { readonly kind: "started"; readonly card: string | undefined; readonly systemId: string }
  | { readonly kind: "ended" }
  | { readonly kind: "rules"; readonly rules: HoldRules }
  /** The time that `dueMs` told has come. */
  | { readonly kind: "time" };

export interface HoldState {
  readonly rules: HoldRules;
  /** The readers on which cards lie. */
  readonly lying: ReadonlyMap<string, string>;
  /** When cards went whose launch waited or ran, the oldest first: what such a launch starts has lost its card. */
  readonly gone: ReadonlyMap<string, number>;
  readonly media: HeldMedia | undefined;
}

interface HeldMedia {
  /** The card that started it; undefined where none did, or where it is being stopped already. */
  readonly card: string | undefined;
  readonly systemId: string;
  /** When that card went; undefined while it lies there, and where its going does not matter. */
  readonly goneMs: number | undefined;
}

export interface HoldStep {
  readonly state: HoldState;
  /** The card that came is to be launched. */
  readonly launches: boolean;
  /** What this card started is to be stopped now. */
  readonly stops: string | undefined;
}

export function startHold(rules: HoldRules): HoldState {
  return { rules, lying: new Map(), gone: new Map(), media: undefined };
}

/** `nowMs` never goes back. */
export function stepHold(state: HoldState, event: HoldEvent, nowMs: number): HoldStep {
  const launches = event.kind === "added" && !isPutBack(state, event, nowMs);
  const next = forgiven(taken(state, event, nowMs));
  const due = dueMs(next);
  if (next.media === undefined || due === undefined || due > nowMs)
    return { state: next, launches, stops: undefined };
  const media = { ...next.media, card: undefined, goneMs: undefined };
  return { state: { ...next, media }, launches, stops: next.media.card };
}

/** When something is to be stopped, unless an event comes before; undefined where nothing is. */
export function dueMs({ rules, media }: HoldState): number | undefined {
  return media?.goneMs === undefined ? undefined : media.goneMs + rules.exitDelayMs;
}

function taken(state: HoldState, event: HoldEvent, nowMs: number): HoldState {
  const { media, lying, gone } = state;
  switch (event.kind) {
    case "added": {
      const { card, readerId, isRemovable } = event;
      return {
        ...state,
        // Seen again, wherever it is, it is there.
        media: media?.card === card ? { ...media, goneMs: undefined } : media,
        gone: without(gone, card),
        lying: isRemovable ? new Map(lying).set(card, readerId) : lying,
      };
    }
    case "removed": {
      const { card, readerId, isLaunching } = event;
      if (lying.get(card) !== readerId) return state;
      return {
        ...state,
        lying: without(lying, card),
        media: media?.card === card ? { ...media, goneMs: nowMs } : media,
        gone: isLaunching ? withGone(gone, card, nowMs) : gone,
      };
    }
    case "started": {
      const { card, systemId } = event;
      return { ...state, media: { card, systemId, goneMs: card === undefined ? undefined : gone.get(card) } };
    }
    case "ended":
      return { ...state, media: undefined };
    case "rules":
      return { ...state, rules: event.rules };
    case "time":
      return state;
  }
}

/** A going that the rules, as they are now, do not mind is forgotten, so that no later change of them brings it up. */
function forgiven(state: HoldState): HoldState {
  const { rules, gone, media } = state;
  const isMinded = rules.isOn && media !== undefined && !rules.isSpared(media.systemId);
  return {
    ...state,
    media: media?.goneMs === undefined || isMinded ? media : { ...media, goneMs: undefined },
    gone: rules.isOn || gone.size === 0 ? gone : new Map(),
  };
}

function isPutBack(
  { rules, lying, gone, media }: HoldState,
  { card, isRemovable, isLaunching }: Extract<HoldEvent, { kind: "added" }>,
  nowMs: number,
): boolean {
  const isOwn = media?.card === card;
  if (!rules.isOn || !isRemovable || (!isOwn && !isLaunching)) return false;
  // It was carried to another reader before the first one noticed.
  if (lying.has(card)) return true;
  const goneMs = (isOwn ? media.goneMs : undefined) ?? (isLaunching ? gone.get(card) : undefined);
  return goneMs !== undefined && nowMs - goneMs < rules.exitDelayMs;
}

function withGone(gone: ReadonlyMap<string, number>, card: string, nowMs: number) {
  const more = new Map(without(gone, card)).set(card, nowMs);
  const [oldest] = more.keys();
  return more.size > cardsGoneMax && oldest !== undefined ? without(more, oldest) : more;
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
