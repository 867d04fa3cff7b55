/** All readers: those of the config file, the detected ones, and the API's virtual one; and the tokens on them. */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import type { Requester } from "../core/rights.ts";
import type { RefusedReader, TokenWritten } from "../core/shapes.ts";
import type { Reader, Token, TokenParams } from "../core/token.ts";
import { type Attended, changeAttended, createAttendance } from "./attendance.ts";
import { createDetection, type Detection, type DetectionOptions } from "./detection.ts";
import { type Driver, parseConnection, type ReaderConnection, type Signal } from "./driver.ts";
import { createPresence, createTokens, type Presence } from "./presence.ts";
import { createWriting, unknownReader, type Writing } from "./writing.ts";

export interface ReadersConfig {
  /** Connection strings of the config file. */
  readonly connect: readonly string[];
  readonly detect: boolean;
}

interface ReadersOptions extends ReadersConfig {
  readonly drivers: readonly Driver[];
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** The same as `DriverContext.feedback`. */
  readonly feedback?: () => boolean;
  /** The ports that a Bluetooth radio uses. */
  readonly radioPorts?: () => readonly string[];
}

export interface Readers extends Writing {
  list(): readonly Reader[];
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /** The function `Services.scan` of the API. */
  scan(params: TokenParams, durationMs: number, readerId: string | undefined, requester?: Requester): void;
  /** The caller of the API that put this token on the reader; undefined for a person's card. */
  requesterOf(token: Token): Requester | undefined;
  /** Removes the tokens of callers for which `isMeant` returns true. */
  withdraw(isMeant: (requester: Requester) => boolean): void;
  /** Shows a signal by the reader's lights or buzzer, if it has some and the settings allow it. */
  signal(readerId: string, kind: Signal): void;
  /** The faults of wanted readers that do not work, and of a silent port of the board if no reader is connected. */
  faults(): readonly Fault[];
  /** The readers that are not connected, and the ports that did not open as a reader, each with the reason. */
  refused(): readonly RefusedReader[];
  /**
   * The reason why a plugged-in reader does not work; undefined if no such reader is known. A port of the board itself
   * does not show that a reader is plugged in.
   */
  broken(): string | undefined;
  /**
   * Opens newly named readers and closes those that are no longer wanted. Every other device stays open, even if it was
   * detected and is now named, or the reverse. Resolves when the devices are closed. Calls run one after another.
   */
  reconfigure(config: ReadersConfig): Promise<void>;
  /** Closes every device. */
  close(): Promise<void>;
}

