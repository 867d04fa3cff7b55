/** Facts about this machine for its owner: memory, temperature, disks and network. A fact that cannot be read is left out. */
import { existsSync } from "node:fs";
import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { freemem, hostname, totalmem, uptime } from "node:os";
import { join } from "node:path";
import { mediaFolderMsMax } from "../core/limits.ts";
import { interfaces, isInnerInterface } from "./addresses.ts";

export interface Disk {
  /** The folders of Tapdeck on the disk. */
  readonly folders: readonly string[];
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface NetworkFacts {
  readonly name: string;
  readonly isWireless: boolean;
  readonly isUp: boolean;
  readonly addresses: readonly string[];
  /** The signal of the Wi-Fi network. */
  readonly signalDbm?: number;
}

export async function machineFacts() {
  const [zone, board, commandLine, networks] = await Promise.all([
    textOf("/sys/class/thermal/thermal_zone0/temp"),
    textOf("/etc/tapdeck/board"),
    textOf("/proc/cmdline"),
    networkFacts(),
  ]);
  const milliCelsius = Number(zone);
  const [, slot] = /(?:^|\s)tapdeck\.slot=([ab])(?:\s|$)/.exec(commandLine) ?? [];
  return {
    name: hostname(),
    systemUptime: Math.floor(uptime()),
    memory: { totalBytes: totalmem(), availableBytes: freemem(), serviceBytes: process.memoryUsage.rss() },
    ...(zone.trim() === "" || Number.isNaN(milliCelsius)
      ? {}
      : { temperature: Math.round(milliCelsius / 1000) }),
    ...(board === "" ? {} : { board: board.trim() }),
    ...(slot === undefined ? {} : { slot }),
    networks,
  };
}

type FolderFacts = Omit<Disk, "folders"> & { readonly folder: string; readonly device: number };

// While a network drive does not answer, at most one check of it runs, however many callers ask.
const looks = new Map<string, Promise<FolderFacts | undefined>>();

/**
 * The disks of the folders. Folders of one file system are one disk. A folder that is missing or does not answer in
 * time is left out.
 */
export async function diskFacts(folders: readonly string[]): Promise<readonly Disk[]> {
  const found = await Promise.all([...new Set(folders)].map(inTime));
  const disks = new Map<number, Disk>();
  for (const one of found) {
    if (one === undefined) continue;
    const { folder, device, ...sizes } = one;
    disks.set(device, { folders: [...(disks.get(device)?.folders ?? []), folder], ...sizes });
  }
  return [...disks.values()];
}

function inTime(folder: string): Promise<FolderFacts | undefined> {
  const look = looks.get(folder) ?? factsOf(folder).finally(() => looks.delete(folder));
  looks.set(folder, look);
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), mediaFolderMsMax);
  return Promise.race([look, late.promise]).finally(() => clearTimeout(timer));
}

async function factsOf(folder: string): Promise<FolderFacts | undefined> {
  try {
    const [{ dev }, { bavail, blocks, bsize }] = await Promise.all([stat(folder), statfs(folder)]);
    return { folder, device: dev, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    // `health` reports a missing folder.
    return undefined;
  }
}

async function networkFacts(): Promise<readonly NetworkFacts[]> {
  const known = interfaces();
  const [names, wireless] = await Promise.all([
    readdir("/sys/class/net").catch(() => Object.keys(known)),
    textOf("/proc/net/wireless"),
  ]);
  return Promise.all(
    names
      .filter((name) => !isInnerInterface(name))
      .toSorted()
      .map(async (name) => {
        const folder = join("/sys/class/net", name);
        const state = (await textOf(join(folder, "operstate"))).trim();
        const addresses = (known[name] ?? []).map(({ address }) => address);
        // A line has status, link and level, such as `wlan0: 0000   54.  -56.  -256 ...` (wireless.h, iw_quality).
        const level = new RegExp(`^\\s*${RegExp.escape(name)}:\\s+\\S+\\s+\\S+\\s+(-\\d+)`, "m").exec(
          wireless,
        )?.[1];
        return {
          name,
          isWireless: existsSync(join(folder, "wireless")),
          isUp: state === "up" || (state !== "down" && addresses.length > 0),
          addresses,
          ...(level === undefined ? {} : { signalDbm: Number(level) }),
        };
      }),
  );
}

async function textOf(path: string): Promise<string> {
  // Some kernels and boards lack some of these files.
  return readFile(path, "utf8").catch(() => "");
}
