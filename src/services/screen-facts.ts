/** The facts for the screen, from the events: the media that plays, the last failure, and whether a reader is connected. */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { gameLauncherId } from "../core/playback.ts";
import type { Reader } from "../core/token.ts";
import type { LaunchFinished } from "../events.ts";
import {
  type Ending,
  type Notice,
  noticeOf,
  playlistOf,
  type ScreenFacts,
  type ShownAct,
  type ShownMenu,
  type ShownPairing,
  startingOf,
  stickGone,
} from "../screen/picture.ts";

// A notice stays long enough for a child to read it twice.
const noticeMs = 8000;
// A choice stays long enough to find the phone, and to choose.
const choiceMs = 120_000;
// An act of an owner stays long enough for somebody in the room to see it.
const actMs = 60_000;

/** The part of a reader's state that is shown. */
export type ShownReader = Pick<Reader, "path" | "info" | "connected">;

export interface FactParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly readers: () => readonly ShownReader[];
  /** The same as `Readers.broken`; absent if no reader is broken. */
  readonly brokenReader?: () => string | undefined;
  /** The reason why nothing may start at present; undefined if starts are allowed. */
  readonly refusal: () => string | undefined;
}

/** Calls `changed` when the screen may have to change. A start shows its name after `nameAfterMs`. */
export function followFacts(
  { bus, clock, readers, brokenReader, refusal }: FactParts,
  changed: () => void,
  nameAfterMs: () => number,
) {
  let isPlaying = false;
  let hasPlayed = false;
  let isSettled = false;
  let pairing: ShownPairing | undefined;
  let notice: Notice | undefined;
  /** The notice, until it is drawn. */
  let undrawn: Notice | undefined;
  let ending: Disposable | undefined;
  let machineEnding: Ending | undefined;
  let menu: ShownMenu | undefined;
  let act: ShownAct | undefined;
  let actEnding: Disposable | undefined;

  const note = (now: Notice | undefined, ms = noticeMs, next?: Notice) => {
    ending?.[Symbol.dispose]();
    notice = now;
    undrawn = undefined;
    ending = now === undefined ? undefined : clock.after(ms, () => note(next));
    changed();
  };
  /** The notice lasts from its drawing on, because a drawing on a busy board can take as long as the notice. */
  const noteOnceDrawn = (now: Notice) => {
    ending?.[Symbol.dispose]();
    notice = now;
    undrawn = now;
    changed();
  };
  const finished = (launch: LaunchFinished) => {
    const failed = launch.success ? undefined : noticeOf(launch);
    if (failed !== undefined) noteOnceDrawn(failed);
  };
  const listening = [
    bus.on("readers.added", changed),
    bus.on("readers.removed", changed),
    bus.on("launch.finished", finished),
    bus.on("playtime.warning", changed),
    // Root restarts the machine to start an updated system, without a request of the service.
    bus.on("device.updating", ({ step }) => {
      if (step === "restarting") machineEnding = "restarting";
      else if (step === "failed" && machineEnding === "restarting") machineEnding = undefined;
      else return;
      changed();
    }),
    bus.on("playlist.opened", (list) => note(playlistOf(list), choiceMs)),
    bus.on("media.started", ({ mediaName, launcherId }) => {
      isPlaying = true;
      hasPlayed = true;
      const isGame = launcherId === gameLauncherId;
      note(startingOf("", isGame), nameAfterMs(), startingOf(mediaName, isGame));
    }),
    bus.on("media.stopped", ({ stick }) => {
      isPlaying = false;
      if (stick === undefined) note(undefined);
      else noteOnceDrawn(stickGone(stick));
    }),
  ];
  return {
    now: (): ScreenFacts => ({
      hasReader: readers().some(({ connected }) => connected),
      brokenReader: brokenReader?.(),
      isPlaying,
      isSettled,
      refusal: isPlaying ? undefined : refusal(),
      pairing: pairing === undefined ? undefined : { kind: "pairing", ...pairing },
      menu,
      notice,
      ending: machineEnding,
    }),
    /** From now on, shows this ending once no player has the screen. */
    setEnding(now: Ending) {
      machineEnding = now;
      changed();
    },
    /** Notes that the screen shows this notice, or will never show it. */
    wasDrawn(drawn: Notice | undefined) {
      if (undrawn === undefined || undrawn !== drawn) return;
      undrawn = undefined;
      ending = clock.after(noticeMs, () => note(undefined));
    },
    act: () => act,
    /** Shows an act of an owner over the network for a minute. */
    showAct(now: ShownAct) {
      actEnding?.[Symbol.dispose]();
      act = now;
      actEnding = clock.after(actMs, () => {
        act = undefined;
        changed();
      });
      changed();
    },
    pairing: () => pairing,
    setPairing(now: ShownPairing | undefined) {
      pairing = now;
      changed();
    },
    setMenu(now: ShownMenu | undefined) {
      menu = now;
    },
    /** From now on an absent reader counts as missing. During the start, readers are still being detected. */
    settle() {
      isSettled = true;
    },
    /** Whether a player had the screen since the last call. Earlier drawings may then be gone. */
    hasPlayed() {
      const had = hasPlayed;
      hasPlayed = isPlaying;
      return had && !isPlaying;
    },
    [Symbol.dispose]() {
      ending?.[Symbol.dispose]();
      actEnding?.[Symbol.dispose]();
      for (const one of listening) one[Symbol.dispose]();
    },
  };
}
