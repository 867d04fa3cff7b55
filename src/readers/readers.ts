/**
 * All readers: the ones that the config file names, the ones that detection finds, and the API's virtual one. Says
 * what lies where, and tells the bus.
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Requester } from "../core/rights.ts";
import type { Reader, Token, TokenParams } from "../core/token.ts";
import { type Attended, changeAttended, createAttendance } from "./attendance.ts";
import { createDetection, type Detection, type DetectionOptions } from "./detection.ts";
import { type Connection, type Driver, parseConnection, type Signal } from "./driver.ts";
import { createPresence, createTokens, type Presence } from "./presence.ts";
import { createWriting, type Writing } from "./writing.ts";

export interface ReadersConfig {
  /** Connection strings of the config file. */
  readonly connect: readonly string[];
  readonly detect: boolean;
}

export interface ReadersOptions extends ReadersConfig {
  readonly drivers: readonly Driver[];
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** As in the driver contract. */
  readonly feedback?: () => boolean;
}

export interface Readers extends Writing {
  list(): readonly Reader[];
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /** As `Services.scan` of the API. */
  scan(params: TokenParams, durationMs: number, readerId: string | undefined, requester?: Requester): void;
  /** The caller of the API that laid this token down; undefined for a card that a person tapped. */
  requesterOf(token: Token): Requester | undefined;
  /** Takes off the tokens of the callers that are meant. */
  withdraw(isMeant: (requester: Requester) => boolean): void;
  /** Lets the reader show it by its own lights, where it has some and the settings let it; nothing otherwise. */
  signal(readerId: string, kind: Signal): void;
  /** Sentences on readers that should be there and are not. */
  faults(): readonly string[];
  /**
   * Opens what is named anew, closes what is no longer wanted, and leaves every other device open: also one that was
   * detected and is now named, or the other way round. Resolves when all that had to be closed is. Calls are answered
   * one after another.
   */
  reconfigure(config: ReadersConfig): Promise<void>;
  /** Stops listening and closes every device. */
  close(): Promise<void>;
}

