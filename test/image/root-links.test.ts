/**
 * root's scripts of the image, and links of the service's user. `strace` lists the paths that a script touches in folders
 * that others may write. A link at each of these paths must not lead root to another place: the script runs again, and
 * all other files stay unchanged.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmod,
  chown,
  copyFile,
  cp,
  lchown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);
/** The service's user on the image (overlay/etc/passwd). */
const user = 900;
/** The folders that the service's user may write; root makes these themselves in folders of its own. */
const othersFolders = ["/data/config", "/data/tapdeck", "/run/tapdeck"];
/** Folders of root that the user would like to change. */
const rootsFolders = ["outside", "data/state", "data/state/dropbear", "boot", "etc", "run/conf"];

interface Script {
  readonly command: readonly string[];
  /** The paths that the script touches below `othersFolders`. */
  readonly touches: readonly string[];
  /** A file whose existence shows that the script did its work in spite of the links. */
  readonly leaves?: string;
}

/** All scripts of root that name one of the folders: a case below compares this list with the tree. */
const scripts: Readonly<Record<string, Script>> = {
  "etc/init.d/S11data": {
    command: ["/etc/init.d/S11data", "start"],
    touches: ["config/tapdeck", "bios", "media", "saves", "screenshots", "states"].map(ofData),
  },
  "etc/init.d/S50dropbear": {
    command: ["/etc/init.d/S50dropbear", "start"],
    touches: ["bios", "media"].map(ofData),
  },
  "usr/lib/tapdeck/share-serve": {
    command: ["/usr/lib/tapdeck/share-serve"],
    touches: ["media"].map(ofData),
    // Its server is not there.
    leaves: "run/faults/share-failed",
  },
  "etc/init.d/S92update": { command: ["/etc/init.d/S92update", "start"], touches: [] },
  "usr/lib/tapdeck/data-in-memory": {
    command: ["/usr/lib/tapdeck/data-in-memory", "/dev/mmcblk0p4"],
    touches: [
      ...["/data/config/.probe", "/data/config/tapdeck", "/data/config/tapdeck/.probe"],
      ...["/data/tapdeck/.probe", "/data/tapdeck/media", "/data/tapdeck/media/.probe"],
      // `ls` looks at each name.
      ...["/data/tapdeck/bios", "/data/tapdeck/saves"],
    ],
  },
  "usr/lib/tapdeck/serve": {
    command: ["/usr/lib/tapdeck/serve"],
    touches: ["/run/tapdeck/tmp"],
    leaves: "run/started",
  },
  "usr/lib/tapdeck/clock-set": { command: ["/usr/lib/tapdeck/clock-set"], touches: [] },
  package: { command: ["/package", "start"], touches: [] },
};

function ofData(name: string): string {
  return name.startsWith("config/") ? `/data/${name}` : `/data/tapdeck/${name}`;
}

/**
 * Scripts that only pass the folders to a program that acts as their owner (src/core/as-owner.ts), or that run as the
 * service's user.
 */
const asOwner = ["usr/lib/tapdeck/machine", "usr/lib/tapdeck/try-update", "usr/lib/tapdeck/players/mpv"];

/**
 * Stand-ins for programs that need a machine. The stand-in for `mount` leaves a file in the folder outside if that folder
 * is mounted, because the mount would open it to others.
 */
const stubs: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["umount", "modprobe", "logger", "resize2fs", "start-stop-daemon"].map((name) => [`bin/${name}`, "true"]),
  ),
  "bin/mount": `[ "$2" != bind ] || case "$(readlink -f "$3")" in /outside/folder) : >/outside/folder/mounted ;; esac`,
  "bin/dropbear": "true",
  "usr/bin/tapdeck-watchdog": "echo started >/run/started",
  "usr/lib/tapdeck/partition": "echo /dev/mmcblk0p$1",
  "usr/lib/tapdeck/grow": "true",
  "usr/lib/tapdeck/check-data": "true",
};

let machine = "";
const at = (path: string) => join(machine, path);

