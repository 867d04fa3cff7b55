/**
 * The processes of this device that listen on a TCP port, by the kernel's tables (proc(5)). A player that outlives its
 * service may hold the port that the next service needs.
 */
import { readFileSync } from "node:fs";
import { portHolderEndMsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { descriptorLink, descriptorsOf, markOf, pidsOf } from "./player-mark.ts";

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
  return pidsOf()
    .filter((pid) => holds(pid, links))
    .map(describe);
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

function holds(pid: number, links: ReadonlySet<string>): boolean {
  return (descriptorsOf(pid) ?? []).some((descriptor) => links.has(descriptorLink(pid, descriptor)));
}

function describe(pid: number): PortHolder {
  return { pid, name: textOf(`/proc/${pid}/comm`).trim(), isPlayer: markOf(pid) === "player" };
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