export function startReaders(options: ReadersOptions): Readers {
  const { drivers, bus, clock, log, feedback, radioPorts: radioPortsNow = radioPorts } = options;
  const ending = new AbortController();
  const tokens = createTokens(bus, clock);
  const presenceOf = createPresences(tokens, clock);
  const attendance = createAttendance({ bus, clock, log, feedback, presenceOf }, ending.signal);
  const signal: Readers["signal"] = (readerId, kind) => {
    if (feedback?.() === true) attendance.byId(readerId)?.supervisor.session()?.signal?.(kind);
  };
  // The answer to the write is sent before the event.
  const onWritten = (written: TokenWritten) => void clock.after(0, () => bus.emit("tokens.written", written));
  const writing = createWriting({ attendance, presenceOf, clock, log, signal, onWritten });
  // Ids of dismissed readers. Their tokens are not listed until they are attended again.
  const dismissed = new Set<string>();
  // The last callers that used simulated readers, by reader id.
  const tappers = new Map<string, Requester>();
  let wrong: readonly Fault[] = [];
  let changing = false;
  let lastChange: Promise<void> = Promise.resolve();

  /** The connections of the config. Wrong strings become `faults`, and new ones are logged. */
  const read = (connect: readonly string[]): readonly ReaderConnection[] => {
    const before = wrong.map(({ subject }) => subject);
    const parsed = connect.map((subject) => ({ subject, ...parseConnection(subject, drivers) }));
    wrong = parsed.flatMap((one) =>
      one.kind === "error" ? [faultOf("reader-unknown", { subject: one.subject, why: one.message })] : [],
    );
    for (const { subject, why = "" } of wrong) if (!before.includes(subject)) log.error("readers", why);
    return parsed.flatMap((one) => (one.kind === "connection" ? [one.connection] : []));
  };
  const detection = createSwitch({
    drivers,
    clock,
    log,
    taken: () => attendance.all().map(({ supervisor }) => supervisor.record().path),
    attend(connection, stablePath, wanted, found) {
      // A look from before a change has outdated facts. Another look follows the change.
      if (!changing) attendance.attend(connection, stablePath, wanted, found);
    },
  });
  const open = () => attendance.all().filter(({ supervisor }) => supervisor.session() !== undefined);
  const refusedPorts = () => {
    // A refused port is left out if it has opened later, or if another driver has opened it.
    const inUse = new Set(open().map(({ supervisor }) => supervisor.record().path));
    return detection.refused().filter(({ path }) => !inUse.has(path));
  };
  const failing = () =>
    attendance.all().flatMap((one) => {
      const why = one.supervisor.fault();
      const { driver, path } = one.supervisor.record();
      return why !== undefined && isReader(one) ? [{ driver, path, why, isCertain: one.isCertain }] : [];
    });
  const silentOnBoard = () => (open().length > 0 ? [] : refusedPorts().filter(({ isOnBoard }) => isOnBoard));
  const change = async ({ connect, detect }: ReadersConfig) => {
    changing = true;
    try {
      for (const readerId of await changeAttended(attendance, read(connect), detect, ending.signal))
        dismissed.add(readerId);
    } finally {
      changing = false;
    }
    detection.set(detect && !ending.signal.aborted);
  };

  for (const connection of read(options.connect)) attendance.attend(connection, connection.path, undefined);
  detection.set(options.detect);

  return {
    list: () =>
      attendance
        .all()
        // A port is not a reader until it was opened.
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
    // A simulated card belongs to the caller that put it on the reader, even after a write.
    requesterOf: (token) => tokens.requesterOf(token) ?? tappers.get(token.readerId),
    withdraw(isMeant) {
      tokens.withdraw(isMeant);
      for (const [readerId, requester] of tappers)
        if (isMeant(requester)) attendance.byId(readerId)?.supervisor.session()?.untap?.();
    },
    faults: () => [
      ...wrong,
      ...silentOnBoard().map(({ path: subject, why }) => faultOf("reader-silent", { subject, why })),
      ...failing().map(({ path: subject, why }) =>
        radioPortsNow().includes(subject)
          ? faultOf("reader-port-taken", { subject })
          : faultOf("reader-failed", { subject, why }),
      ),
    ],
    refused: () => [
      ...wrong.map(({ why = "" }) => ({ why })),
      ...[...failing(), ...refusedPorts()].map(({ driver, path, why }) => ({ driver, path, why })),
    ],
    broken() {
      const failed = failing().find(({ path, isCertain }) => isCertain || existsSync(path));
      return (failed ?? refusedPorts().find(({ isOnBoard }) => !isOnBoard))?.why;
    },
    reconfigure(config) {
      const changed = lastChange.then(() => change(config));
      // The caller gets the error. The next change runs nevertheless.
      lastChange = changed.catch((error) =>
        log.error("readers", "could not change the readers", { error: messageOf(error) }),
      );
      return changed;
    },
    async close() {
      detection.set(false);
      ending.abort(new Error("the service is stopping"));
      tokens.close();
      await lastChange;
      await Promise.all(attendance.all().map(({ supervisor }) => supervisor.ended));
    },
  };
}

/** True if the config names the reader, or if the driver knows it by its USB ids. */
function isReader({ namedPath, isCertain }: Attended): boolean {
  return isCertain || namedPath() !== undefined;
}

/** Detection that can be switched on and off. */
function createSwitch(options: DetectionOptions) {
  let detection: Detection | undefined;
  return {
    /** Switches detection. It looks for readers as soon as it is switched on, and again if it was switched on already. */
    set(isOn: boolean): void {
      if (isOn && detection !== undefined) {
        detection.lookAgain();
        return;
      }
      detection?.[Symbol.dispose]();
      detection = isOn ? createDetection(options) : undefined;
    },
    refused: () => detection?.refused() ?? [],
  };
}

// The presences by reader id. The tokens are kept, because a card that stays on a reader during re-plugging is no new
// tap. Their number is limited by the ports that this machine has ever had.
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
  if (attended === undefined) throw unknownReader(readerId);
  const session = attended.supervisor.session();
  if (session === undefined) throw new ServiceError("no-reader", `the reader ${readerId} is not connected`);
  if (session.tap === undefined) {
    throw new ServiceError("invalid-params", "readerId: only a simulated reader can be tapped over the API");
  }
  session.tap({ text: params.text, ...(params.uid === "" ? {} : { uid: params.uid }) }, durationMs);
}

/** The UARTs of a Raspberry Pi, by their places in its device tree (bcm283x.dtsi of Linux). */
const boardPorts: readonly (readonly [node: string, path: string])[] = [
  ["serial@7e201000/", "/dev/ttyAMA0"],
  ["serial@7e215040/", "/dev/ttyS0"],
];

/**
 * The serial ports that a Bluetooth radio uses. The kernel gives them no device node, so no reader can be on them.
 * Devices on serial lines are below `folder`, such as `serial0-0`.
 */
export function radioPorts(folder = "/sys/bus/serial/devices"): readonly string[] {
  try {
    const nodes = readdirSync(folder).map((name) => realpathSync(join(folder, name, "of_node")));
    return boardPorts
      .filter(([place]) => nodes.some((node) => node.includes(place) && node.endsWith("/bluetooth")))
      .map(([, path]) => path);
  } catch {
    return []; // This machine has no device on a serial line, or none that a device tree names.
  }
}
