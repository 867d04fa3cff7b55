/** The data folder as the service needs it: there, and with its secrets closed to others. */
import { mkdir } from "node:fs/promises";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { closeToOthers } from "../system/private-files.ts";

/** Throws `StartError` where there can be no such folder. */
export async function prepareDataFolder(folder: string, log: Log): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      exitCodes.cannotCreate,
      `cannot make the data folder ${folder}: ${messageOf(error)}. Name another one with --data.`,
      error,
    );
  }
  await closeToOthers(folder, log);
}
