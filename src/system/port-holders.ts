/**
 * The processes of this device that listen on a TCP port, by the kernel's tables (proc(5)). A player that outlives its
 * service may hold the port that the next service needs.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { portHolderEndMsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { markOf } from "./player-mark.ts";

interface PortHolder {
  readonly pid: number;
  readonly name: string;
  readonly isPlayer: boolean;
}

const pollMs = 20;

/** Ends each player that listens on the port, and resolves when no player does, or after `portHolderEndMsMax`. */
export async function endPlayersAt(port: number, log: Log): Promise<void> {
  const deadline = performance.now() + portHolderEndMsMax;
  const asked = new Set<number>();
  for (;;) {
    const players = holdersAt(port).filter(({ isPlayer }) => isPlayer);
    if (players.length === 0 || performance.now() >= deadline) return;
    for (const { pid, name } of players.filter((player) => !asked.has(player.pid))) {
      asked.add(pid);
      log.warn("players", "a player that outlived its service held the port, and is ended", {
        port,
        name,
        pid,
      });
      kill(pid);
    }
    await Bun.sleep(pollMs);
  }
}

/** The listening processes whose descriptors this user may read. */
export function holdersAt(port: number): readonly PortHolder[] {
  const links = new Set(listenersAt(port).map((inode) => `socket:[${inode}]`));
  if (links.size === 0) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => linksOf(pid).some((link) => links.has(link))).map(describe);
}

/** The inodes of the listening sockets. */
function listenersAt(port: number): readonly string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => textOf(path).split("\n"))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(end) && state === listening)
    .map((row) => row[9] ?? "");
}

const listening = "0A"; // The state in the kernel's table (include/net/tcp_states.h).

function linksOf(pid: string): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((descriptor) => linkOf(`${folder}/${descriptor}`));
  } catch {
    // The process is another user's, or has ended.
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // The descriptor has been closed meanwhile.
    return "";
  }
}

function describe(pid: string): PortHolder {
  const name = textOf(`/proc/${pid}/comm`).trim();
  return { pid: Number(pid), name, isPlayer: markOf(Number(pid)) === "player" };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // A kernel without IPv6 has no tcp6 table, and a process may have ended.
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended meanwhile.
  }
}
