/**
 * The image and a USB stick, tested without a board. `usb-stick` runs in a root folder of its own, with programs that
 * note their arguments.
 */
import { expect, test } from "bun:test";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

const script = join(root, "overlay/usr/lib/tapdeck/usb-stick");

/** A root folder with a disk in it. */
interface Machine {
  /** Acts like mdev; resolves with the output. */
  event(name: string, action?: "add" | "remove", sequence?: string): Promise<string>;
  /**
   * Plugs a disk in: its sectors and, by partition (or "" for the disk itself), its file system and the answer of blkid.
   */
  plug(
    disk: string,
    sequence: number,
    parts: Readonly<Record<string, readonly [type: string, said: string]>>,
  ): Promise<void>;
  /** The kernel forgets the disk. */
  unplug(disk: string): Promise<void>;
  /** The mounts, unmounts and log lines so far, in order; a call forgets them. */
  done(): Promise<readonly string[]>;
  folders(): Promise<readonly string[]>;
  readonly folder: string;
}

const stubs: Readonly<Record<string, string>> = {
  mount: `[ "$(cat "$5.type" 2>/dev/null)" = "$2" ] || exit 32\necho "mount $2 $4 $5 $6" >>/run/done`,
  umount: `echo "umount $*" >>/run/done`,
  logger: `echo "logger $5" >>/run/done`,
  modprobe: "true",
  blkid: `cat "$2.blkid"`,
};

