/** The data that the service keeps for each WebSocket, from its upgrade on. */
import type { ServerWebSocket } from "bun";
import type { PoolMember, Recipient } from "./admission/connection-pool.ts";
import type { ConnectionIntake } from "./admission/intake.ts";
import type { ApiConnection } from "./connection.ts";
import type { Lane } from "./fair-scheduler.ts";
import type { Visit } from "./http.ts";
import type { SealedLine } from "./sealed-line.ts";

/** The data of a WebSocket. */
export interface SocketData
  extends Pick<
    Visit,
    "address" | "access" | "isPrivate" | "isAdmitted" | "penalize" | "grant" | "client" | "isV1App"
  > {
  /** True after the caller has sent a text that was no heartbeat. */
  hasSpoken: boolean;
  /** The connection of a caller that may send requests. */
  opened: OpenConnection | undefined;
  /** The sealed line of a caller whose messages others on the way could read. */
  line: SealedLine | undefined;
  leaving: Disposable | undefined;
  /** The place of a remote caller in the limits that all remote callers share. */
  remote: (PoolMember & Recipient) | undefined;
  /** Limits the messages of a remote caller without an identity. */
  intake: ConnectionIntake | undefined;
}

export interface OpenConnection {
  readonly connection: ApiConnection;
  readonly lane: Lane;
}

export type Socket = ServerWebSocket<SocketData>;

export function socketDataOf(visit: Visit): SocketData {
  const { address, access, isPrivate, isAdmitted, penalize, grant, client, isV1App } = visit;
  const later = {
    opened: undefined,
    line: undefined,
    leaving: undefined,
    remote: undefined,
    intake: undefined,
  };
  const known = { address, access, isPrivate, isAdmitted, penalize, grant, isV1App };
  return { ...known, ...(client === undefined ? {} : { client }), hasSpoken: false, ...later };
}
