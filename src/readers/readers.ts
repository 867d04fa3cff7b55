/**
 * All readers: the ones that the config file names, the ones that detection finds, and the API's virtual one. Says
 * what lies where, and tells the bus.
 */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { readersMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { Reader, Token, TokenParams } from "../core/token.ts";
import { type Connection, parseConnection, readerIdOf } from "./connection.ts";
import type { Driver } from "./contract.ts";
import { createDetection } from "./detection.ts";
import { createPresence, type Presence } from "./presence.ts";
import { type Supervisor, supervise } from "./supervisor.ts";
import { createTokens } from "./tokens.ts";

export interface ReadersOptions {
  readonly drivers: readonly Driver[];
  /** Connection strings of the config file. */
  readonly connect: readonly string[];
  readonly detect: boolean;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Readers {
  list(): readonly Reader[];
  tokens(): { readonly active: readonly Token[]; readonly last: Token | undefined };
  /** As `Services.scan` of the API. */
  scan(params: TokenParams, durationMs: number, readerId: string | undefined): void;
  /** Sentences on readers that should be there and are not. */
  faults(): readonly string[];
  /** Stops listening and closes every device. */
  close(): Promise<void>;
}

/** Starts listening at once. */
export function startReaders(options: ReadersOptions): Readers {
  const { drivers, bus, clock, log } = options;
  const ending = new AbortController();
  const supervisors = new Map<string, Supervisor>();
  const wrong: string[] = [];
  const tokens = createTokens(bus, clock);
  // By reader id, and kept: a card that lies on its reader through a re-plugging was not tapped. Bounded by the ports
  // that this machine has ever shown.
  const presences = new Map<string, Presence>();

  const presenceOf = (readerId: string): Presence => {
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

  const attend = (
    connection: Connection,
    stablePath: string,
    wanted: (everOpened: boolean) => Promise<boolean> | boolean,
  ) => {
    const key = readerIdOf(connection.driver.id, stablePath);
    if (supervisors.has(key)) return;
    if (supervisors.size >= readersMax) {
      log.warn("readers", "too many readers: this one is left alone", {
        path: connection.path,
        most: readersMax,
      });
      return;
    }
    const supervisor = supervise(
      {
        connection,
        stablePath,
        clock,
        log,
        wanted,
        connected: (reader) => bus.emit("readers.added", reader),
        disconnected: (reader) => bus.emit("readers.removed", reader),
        presence: presenceOf(key),
      },
      ending.signal,
    );
    supervisors.set(key, supervisor);
    void supervisor.ended.then(() => supervisors.delete(key));
  };

  for (const text of options.connect) {
    const parsed = parseConnection(text, drivers);
    if (parsed.kind === "connection") attend(parsed.connection, parsed.connection.path, () => true);
    else {
      wrong.push(parsed.message);
      log.error("readers", parsed.message);
    }
  }
  const detection = options.detect
    ? createDetection({
        drivers,
        clock,
        log,
        taken: () => [...supervisors.values()].map((supervisor) => supervisor.record().path),
        attend,
      })
    : undefined;

  return {
    list: () =>
      [...supervisors.values()]
        .map((supervisor) => supervisor.record())
        // A port that is only being tried is not a reader yet.
        .filter((reader) => reader.info !== "" || isConfigured(reader, options.connect)),
    tokens: tokens.list,
    scan(params, durationMs, readerId) {
      if (readerId === undefined) tokens.virtual(params, durationMs);
      else tapSimulated(supervisors.get(readerId), readerId, params, durationMs);
    },
    faults: () => [
      ...wrong,
      ...[...supervisors.values()].flatMap((supervisor) => {
        const [fault, reader] = [supervisor.fault(), supervisor.record()];
        return fault !== undefined && isConfigured(reader, options.connect)
          ? [`${reader.path}: ${fault}`]
          : [];
      }),
    ],
    async close() {
      detection?.[Symbol.dispose]();
      ending.abort(new Error("the service is stopping"));
      tokens.close();
      await Promise.all([...supervisors.values()].map((supervisor) => supervisor.ended));
    },
  };
}

function tapSimulated(
  supervisor: Supervisor | undefined,
  readerId: string,
  params: TokenParams,
  durationMs: number,
): void {
  if (supervisor === undefined) {
    throw new ServiceError("not-found", `no reader has the id ${readerId}: see \`readers\``);
  }
  const session = supervisor.session();
  if (session === undefined) throw new ServiceError("no-reader", `the reader ${readerId} is not connected`);
  if (session.tap === undefined) {
    throw new ServiceError("invalid-params", "readerId: only a simulated reader can be tapped over the API");
  }
  session.tap({ text: params.text, ...(params.uid === "" ? {} : { uid: params.uid }) }, durationMs);
}

function isConfigured(reader: Reader, connect: readonly string[]): boolean {
  return connect.some((text) => text === `${reader.driver}:${reader.path}` || text === `${reader.path}:`);
}