async function onMachine(work: (machine: Machine) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-usb-"));
  try {
    const busybox = Bun.which("busybox") ?? "";
    for (const program of [busybox, Bun.which("flock") ?? ""]) {
      const libraries = (await run(["ldd", program]).catch(() => "")).match(/\/\S+(?= \()/g) ?? [];
      for (const path of [program, ...libraries]) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await copyFile(path, join(folder, path));
      }
    }
    for (const name of ["bin", "run", "dev", "media/usb", "sys/class/block", "sys/dev/block"])
      await mkdir(join(folder, name), { recursive: true });
    await run(["chroot", folder, busybox, "--install", "-s", "/bin"]);
    for (const [name, text] of Object.entries(stubs)) {
      await rm(join(folder, "bin", name), { force: true });
      await writeFile(join(folder, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    }
    await copyFile(script, join(folder, "usb-stick"));
    await chmod(join(folder, "usb-stick"), 0o755);
    await work(machineIn(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function machineIn(folder: string): Machine {
  const at = (path: string) => join(folder, path);
  return {
    folder,
    async event(MDEV, ACTION = "add", sequence) {
      const child = Bun.spawn([Bun.which("chroot") ?? "chroot", folder, "/usb-stick"], {
        env: {
          PATH: "/bin:/usr/bin",
          MDEV,
          ACTION,
          ...(sequence === undefined ? {} : { DISKSEQ: sequence }),
        },
        stderr: "pipe",
      });
      const said = await new Response(child.stderr).text();
      expect([await child.exited, said]).toEqual([0, ""]);
      return said;
    },
    async plug(disk, sequence, parts) {
      const device = `sys/devices/usb1/block/${disk}`;
      for (const [number, [type, said]] of Object.entries(parts)) {
        const name = `${disk}${number}`;
        const own = number === "" ? device : `${device}/${name}`;
        await mkdir(at(own), { recursive: true });
        await writeFile(at(`${own}/size`), type === "extended" ? "2\n" : "204800\n");
        await symlink(`/${own}`, at(`sys/class/block/${name}`));
        await writeFile(at(`dev/${name}.type`), type);
        await writeFile(at(`dev/${name}.blkid`), `/dev/${name}: ${said}\n`);
      }
      await writeFile(at(`${device}/diskseq`), `${sequence}\n`);
      await writeFile(at(`${device}/size`), "409600\n");
      if (!("" in parts)) await symlink(`/${device}`, at(`sys/class/block/${disk}`));
    },
    async unplug(disk) {
      await rm(at(`sys/devices/usb1/block/${disk}`), { recursive: true });
      for (const name of await readdir(at("sys/class/block")))
        if (name.startsWith(disk)) await rm(at(`sys/class/block/${name}`));
    },
    async done() {
      const text = await readFile(at("run/done"), "utf8").catch(() => "");
      await rm(at("run/done"), { force: true });
      return text
        .trim()
        .split("\n")
        .filter((line) => line !== "");
    },
    folders: async () => (await readdir(at("media/usb"))).filter((name) => !name.startsWith(".")).sort(),
  };
}

const safe = "ro,nosuid,nodev,noexec";
const windows = "utf8,fmask=0133,dmask=0022";
const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)(
  "the partitions of a stick are mounted by their labels, for reading only, and its disk is not",
  () =>
    onMachine(async (machine) => {
      await machine.plug("sda", 7, {
        1: ["vfat", 'LABEL_FATBOOT="OLD" LABEL="GAMES" UUID="12-34" TYPE="vfat"'],
        2: ["exfat", 'LABEL="My films" TYPE="exfat"'],
        3: ["ext4", 'UUID="1" TYPE="ext4"'],
        4: ["extended", ""],
      });
      for (const name of ["sda", "sda1", "sda2", "sda3", "sda4"]) await machine.event(name);
      expect(await machine.done()).toEqual([
        `mount vfat ${safe},${windows} /dev/sda1 /media/usb/GAMES`,
        `mount exfat ${safe},fmask=0133,dmask=0022 /dev/sda2 /media/usb/My_films`,
        `mount ext4 ${safe},noload,errors=continue /dev/sda3 /media/usb/sda3`,
      ]);
      expect(await machine.folders()).toEqual(["GAMES", "My_films", "sda3"]);
      expect((await stat(join(machine.folder, "media/usb/GAMES"))).mode & 0o777).toBe(0o755);
      // The folder itself changes once a stick is readable, and the service sees that.
      await stat(join(machine.folder, "media/usb/.changed"));
      // A player that can open the lock could hold it.
      expect((await stat(join(machine.folder, "run/usb-sticks/sda1.lock"))).mode & 0o777).toBe(0o600);
    }),
);

test.skipIf(!isRoot)(
  "a stick without a partition table is mounted, and goes with its folder when it is pulled out",
  () =>
    onMachine(async (machine) => {
      await machine.plug("sdb", 3, { "": ["ntfs3", 'LABEL="" TYPE="ntfs"'] });
      await machine.event("sdb");
      // mdev reports devices of the start a second time.
      await machine.event("sdb");
      expect(await machine.done()).toEqual([
        `mount ntfs3 ${safe},fmask=0133,dmask=0022 /dev/sdb /media/usb/sdb`,
      ]);
      // The entry of the stick still exists while the kernel reports the removal.
      await machine.event("sdb", "remove", "3");
      await machine.unplug("sdb");
      expect(await machine.done()).toEqual(["umount -l /media/usb/sdb"]);
      expect(await machine.folders()).toEqual([]);
    }),
);

test.skipIf(!isRoot)("no label leads out of the folder, takes another stick's place, or is hidden", () =>
  onMachine(async (machine) => {
    const labels = [
      "../../etc",
      "..",
      ".hidden",
      "a/b",
      "GAMES",
      "GAMES",
      `"; reboot; "`,
      "Ünïcode\\x41 $(id)",
      "   ",
    ];
    await machine.plug(
      "sda",
      1,
      Object.fromEntries(
        labels.map((label, at) => [at + 1, ["vfat", `LABEL="${label}" TYPE="vfat"`] as const]),
      ),
    );
    for (const at of labels.keys()) await machine.event(`sda${at + 1}`);
    const folders = await machine.folders();
    expect(folders).toEqual([
      "GAMES",
      "GAMES-2",
      "a_b",
      "etc",
      "hidden",
      "n_code_x41_id",
      "sda2",
      "sda7",
      "sda9",
    ]);
    expect((await machine.done()).map((line) => line.split("/media/usb/")[1]).sort()).toEqual([...folders]);
  }),
);

test.skipIf(!isRoot)(
  "a stick that was changed for another one of the same name while nobody looked is no longer shown",
  () =>
    onMachine(async (machine) => {
      await machine.plug("sda", 1, { 1: ["vfat", 'LABEL="ONE"'] });
      await machine.event("sda1");
      await machine.unplug("sda");
      await machine.plug("sda", 2, { 1: ["vfat", 'LABEL="TWO"'] });
      await machine.event("sda1");
      // The removal of the first stick is reported last.
      await machine.event("sda1", "remove", "1");
      expect((await machine.done()).map((line) => line.replace(/-o.*|vfat.*\/dev/, ""))).toEqual([
        "mount /sda1 /media/usb/ONE",
        "umount -l /media/usb/ONE",
        "mount /sda1 /media/usb/TWO",
      ]);
      expect(await machine.folders()).toEqual(["TWO"]);
      await machine.event("sda1", "remove", "2");
      expect(await machine.folders()).toEqual([]);
    }),
);

test.skipIf(!isRoot)("two calls for one device at the same time mount it once", () =>
  onMachine(async (machine) => {
    await machine.plug("sda", 1, { 1: ["vfat", 'LABEL="ONE"'] });
    await Promise.all(Array.from({ length: 6 }, () => machine.event("sda1")));
    expect(await machine.done()).toHaveLength(1);
  }),
);

test.skipIf(!isRoot)("a broken file system is reported in the log, and leaves no folder", () =>
  onMachine(async (machine) => {
    await machine.plug("sda", 1, { 1: ["none", ""] });
    await machine.event("sda1");
    expect(await machine.done()).toEqual(["logger usb: sda1 has no file system that can be read"]);
    expect(await machine.folders()).toEqual([]);
    // A stick that was removed before its event was handled is not mounted either.
    await machine.unplug("sda");
    await machine.event("sda1");
    await machine.event("sda1", "remove", "1");
    expect(await machine.done()).toEqual([]);
  }),
);

test.skipIf(!isRoot)("the disk that the system runs from is left alone", () =>
  onMachine(async (machine) => {
    await machine.plug("sda", 1, { 1: ["vfat", 'LABEL="TAPDECK"'], 2: ["none", ""] });
    const device = (await stat(machine.folder)).dev;
    const number = `${(device >> 8) & 4095}:${(device & 255) | ((device >> 12) & 1048320)}`;
    await symlink("/sys/devices/usb1/block/sda/sda2", join(machine.folder, "sys/dev/block", number));
    await machine.event("sda1");
    expect([await machine.done(), await machine.folders()]).toEqual([[], []]);
  }),
);
