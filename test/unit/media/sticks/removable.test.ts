/** Folders that appear in a folder for mounts of USB sticks: those that count, and the times. */
import { afterEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { systemClock } from "../../../../src/core/clock.ts";
import { sticksMax } from "../../../../src/core/limits.ts";
import { watchRemovable } from "../../../../src/media/sticks/removable.ts";
import { eventually } from "../../../helpers/processes.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function watched() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-removable-"));
  const usb = join(folder, "media/usb");
  const told: string[][] = [];
  const watching = watchRemovable({
    clock: systemClock,
    changed: (present) => told.push(present.map((path) => basename(path))),
  });
  closing.push(async () => {
    watching[Symbol.dispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const stick = async (name: string, where = usb) => {
    await mkdir(join(folder, "drawer", name), { recursive: true });
    await writeFile(join(folder, "drawer", name, "file"), "");
    await rename(join(folder, "drawer", name), join(where, name));
  };
  return { folder, usb, told, watching, stick };
}

test("a stick is reported when it comes and when it goes, also if the folder for it is made later", async () => {
  const { usb, told, watching, stick } = await watched();
  watching.aim([usb]);
  await mkdir(usb, { recursive: true });
  await stick("ONE");
  await eventually(() => expect(told.at(-1)?.join()).toBe("ONE"));
  await stick("TWO");
  await eventually(() => expect(told.at(-1)?.join()).toBe("ONE,TWO"));
  await rm(join(usb, "ONE"), { recursive: true });
  await eventually(() => expect(told.at(-1)?.join()).toBe("TWO"));
  watching.aim([]);
  await eventually(() => expect(told.at(-1)?.join()).toBe(""));
});

test("files, links, hidden and empty folders are no sticks, and no more count than may", async () => {
  const { folder, usb, told, watching, stick } = await watched();
  await mkdir(join(usb, "EMPTY"), { recursive: true });
  await mkdir(join(usb, ".hidden/SNES"), { recursive: true });
  await writeFile(join(usb, "file"), "");
  await symlink(folder, join(usb, "LINK"));
  for (let at = 0; at < sticksMax + 3; at++) await stick(`S${String(at).padStart(2, "0")}`);
  watching.aim([usb]);
  // The empty folder, which is the first by its name, takes the place of a stick.
  await eventually(() => expect(told.at(-1)?.length).toBe(sticksMax - 1));
  expect(told.at(-1)?.[0]).toBe("S00");
  // Once a file system is mounted on it, the folder counts. A mount causes no event, so the folder is checked again.
  await mkdir(join(usb, "EMPTY/SNES"));
  await eventually(() => expect(told.at(-1)).toContain("EMPTY"));
});
