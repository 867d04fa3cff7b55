/**
 * From the readers that are attended to those that a new config wants: what stays open, what is let go of, and what is
 * opened. A device that is wanted before and after is not touched, whether it was named or detected.
 */
import type { Attendance, Attended } from "./attendance.ts";
import { findCandidate, isStillThere, resolved } from "./detection.ts";
import type { Connection } from "./reader-connection.ts";

/**
 * Attends what is `named` and, where `detect` is true, what would be detected. Returns the ids of the readers that
 * were let go of, once their devices are closed. Nothing is opened where `signal` aborts meanwhile.
 */
export async function changeAttended(
  attendance: Attendance,
  named: readonly Connection[],
  detect: boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const fates = await fatesOf(attendance.all(), named, detect, signal);
  // A port must be free before another driver, or the same one with other options, opens it.
  await Promise.all(fates.map(settle));
  const adopted = fates.flatMap((fate) =>
    fate.kind === "named" && attendance.byId(fate.one.readerId) === fate.one ? [fate.connection] : [],
  );
  for (const connection of named)
    if (!adopted.includes(connection)) attendance.attend(connection, connection.path, undefined);
  return fates.flatMap((fate) => (fate.kind === "goes" ? [fate.one.readerId] : []));
}

/** What becomes of an attended reader under a new config. */
type Fate =
  | { readonly kind: "named"; readonly one: Attended; readonly connection: Connection }
  | {
      readonly kind: "detected";
      readonly one: Attended;
      readonly wanted: (everOpened: boolean) => Promise<boolean>;
    }
  | { readonly kind: "stays" | "goes"; readonly one: Attended };

/** By looking only: nothing is opened, closed or changed. */
async function fatesOf(
  attended: readonly Attended[],
  named: readonly Connection[],
  detect: boolean,
  signal: AbortSignal,
): Promise<readonly Fate[]> {
  const places = await Promise.all(named.map(({ path }) => resolved(path)));
  return Promise.all(
    attended.map(async (one): Promise<Fate> => {
      const { driver, path } = one.connection;
      const isDetected = one.namedPath() === undefined;
      const same = named.find((other) => other.driver === driver && other.path === one.namedPath());
      if (same !== undefined) return { kind: "named", one, connection: same };
      const place = await resolved(path);
      const there = path === "" ? undefined : named[places.indexOf(place)];
      // Options stand behind the path, and only a fresh start heeds them.
      if (there?.driver === driver && isDetected && !there.path.includes("?"))
        return { kind: "named", one, connection: there };
      if (there !== undefined || !detect) return { kind: "goes", one };
      if (isDetected) return { kind: "stays", one };
      const candidate = path.includes("?") ? undefined : await findCandidate(driver, path, signal);
      if (candidate === undefined) return { kind: "goes", one };
      const wanted = async (everOpened: boolean) =>
        (everOpened || candidate.isCertain === true) && (await isStillThere(driver, candidate, signal));
      return { kind: "detected", one, wanted };
    }),
  );
}

async function settle(fate: Fate): Promise<void> {
  switch (fate.kind) {
    case "named":
      return fate.one.adopt(fate.connection.path);
    case "detected":
      return fate.one.release(fate.wanted);
    case "goes":
      return fate.one.dismiss();
    case "stays":
      return;
  }
}
