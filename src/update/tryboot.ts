/**
 * Boot control by the Raspberry Pi's own firmware (its documentation, "config.txt": os_prefix, cmdline, tryboot). A plain
 * start reads config.txt; one that follows a restart with the word `tryboot` reads tryboot.txt, once: the mark lies in the
 * processor, and a loss of power or a reset by the watchdog clears it. Each file names the slot's folder, and in it the
 * kernel's command line, which names the slot's partition.
 */
import { exitCodes, StartError } from "../core/errors.ts";
import { type BootControl, type Slot, slotFolder } from "./slots.ts";
import { type BootFiles, removeFile, replaceFile } from "./update-paths.ts";

const keptPath = "config.txt";
const tryPath = "tryboot.txt";

export function createTryboot(files: BootFiles, running: Slot): BootControl {
  /** The system of a slot may bring settings of its own; else what is there goes on. */
  const settingsFor = async (slot: Slot) => {
    const own = await files.read(`${slotFolder(slot)}config.txt`);
    const text = own ?? (await files.read(keptPath)) ?? new Uint8Array();
    return configFor(new TextDecoder().decode(text), slot);
  };
  return {
    running: async () => running,
    async kept() {
      const slot = slotOfConfig(new TextDecoder().decode(await files.read(keptPath)));
      if (slot === undefined)
        throw new StartError(
          exitCodes.failed,
          "config.txt on the boot partition names no slot: its line os_prefix=slot-a/ or os_prefix=slot-b/ is missing",
        );
      return slot;
    },
    tryOnce: async (slot) => replaceFile(files, tryPath, await settingsFor(slot)),
    disarm: () => removeFile(files, tryPath),
    async keep(slot) {
      await replaceFile(files, keptPath, await settingsFor(slot));
      await removeFile(files, tryPath);
    },
    // Partition 0 is "the one you started from" (firmware documentation, "tryboot").
    restart: ["tapdeck-reboot", "0 tryboot"],
    needs: (slot) => ["Image", commandLineName(slot)],
  };
}

/** The slot of the last `os_prefix`; undefined where it names none. */
export function slotOfConfig(text: string): Slot | undefined {
  const [slot] = [...text.matchAll(/^os_prefix=slot-([ab])\/\s*$/gm)].map(([, found]) => found).slice(-1);
  return slot === "a" || slot === "b" ? slot : undefined;
}

/** The same settings for another slot: two lines at the top, before any section of one board only. */
export function configFor(text: string, slot: Slot): string {
  const others = text.split("\n").filter((line) => !/^(os_prefix|cmdline)=/.test(line));
  return [`os_prefix=${slotFolder(slot)}`, `cmdline=${commandLineName(slot)}`, ...others].join("\n");
}

/** Each slot's folder holds both, so that one bundle fits either slot: the folder that is read is the one in use. */
function commandLineName(slot: Slot): string {
  return `cmdline-${slot}.txt`;
}
