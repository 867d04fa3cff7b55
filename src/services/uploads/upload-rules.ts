/**
 * The files that a caller may send or move: those that a launcher of the system accepts, with their pictures, subtitles
 * and the parts of discs, and never a program. A caller on the device may send anything. An owner over the network may
 * not, because only callers on the device may add programs that it starts.
 */
import type { MethodCaller } from "../../api/connection.ts";
import type { LauncherConfig } from "../../config/launcher-settings.ts";
import { coded, publicError, type ServiceError } from "../../core/errors.ts";
import { extensionOf } from "../../core/media.ts";
import { allows } from "../../core/rights.ts";
import { runnerOf } from "../../launch/program-runners.ts";
import { kindOf, systemByName, systemOfFile } from "../../media/known-systems.ts";
import { isProgramExtension, programKind } from "../../media/program-files.ts";
import type { NamedUpload } from "./upload-place.ts";

/** The id of the client; empty for a caller with the right `own`. Callers without an identity are one sender. */
export function senderOf({ from, grant }: Pick<MethodCaller, "from" | "grant">): string {
  return allows(grant(), "own") ? "" : (from.client ?? anonymousSender);
}

const anonymousSender = "?"; // No client id has this character.

/** Throws `forbidden` if the caller may not send a file of this name to the system. */
export function refuseName(
  { system: name, path }: NamedUpload,
  { access }: MethodCaller,
  launchers: readonly LauncherConfig[],
): void {
  const system = systemByName(name);
  // The function for the place of the upload refuses an unknown system.
  if (system === undefined || access === "device") return;
  const extension = extensionOf(path);
  if (isProgramExtension(extension)) throw onlyHere(`${extension} files are programs`);
  const runner = runnerOf(extension, system.id, launchers);
  if (runner !== undefined)
    throw onlyHere(`the launcher ${runner.id} runs the ${extension || "other"} files that it is given`);
  if (!isAccepted(extension, system.id, launchers))
    throw onlyHere(`no launcher plays ${extension || "files without extension"} in ${system.name}`);
}

/** Throws `forbidden` if the caller may not send a file that begins with these bytes. */
export function refuseContent(start: Uint8Array, path: string, { access }: MethodCaller): void {
  if (access === "device") return;
  const kind = programKind(start, extensionOf(path));
  if (kind !== undefined) throw onlyHere(`this file is ${kind}`);
}

function onlyHere(why: string): ServiceError {
  return coded(
    "upload-only-here",
    publicError("forbidden", `${why}: only a caller on the device itself may send it`),
  );
}

/**
 * Extensions of companions of media: tracks and images of discs, subtitles, and texts of songs. The table of systems has
 * the sheets of discs, not their tracks.
 */
export const companions: ReadonlySet<string> = new Set(
  ".bin .img .iso .sub .sbi .raw .cue .m3u .m3u8 .srt .ass .ssa .vtt .idx .lrc".split(" "),
);

function isAccepted(extension: string, systemId: string, launchers: readonly LauncherConfig[]): boolean {
  if (companions.has(extension) || kindOf(extension) !== undefined) return true;
  if (systemOfFile(systemId, extension)?.extensions.includes(extension) === true) return true;
  return launchers.some(
    ({ systems, extensions }) =>
      (systems.length === 0 || systems.some((name) => systemByName(name)?.id === systemId)) &&
      (extensions.length === 0 || extensions.includes(extension)),
  );
}
