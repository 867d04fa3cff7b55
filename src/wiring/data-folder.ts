/** The folder of the database, made where it is missing. */
import { mkdir } from "node:fs/promises";
import { exitCodes, messageOf, StartError } from "../core/errors.ts";

/** Throws `StartError` where it cannot be made. */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      exitCodes.cannotCreate,
      `cannot make the data folder ${folder}: ${messageOf(error)}. Name another one with --data.`,
      error,
    );
  }
}
