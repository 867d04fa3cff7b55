/**
 * Protects the saves of games from a loss of power. RetroArch overwrites its files in place, so it gets copies in memory, and
 * changed files replace those in the owner's folder by rename. Saves that could not be copied to the owner's folder stay
 * in memory. They are tried again, also by the next service.
 */
import { existsSync } from "node:fs";
import { mkdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { createSerialQueue } from "../../core/serial-queue.ts";
import type { SavePlace } from "../../players/player.ts";
import {
  createGameSaves,
  type FollowedPlayer,
  filesFolder,
  type GameSaves,
  type GameSavesParts,
} from "./game-saves.ts";
import { endOrphans, findSaves, leftGames, newGameFolder, openMemory, putSaves } from "./save-memory.ts";

interface KeeperParts {
  /** The owner's folder of saves; undefined if RetroArch's own settings decide. */
  readonly home: () => string | undefined;
  /** The folder in memory, for this user only; it is made if it is missing. */
  readonly memory: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A game with its saves. The saves have no `settings` if they are written in place. */
export interface SavedGame extends SavePlace {
  /** Call it after the start of the player. */
  follow(player: FollowedPlayer): void;
  /** Call it if the player was not started. */
  drop(): void;
}

export type SaveKeeper = ReturnType<typeof createSaveKeeper>;

const retryMs = 10_000;

export function createSaveKeeper({ home, memory, clock, log }: KeeperParts) {
  const running = new Set<GameSaves>();
  // Games with files that could not be copied home, the oldest first.
  let left: readonly GameSaves[] = [];
  const works = new Set<Promise<void>>();
  let retry: Disposable | undefined;
  let isClosed = false;

  const inTurn = createSerialQueue();
  const open = (folder: string, target: string, copies: GameSavesParts["copies"]) =>
    createGameSaves({ memory: folder, home: target, copies, inTurn, clock, log });
  /** Adds work that `settled` waits for. */
  const track = (work: Promise<void>) => {
    const tracked = work.finally(() => works.delete(tracked));
    works.add(tracked);
  };
  /**
   * Resolves when the players of all games so far have ended and their saves are in the owner's folder, or could not be
   * copied to it.
   */
  const settled = async () => void (await Promise.all(works));
  const leave = (game: GameSaves) => {
    left = [...left, game];
    retryLater();
  };
  const retryLater = () => {
    if (!isClosed && left.length > 0) retry ??= clock.after(retryMs, () => track(finishLeft()));
  };
  const finishLeft = async () => {
    retry?.[Symbol.dispose]();
    retry = undefined;
    for (const game of left) if (await game.finish()) left = left.filter((one) => one !== game);
    retryLater();
  };
  const recover = async () => {
    if (!existsSync(memory)) return;
    try {
      await using folder = await openMemory(memory);
      await endOrphans(folder.realPath);
      const target = home();
      const games = await leftGames(folder);
      if (target === undefined && games.length > 0)
        throw new Error(`set retroarch.saves again, and start the service: they are in ${folder.realPath}`);
      if (target !== undefined) left = games.map((game) => open(game, target, undefined));
      if (left.length > 0)
        log.info("saves", "saves of an earlier run are carried over", { games: left.length });
      await finishLeft();
    } catch (error) {
      log.error("saves", `saves that an earlier run left cannot be carried over: ${messageOf(error)}`);
    }
  };
  const recovering = recover();
  track(recovering);

  const copyInto = async (path: string, target: string): Promise<GameSaves> => {
    const found = await findSaves(path, target, left);
    await using opened = await openMemory(memory);
    const folder = await newGameFolder(opened);
    try {
      return open(folder, target, await putSaves(found, target, folder));
    } catch (error) {
      // The game's folder may already have files from an earlier game.
      leave(open(folder, target, undefined));
      throw error;
    }
  };
  const savedGame = (game: GameSaves): SavedGame => ({
    folder: join(game.memory, filesFolder),
    settings: game.memory,
    follow(player) {
      running.add(game);
      const end = async () => {
        const isDone = await game.follow(player);
        running.delete(game);
        if (!isDone) leave(game);
      };
      track(end());
    },
    drop() {
      track(game.finish().then((isDone) => (isDone ? undefined : leave(game))));
    },
  });
  return {
    settled,
    /** The first reason why saves are not in the owner's folder. */
    faults: () => [...running, ...left].flatMap((game) => game.fault() ?? []).slice(0, 1),
    /** Prepares the saves for the game at `path`; undefined if RetroArch's own settings decide. */
    async prepare(path: string): Promise<SavedGame | undefined> {
      const target = home();
      if (target === undefined) return undefined;
      await recovering;
      await settled();
      try {
        if (path === "") throw new Error("no file gives them a name");
        if (left.length > 0) await finishLeft();
        return savedGame(await copyInto(path, target));
      } catch (error) {
        // Without the copies, RetroArch overwrites the files in place. The folder is made here, because a confined
        // RetroArch may have no right to make it.
        await mkdir(target, { recursive: true, mode: 0o700 }).catch(() => {});
        log.warn("saves", "a loss of power may damage the saves of this game", { why: messageOf(error) });
        return { folder: target, follow() {}, drop() {} };
      }
    },
    /** Stops retries, and resolves as `settled`. */
    async close(): Promise<void> {
      isClosed = true;
      retry?.[Symbol.dispose]();
      await settled();
      // The folder stays if it is not empty.
      await rmdir(memory).catch(() => {});
    },
  };
}
