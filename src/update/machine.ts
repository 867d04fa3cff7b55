/** The machine to update, as its image describes it: slot, board, version, trusted keys and paths. */
import { join } from "node:path";
import { exitFailure } from "../core/errors.ts";
import { type BootSlot, bootControlOf } from "./boot-control.ts";
import { bootFilesAt, forgetCaches, readNote, rootPartitionAt } from "./disk.ts";

/** The paths of the image. A test has other paths. */
export interface MachinePaths {
  /** The file that holds `tapdeck.slot=a` or `b`. */
  readonly commandLine: string;
  /** The folder that holds `tapdeck-release`, `tapdeck/board` and `rauc/keyring.pem`. */
  readonly settings: string;
  readonly boot: string;
  /** The file of `UpdateNote`. It is on the data partition, so it outlives the slot. */
  readonly note: string;
  /** The place of a bundle that is fetched by its address, in a folder that only root writes. */
  readonly fetched: string;
  readonly partition: (slot: BootSlot) => Promise<string>;
  /** Remounts the boot partition for writing, or for reading only. */
  readonly allowWriting: (allow: boolean) => Promise<void>;
  readonly forgetCaches: () => Promise<void>;
}

export const imagePaths: MachinePaths = {
  commandLine: "/proc/cmdline",
  settings: "/etc",
  boot: "/boot",
  note: "/data/state/update",
  fetched: "/data/state/update.fetched",
  partition: async (slot) => (await said(["/usr/lib/tapdeck/partition", slot === "a" ? "2" : "3"])).trim(),
  allowWriting: async (allow) =>
    void (await said(["mount", "-o", `remount,${allow ? "rw" : "ro"}`, "/boot"])),
  forgetCaches,
};

/** The files of the service on the image, as overlay/usr/lib/tapdeck/serve places them. */
export const imageData = {
  dataFolder: "/data/tapdeck",
  configPath: "/data/config/tapdeck/config.toml",
} as const;

export type Machine = Awaited<ReturnType<typeof openMachine>>;

/** Throws a sentence if this machine has no slots, or its image is incomplete. */
export async function openMachine(paths: MachinePaths) {
  const [, running] = /(?:^|\s)tapdeck\.slot=([ab])(?:\s|$)/.exec(await readNote(paths.commandLine)) ?? [];
  if (running !== "a" && running !== "b")
    throw exitFailure(
      "this system does not update itself: that is for Tapdeck's own image, which was started from one of two slots",
    );
  const files = bootFilesAt(paths.boot, paths.forgetCaches);
  return {
    files,
    control: await bootControlOf(files, running),
    board: (await readNote(join(paths.settings, "tapdeck/board"))).trim(),
    version: (await readNote(join(paths.settings, "tapdeck-release"))).trim().replace(/^Tapdeck /, ""),
    /** Whether the maker of the image left an authority whose updates this machine installs. */
    hasAuthority: (await readNote(join(paths.settings, "rauc/keyring.pem"))) !== "",
    root: async (slot: BootSlot) => rootPartitionAt(await paths.partition(slot), paths.forgetCaches),
  };
}

async function said(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [text, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw exitFailure(`${command.join(" ")}: ${complaint.trim()}`);
  return text;
}
