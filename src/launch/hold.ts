/**
 * Hold mode as a machine of states: events in, what is to be done out; no clock, no bus (decisions, "Hold mode").
 *
 *   a card comes       it is launched, unless it was only put back: off for less than the delay, and what it started
 *                      plays, or is still to start
 *   a card goes        what it started is stopped when the delay is over, unless its system is never stopped that way
 *   media starts       it belongs to the card whose script started it, or to none; where that card has gone meanwhile, the
 *                      delay runs from its going
 *   media ends         there is nothing left to stop
 *   the rules change   at once, for a delay that runs too; what the rules forgave once stays forgiven
 *
 * A reader that fails says nothing, and so nothing goes. A card on a reader that cannot tell when it goes never stops
 * anything. A card lies where it was seen last: what another reader says of its going is old news.
 */
import { cardsGoneMax } from "../core/limits.ts";

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
  /** When cards went whose media plays or may yet start, the oldest first. */
  readonly gone: ReadonlyMap<string, number>;
  readonly media: { readonly card: string | undefined; readonly systemId: string } | undefined;
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
  const next = taken(state, event, nowMs);
  const due = dueMs(next);
  if (due === undefined || due > nowMs || next.media === undefined)
    return { state: next, launches, stops: undefined };
  const { card } = next.media;
  if (card === undefined) return { state: next, launches, stops: undefined };
  const media = { ...next.media, card: undefined };
  return { state: { ...next, media, gone: without(next.gone, card) }, launches, stops: card };
}

/** When something is to be stopped, unless an event comes before; undefined where nothing is. */
export function dueMs({ rules, gone, media }: HoldState): number | undefined {
  const goneMs = media?.card === undefined ? undefined : gone.get(media.card);
  return goneMs === undefined ? undefined : goneMs + rules.exitDelayMs;
}

function taken(state: HoldState, event: HoldEvent, nowMs: number): HoldState {
  switch (event.kind) {
    case "added": {
      const gone = without(state.gone, event.card);
      if (!event.isRemovable) return { ...state, gone };
      return { ...state, gone, lying: new Map(state.lying).set(event.card, event.readerId) };
    }
    case "removed":
      return state.lying.get(event.card) === event.readerId ? takenOff(state, event, nowMs) : state;
    case "started":
      return forgiven({ ...state, media: { card: event.card, systemId: event.systemId } });
    case "ended":
      return { ...state, media: undefined };
    case "rules":
      return forgiven({ ...state, rules: event.rules });
    case "time":
      return state;
  }
}

function takenOff(
  state: HoldState,
  { card, isLaunching }: Extract<HoldEvent, { kind: "removed" }>,
  nowMs: number,
): HoldState {
  const { rules, media } = state;
  const off = { ...state, lying: without(state.lying, card) };
  const matters = media?.card === card ? !rules.isSpared(media.systemId) : isLaunching;
  if (!rules.isOn || !matters) return off;
  const gone = new Map(state.gone).set(card, nowMs);
  const [oldest] = gone.keys();
  return { ...off, gone: gone.size > cardsGoneMax && oldest !== undefined ? without(gone, oldest) : gone };
}

/** A going that the rules, as they are now, do not mind is forgotten, so that no later change of them brings it up. */
function forgiven(state: HoldState): HoldState {
  const { rules, gone, media } = state;
  if (!rules.isOn) return { ...state, gone: new Map() };
  if (media?.card === undefined || !rules.isSpared(media.systemId)) return state;
  return { ...state, gone: without(gone, media.card) };
}

function isPutBack(
  { rules, lying, gone, media }: HoldState,
  { card, isRemovable, isLaunching }: Extract<HoldEvent, { kind: "added" }>,
  nowMs: number,
): boolean {
  if (!rules.isOn || !isRemovable || (media?.card !== card && !isLaunching)) return false;
  // It was carried to another reader before the first one noticed.
  if (lying.has(card)) return true;
  const goneMs = gone.get(card);
  return goneMs !== undefined && nowMs - goneMs < rules.exitDelayMs;
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
