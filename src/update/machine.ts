/** The machine that is updated, as its image describes it: slot, board, version, whom it trusts, and its places. */
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitCodes, StartError } from "../core/errors.ts";
import { updateNoteBytesMax } from "../core/limits.ts";
import { bootFilesAt, forgetCaches, readNote, rootPartitionAt } from "./disk.ts";
import type { BootControl, Slot } from "./slots.ts";
import { createTryboot, slotOfConfig } from "./tryboot.ts";
import { createUboot } from "./uboot.ts";
import { readKeys } from "./update-bundle.ts";
import type { BootFiles, RootPartition } from "./update-paths.ts";

/** Where the image keeps what is asked for below. A test has places of its own. */
export interface MachinePaths {
  /** Holds `tapdeck.slot=a` or `b`. */
  readonly commandLine: string;
  /** Holds `tapdeck-release`, `tapdeck/board` and `tapdeck/update-keys`. */
  readonly settings: string;
  readonly boot: string;
  /** What an update leaves for the next start; outlives the slot. */
  readonly note: string;
  readonly partition: (slot: Slot) => Promise<string>;
  /** Lets the boot partition be written, or not any more. */
  readonly allowWriting: (allow: boolean) => Promise<void>;
  readonly forgetCaches: () => Promise<void>;
}

export const imagePaths: MachinePaths = {
  commandLine: "/proc/cmdline",
  settings: "/etc",
  boot: "/boot",
  note: "/data/state/update",
  partition: async (slot) => (await said(["/usr/lib/tapdeck/partition", slot === "a" ? "2" : "3"])).trim(),
  allowWriting: async (allow) =>
    void (await said(["mount", "-o", `remount,${allow ? "rw" : "ro"}`, "/boot"])),
  forgetCaches,
};

export interface Machine {
  readonly files: BootFiles;
  readonly control: BootControl;
  readonly board: string;
  readonly version: string;
  readonly keys: readonly Uint8Array[];
  root(slot: Slot): Promise<RootPartition>;
}

/** Throws a sentence where this machine has no slots, or its image is not what it should be. */
export async function openMachine(paths: MachinePaths): Promise<Machine> {
  const [, running] = /(?:^|\s)tapdeck\.slot=([ab])(?:\s|$)/.exec(await readNote(paths.commandLine)) ?? [];
  if (running !== "a" && running !== "b")
    throw new StartError(
      exitCodes.failed,
      "this system does not update itself: that is for Tapdeck's own image, which was started from one of two slots",
    );
  const files = bootFilesAt(paths.boot, paths.forgetCaches);
  const keys = readKeys(await readNote(join(paths.settings, "tapdeck/update-keys")));
  if (typeof keys === "string")
    throw new StartError(exitCodes.failed, `/etc/tapdeck/update-keys cannot be read: ${keys}`);
  return {
    files,
    control: await controlOf(files, running),
    board: (await readNote(join(paths.settings, "tapdeck/board"))).trim(),
    version: (await readNote(join(paths.settings, "tapdeck-release"))).trim().replace(/^Tapdeck /, ""),
    keys,
    root: async (slot) => rootPartitionAt(await paths.partition(slot), paths.forgetCaches),
  };
}

async function controlOf(files: BootFiles, running: Slot): Promise<BootControl> {
  if ((await files.read("kept.env")) !== undefined) return createUboot(files, running);
  const config = new TextDecoder().decode(await files.read("config.txt"));
  if (slotOfConfig(config) !== undefined) return createTryboot(files, running);
  throw new StartError(
    exitCodes.failed,
    "the boot partition does not say which slot starts: is it mounted at /boot, and is config.txt whole?",
  );
}

/** What the last update was, and how it went; the init script S92update reads and writes it, too. */
export interface Note {
  readonly event: "trying" | "kept" | "back";
  readonly slot: Slot;
  readonly version: string;
  /** What `GET /health` complained of before the update, and so is no fault of it; empty where all was well. */
  readonly excused: string;
}

/** Undefined where nothing was ever tried. */
export async function readUpdateNote(paths: MachinePaths): Promise<Note | undefined> {
  const [, event, slot, version = "", excused = ""] =
    /^event=([a-z]+) slot=([ab]) version=(\S+) excused=(.*)/.exec(await readNote(paths.note)) ?? [];
  if (event !== "trying" && event !== "kept" && event !== "back") return undefined;
  return { event, slot: slot === "b" ? "b" : "a", version, excused };
}

/** By rename; a card that is full keeps the old note, which is no reason to fail. */
export async function writeUpdateNote(paths: MachinePaths, note: Note): Promise<void> {
  const excused = note.excused.replace(/\s+/g, " ").slice(0, updateNoteBytesMax / 2);
  const line = `event=${note.event} slot=${note.slot} version=${note.version} excused=${excused}\n`;
  try {
    await writeFile(`${paths.note}.new`, line, { flush: true, mode: 0o600 });
    await rename(`${paths.note}.new`, paths.note);
  } catch {
    // It only tells people; which slot starts stands on the boot partition.
  }
}

async function said(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [text, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new StartError(exitCodes.failed, `${command.join(" ")}: ${complaint.trim()}`);
  return text;
}
