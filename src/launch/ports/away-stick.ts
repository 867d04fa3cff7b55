/** A card that names a file on a USB stick that is not plugged in fails with a sentence that names the stick. */
import { basename, isAbsolute, relative, sep } from "node:path";
import { ServiceError } from "../../core/errors.ts";
import type { SoughtMedia } from "../../media/sticks/stick-library.ts";

export interface KnownSticks {
  /** The name of the stick that is not plugged in and holds this; absent where sticks are not known. */
  stickWith?(sought: SoughtMedia): Promise<string | undefined>;
}

/** Throws `ServiceError` for an absolute path into one of the folders of sticks, to a stick that is not among `sticks`. */
export function refuseStickAway(
  wanted: string,
  removable: readonly string[] = [],
  sticks: readonly string[] = [],
): void {
  const folder = removable.find((one) => wanted.startsWith(`${one}/`));
  const [name = ""] = folder === undefined ? [] : relative(folder, wanted).split(sep);
  const isThere = sticks.some((stick) => basename(stick) === name);
  if (name !== "" && name !== ".." && !isThere) throw stickAway(wanted, name);
}

/** What looking for `<System>/<path>` failed with; where the file is on a stick that is away, that. */
export async function explained(error: unknown, path: string, media: KnownSticks = {}): Promise<unknown> {
  if (!(error instanceof ServiceError) || isAbsolute(path)) return error;
  const stick = await media.stickWith?.({ kind: "path", path });
  return stick === undefined ? error : stickAway(path, stick);
}

export function stickAway(wanted: string, stick: string): ServiceError {
  return new ServiceError(
    "failed",
    `there is no file ${wanted}: it is on the USB stick ${stick}, which is not plugged in`,
  );
}