/** Starts listening at once. */
export function startReaders(options: ReadersOptions): Readers {
  const { drivers, bus, clock, log, feedback } = options;
  const ending = new AbortController();
  const tokens = createTokens(bus, clock);
  const presenceOf = createPresences(tokens, clock);
  const attendance = createAttendance({ bus, clock, log, feedback, presenceOf }, ending.signal);
  const signal: Readers["signal"] = (readerId, kind) => {
    if (feedback?.() === true) attendance.byId(readerId)?.supervisor.session()?.signal?.(kind);
  };
  const writing = createWriting({ attendance, presenceOf, clock, log, signal });
  // Ids of readers that were let go of. What lies there is no longer anyone's business, until they are attended again.
  const dismissed = new Set<string>();
  // The callers that tapped the simulated readers last, by reader id.
  const tappers = new Map<string, Requester>();
  let wrong: readonly string[] = [];
  let changing = false;
  let lastChange: Promise<void> = Promise.resolve();

  /** The connections that the strings name; what is wrong with the others is kept, and logged where it is news. */
  const read = (connect: readonly string[]): readonly Connection[] => {
    const parsed = connect.map((text) => parseConnection(text, drivers));
    const before = wrong;
    wrong = parsed.flatMap((one) => (one.kind === "error" ? [one.message] : []));
    for (const message of wrong) if (!before.includes(message)) log.error("readers", message);
    return parsed.flatMap((one) => (one.kind === "connection" ? [one.connection] : []));
  };
  const setDetection = createSwitch({
    drivers,
    clock,
    log,
    taken: () => attendance.all().map(({ supervisor }) => supervisor.record().path),
    attend(connection, stablePath, wanted, found) {
      // A look that began before a change knows the old wishes; the next look follows it.
      if (!changing) attendance.attend(connection, stablePath, wanted, found);
    },
  });
  const change = async ({ connect, detect }: ReadersConfig) => {
    changing = true;
    try {
      for (const readerId of await changeAttended(attendance, read(connect), detect, ending.signal))
        dismissed.add(readerId);
    } finally {
      changing = false;
    }
    setDetection(detect && !ending.signal.aborted);
  };

  for (const connection of read(options.connect)) attendance.attend(connection, connection.path, undefined);
  setDetection(options.detect);

  return {
    list: () =>
      attendance
        .all()
        // A port that is only being tried is not a reader yet.
        .filter((one) => isReader(one) || one.supervisor.record().info !== "")
        .map(({ supervisor }) => supervisor.record()),
    tokens() {
      const { active, last } = tokens.list();
      const isAttended = ({ readerId }: Token) =>
        !dismissed.has(readerId) || attendance.byId(readerId) !== undefined;
      return { active: active.filter(isAttended), last };
    },
    write: writing.write,
    cancel: writing.cancel,
    signal,
    scan(params, durationMs, readerId, requester) {
      if (readerId === undefined) return tokens.virtual(params, durationMs, requester);
      tapSimulated(attendance.byId(readerId), readerId, params, durationMs);
      if (requester === undefined) tappers.delete(readerId);
      else tappers.set(readerId, requester);
    },
    // A card that was written while it lay there is still the caller's.
    requesterOf: (token) => tokens.requesterOf(token) ?? tappers.get(token.readerId),
    withdraw(isMeant) {
      tokens.withdraw(isMeant);
      for (const [readerId, requester] of tappers)
        if (isMeant(requester)) attendance.byId(readerId)?.supervisor.session()?.untap?.();
    },
    faults: () => [
      ...wrong,
      ...attendance.all().flatMap((one) => {
        const fault = one.supervisor.fault();
        return fault !== undefined && isReader(one) ? [`${one.supervisor.record().path}: ${fault}`] : [];
      }),
    ],
    reconfigure(config) {
      const changed = lastChange.then(() => change(config));
      // The caller hears of a failure; the next change is tried all the same.
      lastChange = changed.catch((error) =>
        log.error("readers", "could not change the readers", { error: messageOf(error) }),
      );
      return changed;
    },
    async close() {
      setDetection(false);
      ending.abort(new Error("the service is stopping"));
      tokens.close();
      await lastChange;
      await Promise.all(attendance.all().map(({ supervisor }) => supervisor.ended));
    },
  };
}

/** By its name in the config file, or by its own numbers. */
function isReader({ namedPath, isCertain }: Attended): boolean {
  return isCertain || namedPath() !== undefined;
}

/** Detection that can be switched on and off; switched on again, it looks at once. */
function createSwitch(options: DetectionOptions): (isOn: boolean) => void {
  let detection: Detection | undefined;
  return (isOn) => {
    if (isOn && detection !== undefined) return detection.lookAgain();
    detection?.[Symbol.dispose]();
    detection = isOn ? createDetection(options) : undefined;
  };
}

// By reader id, and kept: a card that lies on its reader through a re-plugging was not tapped. Bounded by the ports
// that this machine has ever shown.
function createPresences(
  tokens: ReturnType<typeof createTokens>,
  clock: Clock,
): (readerId: string) => Presence {
  const presences = new Map<string, Presence>();
  return (readerId) => {
    const known = presences.get(readerId);
    if (known !== undefined) return known;
    const presence = createPresence({
      clock,
      added: (sighting) => tokens.added(sighting, readerId),
      removed: (sighting) => tokens.removed(sighting, readerId),
    });
    presences.set(readerId, presence);
    return presence;
  };
}

function tapSimulated(
  attended: Attended | undefined,
  readerId: string,
  params: TokenParams,
  durationMs: number,
): void {
  if (attended === undefined) {
    throw new ServiceError("not-found", `no reader has the id ${readerId}: see \`readers\``);
  }
  const session = attended.supervisor.session();
  if (session === undefined) throw new ServiceError("no-reader", `the reader ${readerId} is not connected`);
  if (session.tap === undefined) {
    throw new ServiceError("invalid-params", "readerId: only a simulated reader can be tapped over the API");
  }
  session.tap({ text: params.text, ...(params.uid === "" ? {} : { uid: params.uid }) }, durationMs);
}
