/**
 * Boot control by U-Boot and the script boot.scr (buildroot/board/qemu/boot.cmd), which reads two small files of the boot
 * partition. `kept.env` is written here only, by rename. Of `trial.env` the script changes one digit in its place, before
 * it starts the slot: so a trial that ends in any way at all is followed by the kept slot.
 *
 *   kept.env   slot=a                trial.env  tries=1     0 once it was tried; the digit is at offset 6
 *              end=yes                          slot=b
 *                                               end=yes     a file without this line does not count
 */
import { exitCodes, StartError } from "../core/errors.ts";
import type { BootControl, Slot } from "./slots.ts";
import { type BootFiles, removeFile, replaceFile } from "./update-paths.ts";

const keptPath = "kept.env";
const trialPath = "trial.env";

export function createUboot(files: BootFiles, running: Slot): BootControl {
  return {
    running: async () => running,
    async kept() {
      const slot = slotOfKept(new TextDecoder().decode(await files.read(keptPath)));
      if (slot === undefined)
        throw new StartError(exitCodes.failed, "kept.env on the boot partition names no slot");
      return slot;
    },
    tryOnce: (slot) => replaceFile(files, trialPath, `tries=1\nslot=${slot}\nend=yes\n`),
    disarm: () => removeFile(files, trialPath),
    async keep(slot) {
      await replaceFile(files, keptPath, keptText(slot));
      await removeFile(files, trialPath);
    },
    restart: ["tapdeck-reboot"],
    needs: () => ["Image", "initrd"],
  };
}

export function keptText(slot: Slot): string {
  return `slot=${slot}\nend=yes\n`;
}

export function slotOfKept(text: string): Slot | undefined {
  const [, slot] = /^slot=([ab])\nend=yes\n$/.exec(text) ?? [];
  return slot === "a" || slot === "b" ? slot : undefined;
}
