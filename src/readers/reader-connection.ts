/** Connection strings: `driver:path`, as the config file and the API's settings name readers. */
import { createHash } from "node:crypto";
import type { Driver } from "./driver.ts";

export interface Connection {
  readonly driver: Driver;
  readonly path: string;
}

export type ParsedConnection =
  | { readonly kind: "connection"; readonly connection: Connection }
  | { readonly kind: "error"; readonly message: string };

/** Reads `pn532-uart:/dev/ttyAMA0`; the message of an error says which drivers there are. */
export function parseConnection(text: string, drivers: readonly Driver[]): ParsedConnection {
  const colon = text.indexOf(":");
  const id = colon < 0 ? text : text.slice(0, colon);
  const driver = drivers.find((candidate) => candidate.id === id);
  if (colon < 0 || driver === undefined) {
    const known = drivers.map((candidate) => `${candidate.id}:`).join(", ");
    return { kind: "error", message: `"${text}" is not a reader: write driver:path, with one of ${known}` };
  }
  return { kind: "connection", connection: { driver, path: text.slice(colon + 1) } };
}

/** The same for the same driver on the same port, over restarts and re-plugging: `pn532-uart-3f9a1c2b`. */
export function readerIdOf(driverId: string, stablePath: string): string {
  const digest = createHash("sha256").update(`${driverId}\0${stablePath}`).digest("hex");
  return `${driverId}-${digest.slice(0, 8)}`;
}
