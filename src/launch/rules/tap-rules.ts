/** Launches cards on readers, and stops the media of removed cards by the rules of `hold.ts`. */
import type { Bus } from "../../bus.ts";
import type { Config } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { ServiceError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { Requester } from "../../core/rights.ts";
import type { Token } from "../../core/token.ts";
import { systemByName } from "../../media/known-systems.ts";
import type { LaunchQueue } from "../launch-queue.ts";
import { followDeviceReaders } from "../ports/device-ports.ts";
import { cardOf, type LaunchSource, logTap } from "../run-context.ts";
import { dueMs, type HoldEvent, type HoldRules, startHold, stepHold, withCardOfMedia } from "./hold.ts";

interface TapRulesParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly readers: Config["readers"];
  readonly launchQueue: Pick<
    LaunchQueue,
    "launch" | "stopMedia" | "pauseMedia" | "resumeMedia" | "canPauseMedia" | "cardOfMedia" | "isLaunching"
  >;
  /** The caller of the API that put this token on a virtual reader; undefined for a real tap. */
  readonly requesterOf?: (token: Token) => Requester | undefined;
  readonly elapsedMs?: () => number;
  /** The time that media of a removed card stay paused; an hour if absent. */
  readonly pauseMs?: number;
}

const hourMs = 60 * 60_000;
const takenOff = "its card was taken off";

/** Listens until disposed. */
export function createTapRules(parts: TapRulesParts) {
  const { bus, clock, log, launchQueue, requesterOf = () => undefined } = parts;
  const { elapsedMs = () => performance.now(), pauseMs = hourMs } = parts;
  let state = startHold(rulesOf(parts.readers, pauseMs));
  let timer: { readonly dueMs: number; readonly handle: Disposable } | undefined;
  // Whether each reader reports removals, by reader id. Readers are announced before their first card. The API's
  // virtual reader reports removals.
  const removable = new Map([["", true]]);

  const readers = followDeviceReaders(bus);

  const take = (event: HoldEvent): boolean => {
    const nowMs = elapsedMs();
    const step = stepHold(withCardOfMedia(state, launchQueue.cardOfMedia()), event, nowMs);
    state = step.state;
    aim(nowMs);
    if (step.act?.does === "stop") launchQueue.stopMedia(takenOff, step.act.card);
    if (step.act?.does === "pause") launchQueue.pauseMedia(takenOff, step.act.card);
    if (step.act?.does === "resume") launchQueue.resumeMedia();
    return step.launches;
  };
  const aim = (nowMs: number) => {
    const due = dueMs(state);
    if (due === timer?.dueMs) return;
    timer?.handle[Symbol.dispose]();
    timer = undefined;
    if (due === undefined) return;
    const onTime = () => {
      timer = undefined;
      take({ kind: "time" });
    };
    timer = { dueMs: due, handle: clock.after(Math.max(1, Math.ceil(due - nowMs)), onTime) };
  };
  const placed = (token: Token) => {
    const card = cardOf(token);
    return { card, readerId: token.readerId, isLaunching: launchQueue.isLaunching(card) };
  };
  const refuse = (token: Token, error: string) =>
    logTap(log, token, token.readerId, { error, texts: [token.text] });
  const launch = (token: Token) => {
    const { readerId, problem } = token;
    const from: LaunchSource = {
      isFromReader: readers.has(readerId),
      requester: requesterOf(token),
      isTap: true,
      ...(readerId === "" ? {} : { readerId }),
      ...(problem === undefined ? {} : { problem }),
    };
    try {
      launchQueue.launch(token, from);
    } catch (error) {
      // A tap has no caller that waits for an answer.
      if (!(error instanceof ServiceError)) throw error;
      refuse(token, error.message);
    }
  };
  const listening = [
    bus.on("readers.added", ({ readerId, capabilities }) => {
      removable.set(readerId, capabilities.includes("removable"));
    }),
    bus.on("tokens.added", (token) => {
      const isRemovable = token.removable !== false && (removable.get(token.readerId) ?? false);
      if (take({ kind: "added", ...placed(token), isRemovable })) launch(token);
      else refuse(token, "it was put back in hold mode: its media play, or start");
    }),
    bus.on("tokens.removed", (token) => void take({ kind: "removed", ...placed(token) })),
    bus.on("media.started", ({ systemId }) => {
      const card = launchQueue.cardOfMedia();
      const canPause = launchQueue.canPauseMedia();
      take({ kind: "started", card, systemId: known(systemId), canPause });
    }),
    bus.on("media.stopped", () => void take({ kind: "ended" })),
    bus.on("media.resumed", () => void take({ kind: "resumed" })),
  ];
  return {
    /** Applies changed settings at once, also to a running delay. */
    configure: (readers: Config["readers"]) => void take({ kind: "rules", rules: rulesOf(readers, pauseMs) }),
    [Symbol.dispose]() {
      readers[Symbol.dispose]();
      for (const one of listening) one[Symbol.dispose]();
      timer?.handle[Symbol.dispose]();
    },
  };
}

function rulesOf(readers: Config["readers"], pauseMs: number): HoldRules {
  const { insertMode, insertModeAction, insertModeBlocklist, insertModeExitDelay } = readers;
  const spared = new Set(insertModeBlocklist.map(known));
  return {
    isOn: insertMode,
    isSpared: (systemId) => spared.has(systemId),
    exitDelayMs: insertModeExitDelay * 1000,
    pauseMs: insertModeAction === "pause" ? pauseMs : undefined,
  };
}

/** The id of a system by any of its names, in lower case. */
function known(systemId: string): string {
  return (systemByName(systemId)?.id ?? systemId).toLowerCase();
}
