/**
 * The two slots of a system that updates itself: one runs, the other is written. The board starts the kept slot, unless
 * the other slot is armed for one try. A tried slot is kept only by an explicit `keep`.
 */
import { exitFailure } from "../core/errors.ts";
import { type BootFiles, removeFile, replaceFile } from "./disk.ts";

export type BootSlot = "a" | "b";

export const slots: readonly BootSlot[] = ["a", "b"];

export function otherSlot(slot: BootSlot): BootSlot {
  return slot === "a" ? "b" : "a";
}

/** The folder of a slot's kernel on the boot partition, with a slash at the end. */
export function slotFolder(slot: BootSlot): string {
  return `slot-${slot}/`;
}

/** Decides which slot starts. Each change is atomic, and on the disk when its promise resolves. */
export interface BootControl {
  /** The slot that this system was started from. */
  readonly running: BootSlot;
  /** The slot that a plain start boots. */
  kept(): Promise<BootSlot>;
  /** Arms a slot: the next start, made by `restart`, boots this slot. The start after that boots the kept slot again. */
  tryOnce(slot: BootSlot): Promise<void>;
  /** Undoes `tryOnce`. */
  disarm(): Promise<void>;
  /** Makes this slot the one that a plain start boots from now on. */
  keep(slot: BootSlot): Promise<void>;
  /** The command that restarts the machine in order, into the slot of `tryOnce`. */
  readonly restart: readonly string[];
  /** The files that a slot's folder must hold. Without them it would not start. */
  needs(slot: BootSlot): readonly string[];
}

/**
 * Boot control by the firmware of the Raspberry Pi (its documentation, "config.txt": os_prefix, cmdline, tryboot). A plain
 * start reads config.txt. A start after a restart with the word `tryboot` reads tryboot.txt, once. The flag is in the
 * processor, and a power cut or a reset by the watchdog clears it. Each file names the slot's folder, and in it the
 * kernel's command line, which names the slot's partition.
 */
export function createTryboot(files: BootFiles, running: BootSlot): BootControl {
  /** The slot's own settings if they exist, otherwise the kept ones. */
  const settingsFor = async (slot: BootSlot) => {
    const own = await files.read(`${slotFolder(slot)}config.txt`);
    const text = own ?? (await files.read(configPath)) ?? new Uint8Array();
    return configFor(new TextDecoder().decode(text), slot);
  };
  return {
    running,
    async kept() {
      const slot = slotOfConfig(new TextDecoder().decode(await files.read(configPath)));
      if (slot === undefined)
        throw exitFailure(
          "config.txt on the boot partition names no slot: its line os_prefix=slot-a/ or os_prefix=slot-b/ is missing",
        );
      return slot;
    },
    tryOnce: async (slot) => replaceFile(files, tryPath, await settingsFor(slot)),
    disarm: () => removeFile(files, tryPath),
    async keep(slot) {
      await replaceFile(files, configPath, await settingsFor(slot));
      await removeFile(files, tryPath);
    },
    // Partition 0 is "the one you started from" (firmware documentation, "tryboot").
    restart: ["tapdeck-reboot", "0 tryboot"],
    needs: (slot) => ["Image", commandLineName(slot)],
  };
}

const configPath = "config.txt";
const tryPath = "tryboot.txt";

/** The slot of the last `os_prefix`; undefined if there is none. */
export function slotOfConfig(text: string): BootSlot | undefined {
  return slotIn([...text.matchAll(/^os_prefix=slot-([ab])\/\s*$/gm)].at(-1));
}

/** The same settings for another slot: two lines at the top, before any section of one board only. */
export function configFor(text: string, slot: BootSlot): string {
  const others = text.split("\n").filter((line) => !/^(os_prefix|cmdline)=/.test(line));
  return [`os_prefix=${slotFolder(slot)}`, `cmdline=${commandLineName(slot)}`, ...others].join("\n");
}

/** The folder of each slot holds both files, so one bundle fits either slot. */
function commandLineName(slot: BootSlot): string {
  return `cmdline-${slot}.txt`;
}

/**
 * Boot control by U-Boot and the script boot.scr (buildroot/board/qemu/boot.cmd), which reads two small files of the boot
 * partition. Only this program writes `kept.env`, by rename. The script changes one digit of `trial.env` in place before it
 * starts the slot. The start after a trial therefore boots the kept slot, whatever the result of the trial is.
 *
 *   kept.env   slot=a                trial.env  tries=1     0 after the try; the digit is at offset 6
 *              end=yes                          slot=b
 *                                               end=yes     a file without this line does not count
 */
export function createUboot(files: BootFiles, running: BootSlot): BootControl {
  return {
    running,
    async kept() {
      const slot = slotOfKept(new TextDecoder().decode(await files.read(keptPath)));
      if (slot === undefined) throw exitFailure("kept.env on the boot partition names no slot");
      return slot;
    },
    tryOnce: (slot) => replaceFile(files, trialPath, `tries=1\nslot=${slot}\nend=yes\n`),
    disarm: () => removeFile(files, trialPath),
    async keep(slot) {
      await replaceFile(files, keptPath, keptText(slot));
      await removeFile(files, trialPath);
    },
    restart: ["tapdeck-reboot"],
    needs: () => ["Image"], // Only the stand-in image also has an initrd.
  };
}

const keptPath = "kept.env";
const trialPath = "trial.env";

export function keptText(slot: BootSlot): string {
  return `slot=${slot}\nend=yes\n`;
}

export function slotOfKept(text: string): BootSlot | undefined {
  return slotIn(/^slot=([ab])\nend=yes\n$/.exec(text));
}

function slotIn(match: RegExpExecArray | null | undefined): BootSlot | undefined {
  return slots.find((slot) => slot === match?.[1]);
}

/** Chooses the boot control by the files of the boot partition. */
export async function bootControlOf(files: BootFiles, running: BootSlot): Promise<BootControl> {
  if ((await files.read(keptPath)) !== undefined) return createUboot(files, running);
  const config = new TextDecoder().decode(await files.read(configPath));
  if (slotOfConfig(config) !== undefined) return createTryboot(files, running);
  throw exitFailure(
    "the boot partition does not say which slot starts: is it mounted at /boot, and is config.txt whole?",
  );
}
