/**
 * The saves of one game while it runs: RetroArch writes them in memory, and complete files are copied into the owner's
 * folder, which this code calls home. The files are polled each second, which costs microseconds. A file counts as
 * complete if it stays the same for a tenth of a second and the player does not have it open.
 */
import { readdir, readlink, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../../core/clock.ts";
import { holedSaveBytesMax, savesMemoryFreeMin } from "../../core/console-limits.ts";
import { messageOf } from "../../core/errors.ts";
import { type Fault, faultOf, faultSentence } from "../../core/faults.ts";
import type { Log } from "../../core/log.ts";
import type { Player } from "../../system/process.ts";
import { hasCode, listSaves, removeFolder, replaceSave, type SaveFile, saveFileAt } from "./save-files.ts";

const lookMs = 1000;
const settleMs = 100;

export type FollowedPlayer = Pick<Player, "pid" | "exited" | "gone">;

export interface GameSavesParts {
  /** The game's own folder in memory, by its real path. It holds `filesFolder` and the settings of this start. */
  readonly memory: string;
  readonly home: string;
  /** The copies of the owner's files; undefined for a folder that an earlier service left. */
  readonly copies: readonly SaveFile[] | undefined;
  /** Runs the work of all games one at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly clock: Clock;
  readonly log: Log;
}

export type GameSaves = ReturnType<typeof createGameSaves>;

/** The folder of the save files below a game's folder in memory. */
export const filesFolder = "files";

export function createGameSaves(parts: GameSavesParts) {
  const { memory, home, copies, inTurn, clock, log } = parts;
  const files = join(memory, filesFolder);
  const carried = new Map((copies ?? []).map(({ path, version }) => [path, version]));
  const backedUp = new Set<string>();
  let fault: Fault | undefined;
  // True if a file may be incomplete. The end of the player is unknown for files that an earlier service left.
  let mayBeCut = copies === undefined;

  const carry = async (file: SaveFile, isMemoryFull: boolean) => {
    const { path, version, bytes, hasHoles } = file;
    const keep = (why: string) => {
      carried.set(path, version);
      log.warn("saves", "the version before is kept", { file: path, why });
    };
    if (bytes === 0) return keep("it is empty");
    if (hasHoles && bytes > holedSaveBytesMax)
      return keep(`it has holes, and would take up ${bytes} bytes of the disk`);
    if ((mayBeCut || isMemoryFull) && bytes < ((await saveFileAt(home, path))?.bytes ?? 0))
      return keep("it is shorter than before, and its player did not end well");
    const keepsOld = copies !== undefined && !backedUp.has(path);
    const end = await replaceSave(files, file, home, keepsOld);
    if (end === "cut") return keep("it was not written to its end");
    if (end === "changed") return;
    carried.set(path, version);
    backedUp.add(path);
  };
  /** The files that the player does not write at this moment. */
  const completeOf = async (
    changed: readonly SaveFile[],
    { pid, over }: Writer,
  ): Promise<readonly SaveFile[]> => {
    await sleep(clock, settleMs, over).catch(() => {});
    const now = await Promise.all(changed.map(({ path }) => saveFileAt(files, path)));
    const open = await openedBy(pid);
    return changed.filter(
      ({ path, version }, nth) => now[nth]?.version === version && !open.has(join(files, path)),
    );
  };
  /** Resolves with true if all files are in the owner's folder. `writer` is undefined after the player's end. */
  const look = async (writer: Writer | undefined): Promise<boolean> => {
    const all = await listSaves(files, ".", () => true);
    const isCarried = ({ path, version }: SaveFile) => carried.get(path) === version;
    const changed = all.filter((file) => !isCarried(file));
    if (changed.length === 0 && fault === undefined) return true;
    const complete = writer === undefined ? changed : await completeOf(changed, writer);
    const isMemoryFull = writer !== undefined && (await isFull(memory));
    const failures: unknown[] = [];
    // A failure of one file does not stop the others.
    for (const file of complete) await carry(file, isMemoryFull).catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    fault = isMemoryFull ? faultOf("saves-memory-full", { subject: memory }) : undefined;
    return changed.every(isCarried);
  };
  const lookInTurn = (writer?: Writer): Promise<boolean> =>
    inTurn(() => look(writer)).catch((error) => {
      const why = hasCode(error, "ENOSPC") ? "the disk is full: free some space" : messageOf(error);
      const found = faultOf("saves-not-kept", { subject: home, why });
      if (!Bun.deepEquals(fault, found)) log.error("saves", faultSentence(found));
      fault = found;
      return false;
    });
  /**
   * Copies the remaining files home after the player's end. Resolves with true if no file is left in memory. Never
   * rejects.
   */
  const finish = async (): Promise<boolean> => {
    const isDone = await lookInTurn();
    // A left-over folder does no harm.
    if (isDone) await removeFolder(memory).catch(() => {});
    return isDone;
  };
  return {
    memory,
    home,
    finish,
    /** The reason why a file could not be copied home; undefined if there is none. */
    fault: () => fault,
    /** Copies complete files home until the player is gone, and then calls `finish`. */
    async follow({ pid, exited, gone }: FollowedPlayer): Promise<boolean> {
      const over = new AbortController();
      void exited.then(({ exitCode }) => {
        mayBeCut = exitCode !== 0;
        over.abort();
      });
      while (!over.signal.aborted) {
        await sleep(clock, lookMs, over.signal).catch(() => {});
        if (!over.signal.aborted) await lookInTurn({ pid, over: over.signal });
      }
      await gone.catch(() => {});
      return finish();
    },
  };
}

interface Writer {
  readonly pid: number;
  /** Aborts when the process has ended. */
  readonly over: AbortSignal;
}

/** The files that the process has open; none after its end. */
async function openedBy(pid: number): Promise<ReadonlySet<string>> {
  const folder = `/proc/${pid}/fd`;
  const numbers = await readdir(folder).catch(() => []);
  return new Set(await Promise.all(numbers.map((number) => readlink(join(folder, number)).catch(() => ""))));
}

async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < savesMemoryFreeMin;
}
