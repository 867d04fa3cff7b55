/**
 * Hold mode as a state machine: events in, actions out; no clock, no bus.
 *
 *   a card is added    it is launched, unless it was only put back: it was off for less than the delay, and its media play,
 *                      or are about to start
 *   a card is removed  its media stop after the delay, unless their system is in the list of exceptions
 *   media start        they belong to the card whose script started them, or to none; if that card was removed meanwhile, the
 *                      delay runs from its removal
 *   a disc is changed  the media belong to the card of that disc
 *   instead of a stop  the media pause if the rules say so and their player can; they stop if the card stays away too long, and
 *                      resume without a launch if it is put back before; a person who resumes them ends the wait
 *   media end          there is nothing left to stop
 *   the rules change   at once, also for a running delay; a removal that the old rules ignored stays ignored
 *
 * A reader that fails reports no removal. A card on a reader that cannot detect removals never stops media. A card belongs to
 * the reader that saw it last; a removal that another reader reports is ignored.
 */
import { cardsGoneMax } from "../../core/limits.ts";

export interface HoldRules {
  readonly isOn: boolean;
  readonly isSpared: (systemId: string) => boolean;
  readonly exitDelayMs: number;
  /** The time that media of a removed card stay paused before they stop; undefined if they stop at once. */
  readonly pauseMs: number | undefined;
}

export type HoldEvent =
  | {
      readonly kind: "added";
      readonly card: string;
      readonly readerId: string;
      /** Whether the reader detects the card's removal. */
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
  /** Media have started. `card` is undefined if no card started them. */
  | {
      readonly kind: "started";
      readonly card: string | undefined;
      readonly systemId: string;
      readonly canPause: boolean;
    }
  | { readonly kind: "ended" }
  /** The player plays again after a pause. */
  | { readonly kind: "resumed" }
  | { readonly kind: "rules"; readonly rules: HoldRules }
  /** The clock has reached `dueMs`. */
  | { readonly kind: "time" };

interface HoldState {
  readonly rules: HoldRules;
  /** The reader on which each card lies. */
  readonly lying: ReadonlyMap<string, string>;
  /**
   * Removal times of cards with a waiting or running launch, the oldest first. Media of such a launch no longer have a
   * card on a reader.
   */
  readonly gone: ReadonlyMap<string, number>;
  readonly media: HeldMedia | undefined;
}

interface HeldMedia {
  /** The card that started the media; undefined if none did, or if they are being stopped already. */
  readonly card: string | undefined;
  readonly systemId: string;
  /** The time at which that card was removed; undefined while it is on a reader, or if its removal is ignored. */
  readonly goneMs: number | undefined;
  readonly canPause: boolean;
  /** The time at which the media were paused because of that removal. */
  readonly pausedMs: number | undefined;
}

export function startHold(rules: HoldRules): HoldState {
  return { rules, lying: new Map(), gone: new Map(), media: undefined };
}

/**
 * One step: the new state, whether the step `launches` the added card, and its `act` on the media of a card. `nowMs` is
 * monotonic.
 */
export function stepHold(state: HoldState, event: HoldEvent, nowMs: number) {
  const launches = event.kind === "added" && !isPutBack(state, event, nowMs);
  const next = forgiven(taken(state, event, nowMs));
  const due = dueMs(next);
  if (next.media === undefined || due === undefined || due > nowMs) {
    const isPaused = event.kind === "added" && isHeldPaused(state, event.card);
    return { state: next, launches, act: isPaused && !launches ? actOn("resume", event.card) : undefined };
  }
  const { card } = next.media;
  if (pausesFor(next) !== undefined && next.media.pausedMs === undefined)
    return {
      state: { ...next, media: { ...next.media, pausedMs: nowMs } },
      launches,
      act: actOn("pause", card),
    };
  const media = { ...next.media, card: undefined, goneMs: undefined, pausedMs: undefined };
  return { state: { ...next, media }, launches, act: actOn("stop", card) };
}

/** The card of another disc has taken over the media, which stop with that card from now on. */
export function withCardOfMedia(state: HoldState, card: string | undefined): HoldState {
  const { media, gone } = state;
  // Media without a card are being stopped, or no card started them.
  if (media?.card === undefined || card === undefined || card === media.card) return state;
  return { ...state, media: { ...media, card, goneMs: gone.get(card) } };
}

function actOn(does: "stop" | "pause" | "resume", card: string | undefined) {
  return card === undefined ? undefined : { does, card };
}

function isHeldPaused({ media }: HoldState, card: string): boolean {
  return media?.card === card && media.pausedMs !== undefined;
}

/** The time for which the present media are paused instead of stopped. */
function pausesFor({ rules, media }: HoldState): number | undefined {
  return media?.canPause === true ? rules.pauseMs : undefined;
}

/** The time at which media must be paused or stopped if no event comes earlier; undefined if nothing is due. */
export function dueMs(state: HoldState): number | undefined {
  const { rules, media } = state;
  const pauseMs = pausesFor(state);
  if (media?.pausedMs !== undefined && pauseMs !== undefined) return media.pausedMs + pauseMs;
  return media?.goneMs === undefined ? undefined : media.goneMs + rules.exitDelayMs;
}

function taken(state: HoldState, event: HoldEvent, nowMs: number): HoldState {
  const { media, lying, gone } = state;
  switch (event.kind) {
    case "added": {
      const { card, readerId, isRemovable } = event;
      return {
        ...state,
        // A card that is seen on any reader is not removed.
        media: media?.card === card ? { ...media, goneMs: undefined, pausedMs: undefined } : media,
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
      const { kind: _kind, ...started } = event;
      const goneMs = event.card === undefined ? undefined : gone.get(event.card);
      return { ...state, media: { ...started, goneMs, pausedMs: undefined } };
    }
    case "ended":
      return { ...state, media: undefined };
    case "resumed":
      if (media?.pausedMs === undefined) return state;
      return { ...state, media: { ...media, goneMs: undefined, pausedMs: undefined } };
    case "rules":
      return { ...state, rules: event.rules };
    case "time":
      return state;
  }
}

/** Drops removals that the current rules ignore, so a later change of the rules does not apply to them. */
function forgiven(state: HoldState): HoldState {
  const { rules, gone, media } = state;
  const isMinded = rules.isOn && media !== undefined && !rules.isSpared(media.systemId);
  return {
    ...state,
    media:
      media?.goneMs === undefined || isMinded ? media : { ...media, goneMs: undefined, pausedMs: undefined },
    gone: rules.isOn || gone.size === 0 ? gone : new Map(),
  };
}

function isPutBack(
  state: HoldState,
  { card, isRemovable, isLaunching }: Extract<HoldEvent, { kind: "added" }>,
  nowMs: number,
): boolean {
  const { rules, lying, gone, media } = state;
  const isOwn = media?.card === card;
  if (!rules.isOn || !isRemovable || (!isOwn && !isLaunching)) return false;
  // The card moved to another reader before the first one reported its removal.
  if (lying.has(card)) return true;
  const pauseMs = pausesFor(state);
  if (isOwn && media.pausedMs !== undefined && pauseMs !== undefined) return nowMs - media.pausedMs < pauseMs;
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
