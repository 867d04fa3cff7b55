/** The service's ports, and the programs that hold them while the service cannot listen. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkPort } from "../api/admission/listeners.ts";
import type { Config } from "../config/shape.ts";
import { codeOf, StartError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { endPlayersAt, holdersAt } from "../system/port-holders.ts";

/**
 * Ends players at the ports that have outlived their service. Throws `StartError` if a first start, which has made no
 * file yet, cannot open the port.
 */
export async function preparePorts(dataFolder: string, api: Config["api"], log: Log): Promise<void> {
  for (const port of [api.port, api.tlsPort]) if (port !== 0) await endPlayersAt(port, log);
  if (!existsSync(join(dataFolder, "tapdeck.db"))) checkPort(api);
}

/** The error of a start; if the port is in use, it names the program that listens on the port. */
export function withHolder(error: unknown, port: number): unknown {
  if (!(error instanceof StartError) || codeOf(error.cause) !== "EADDRINUSE") return error;
  const [holder] = holdersAt(port);
  if (holder === undefined) return error;
  const { name, pid } = holder;
  return new StartError(error.exitCode, `${error.message} (${name}, process ${pid}, listens there)`, error);
}