beforeAll(async () => {
  if (process.getuid?.() !== 0) return;
  machine = await mkdtemp(join(tmpdir(), "tapdeck-links-"));
  await chmod(machine, 0o755);
  const busybox = Bun.which("busybox") ?? "";
  const libraries = (await run(["ldd", busybox]).catch(() => "")).match(/\/\S+(?= \()/g) ?? [];
  for (const path of [busybox, ...libraries]) {
    await mkdir(dirname(at(path)), { recursive: true });
    await copyFile(path, at(path));
  }
  for (const name of ["bin", "usr/bin", "usr/lib", "dev", "proc"]) await mkdir(at(name), { recursive: true });
  await writeFile(at("proc/cmdline"), "quiet tapdeck.slot=a\n");
  await run(["chroot", machine, busybox, "--install", "-s", "/bin"]);
  await cp(join(root, "overlay/etc"), at("etc"), { recursive: true, verbatimSymlinks: true });
  await cp(join(root, "overlay/usr/lib/tapdeck"), at("usr/lib/tapdeck"), { recursive: true });
  const serve = await readFile(at("usr/lib/tapdeck/serve"), "utf8");
  // A test may lack the right to raise its limits, so the line is left out.
  await writeFile(at("usr/lib/tapdeck/serve"), serve.replace(/^ulimit .*$/gm, ""));
  await copyFile(join(root, "buildroot/package/tapdeck/S90tapdeck"), at("package"));
  await chmod(at("package"), 0o755);
  for (const [name, text] of Object.entries(stubs)) {
    await rm(at(name), { force: true });
    await writeFile(at(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
});

afterAll(() => rm(machine, { recursive: true, force: true }));

/** Makes a machine that has run before, with files of root that nobody else may change. */
async function reset(): Promise<void> {
  for (const name of ["data", "run", "outside", "boot", "var"])
    await rm(at(name), { recursive: true, force: true });
  for (const name of [...rootsFolders, "outside/folder", "var/run"])
    await mkdir(at(name), { recursive: true });
  await chmod(at("data/state"), 0o710);
  await chmod(at("data/state/dropbear"), 0o700);
  await chown(at("data/state"), 0, user);
  const conf = { staff_key: "5a".repeat(32), ca_file: "ca.pem", ssh_key: "ssh-ed25519 AAAA" };
  for (const [name, text] of Object.entries(conf)) await writeFile(at(`run/conf/${name}`), `${text}\n`);
  await writeFile(at("boot/ca.pem"), "CA\n");
  await writeFile(at("boot/config.txt"), "os_prefix=slot-a/\n");
  for (const name of ["outside/file", "outside/folder/file", "data/state/update", "data/state/clock"])
    await writeFile(at(name), "root's\n", { mode: 0o600 });
  for (const folder of othersFolders) await mkdir(at(folder), { recursive: true });
  const usual = ["config/tapdeck", "tapdeck/media", "tapdeck/bios", "tapdeck/saves"];
  for (const name of usual) await mkdir(at(`data/${name}`));
  await mkdir(at("run/tapdeck/tmp"));
  for (const folder of othersFolders)
    for (const name of ["", ...(await readdir(at(folder)))]) await chown(at(join(folder, name)), user, user);
}

/** Runs a script in the machine, after the words of `tracer`. */
async function start({ command }: Script, tracer: readonly string[] = []): Promise<void> {
  const child = Bun.spawn([...tracer, "chroot", machine, ...command], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0)
    throw new Error(`${command.join(" ")} ended with ${child.exitCode}: ${said}`);
}

/** Runs a script in the machine; resolves with the paths of its system calls. */
async function traced(script: Script): Promise<ReadonlySet<string>> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-trace-"));
  try {
    await start(script, ["strace", "-ff", "-qq", "-e", "trace=%file,%process", "-o", join(folder, "of")]);
    const calls = new Map<string, string>();
    for (const name of await readdir(folder))
      calls.set(name.replace("of.", ""), await readFile(join(folder, name), "utf8"));
    const children = new Set(
      [...calls.values()].flatMap((text) => [...text.matchAll(forked)].map(([, pid = ""]) => pid)),
    );
    const first = [...calls.keys()].filter((pid) => !children.has(pid));
    return new Set(first.flatMap((pid) => pathsIn(calls, pid, "/")));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const forked = /^(?:clone3?|v?fork)\(.* = (\d+)$/gm;

/** The paths that a process and its children name, each resolved against its folder at that moment. */
function pathsIn(calls: ReadonlyMap<string, string>, pid: string, folder: string): readonly string[] {
  const found: string[] = [];
  let here = folder;
  for (const line of calls.get(pid)?.split("\n") ?? []) {
    const [, child] = /^(?:clone3?|v?fork)\(.* = (\d+)$/.exec(line) ?? [];
    if (child !== undefined) found.push(...pathsIn(calls, child, here));
    // The words of a command are no paths.
    if (line.startsWith("execve(")) continue;
    const paths = [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => resolve(here, text));
    found.push(...paths);
    const [moved] = /^chdir\(.* = 0$/.test(line) ? paths : [];
    here = moved ?? here;
  }
  return found;
}

/** The paths below folders of others. The random end of a name is removed. */
function inOthersFolders(paths: ReadonlySet<string>): readonly string[] {
  const below = [...paths].filter((path) => othersFolders.some((folder) => path.startsWith(`${folder}/`)));
  return [...new Set(below.map((path) => path.replace(/(\/\.probe)\.\w{6}$/, "$1")))].sort();
}

/** The content of root's folders: each entry with its mode, owner, time and content. */
async function state(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const folder of rootsFolders)
    for (const name of ["", ...(await readdir(at(folder), { recursive: true }))].sort()) {
      const path = at(join(folder, name));
      const facts = await lstat(path);
      const content = facts.isFile()
        ? await readFile(path, "latin1")
        : facts.isSymbolicLink()
          ? await readlink(path)
          : "";
      const { mode, uid, gid, mtimeMs } = facts;
      // root itself writes to this folder, so its time changes.
      const time = path === at("data/state") ? "" : mtimeMs;
      found.push([join(folder, name), mode.toString(8), uid, gid, time, content].join(" "));
    }
  return found;
}

/** The files by which the user replaces a path. */
const plants: Readonly<Record<string, (path: string) => Promise<void>>> = {
  "a link to a folder": (path) => symlink("/outside/folder", path),
  "a link to a file": (path) => symlink("/outside/file", path),
  "a link to nothing": (path) => symlink("/outside/new", path),
  "a second name of a file": (path) => link(at("outside/file"), path),
};

for (const [name, script] of Object.entries(scripts)) {
  rootTest(`${name} touches few paths in folders of others`, async () => {
    await reset();
    expect(inOthersFolders(await traced(script))).toEqual([...script.touches].sort());
  });

  rootTest(`${name} changes nothing outside, whatever the user puts at these paths`, async () => {
    await reset();
    const touched = inOthersFolders(await traced(script));
    // The name is one that no script knows, because only a recursive command would find it.
    const paths = [...touched, ...othersFolders.map((folder) => `${folder}/planted`)];
    for (const path of paths)
      for (const [what, plant] of Object.entries(plants)) {
        await reset();
        await rm(at(path), { recursive: true, force: true });
        await mkdir(dirname(at(path)), { recursive: true });
        await plant(at(path));
        if (what.startsWith("a link")) await lchown(at(path), user, user);
        const before = await state();
        await start(script);
        expect([path, what, await state()]).toEqual([path, what, before]);
        if (script.leaves !== undefined) await lstat(at(script.leaves));
      }
  });
}

rootTest("a new partition gets its folders, with their owners and modes", async () => {
  await reset();
  await rm(at("data"), { recursive: true });
  await mkdir(at("data"));
  await start({ command: ["/etc/init.d/S11data", "start"], touches: [] });
  const names = (await readdir(at("data"), { recursive: true })).sort();
  const facts = await Promise.all(
    names.map(async (name) => {
      const { mode, uid, gid } = await lstat(at(join("data", name)));
      return `${name} ${(mode & 0o777).toString(8)} ${uid}:${gid}`;
    }),
  );
  expect(facts).toEqual([
    ...["config 700 900:900", "config/tapdeck 700 900:900", "state 710 0:900", "tapdeck 700 900:900"],
    ...["tapdeck/bios 775 900:901", "tapdeck/media 775 900:901", "tapdeck/saves 755 900:900"],
    ...["tapdeck/screenshots 755 900:900", "tapdeck/states 755 900:900"],
  ]);
});

test.skipIf(process.getuid?.() !== 0 || Bun.which("systemd-tmpfiles") === null)(
  "the Debian package's folder of media is not made through a link of the service's user",
  async () => {
    await reset();
    await mkdir(at("var/lib/tapdeck"), { recursive: true });
    await symlink(at("outside/folder"), at("var/lib/tapdeck/media"));
    for (const name of ["", "media"]) await lchown(at(join("var/lib/tapdeck", name)), user, user);
    const before = await state();
    const words = ["--create", join(root, "packaging/systemd/tmpfiles.conf")];
    const child = Bun.spawnSync(["systemd-tmpfiles", `--root=${machine}`, ...words]);
    expect(child.stderr.toString()).toContain("media");
    expect(await state()).toEqual(before);
  },
);

test("every script that names a folder of others is one of these", async () => {
  const named: string[] = [];
  for (const folder of ["etc/init.d", "usr/lib/tapdeck", "usr/lib/tapdeck/players"])
    for (const name of await readdir(join(root, "overlay", folder))) {
      const path = join(folder, name);
      if (!(await lstat(join(root, "overlay", path))).isFile()) continue;
      const text = await readFile(join(root, "overlay", path), "utf8");
      if (/\/(tmp|data\/(tapdeck|config)|run\/tapdeck)(?![-\w])/.test(text)) named.push(path);
    }
  expect(named.filter((path) => scripts[path] === undefined).sort()).toEqual([...asOwner].sort());
});
