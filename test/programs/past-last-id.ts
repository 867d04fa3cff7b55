/**
 * Starts a player shortly before the kernel reaches its highest process id, so processes that leave its group have lower
 * ids. Stops the player, and prints the survivors as JSON. Run it as root in a PID namespace of its own; the argument is
 * the file that it uses.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { spawnPlayer } from "../../src/system/process.ts";
import { eventually } from "../helpers/processes.ts";

const [said = ""] = process.argv.slice(2);
const [idsLeft, childCount] = [6, 12];
const idsMax = Number(readFileSync("/proc/sys/kernel/pid_max", "latin1"));
writeFileSync("/proc/sys/kernel/ns_last_pid", `${idsMax - idsLeft}`);
writeFileSync(said, "");

const child = `setsid sh -c 'echo $$ >>"$0"; exec sleep 600' "$0" &`;
const player = spawnPlayer(["/bin/sh", "-c", `${child}\n`.repeat(childCount).concat("wait"), said]);
const escaped = () => readFileSync(said, "latin1").trim().split("\n").map(Number);
await eventually(() => escaped().length === childCount);
await player.stop(5000);

function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
  } catch {
    return false;
  }
}

const outcome = { leader: player.pid, lowest: Math.min(...escaped()), alive: escaped().filter(isAlive) };
process.stdout.write(JSON.stringify(outcome));
