/** Commands that root runs on the files of another user: they act as that user, and a link there leads root nowhere. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import {
  chmod,
  chown,
  lchown,
  lstat,
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
import { gunzipSync } from "node:zlib";
import { keepBackup } from "../../src/backup/make-backup.ts";
import { backupOffline, restoreOffline } from "../../src/backup/offline.ts";
import { openStore } from "../../src/store/open.ts";
import { program } from "../helpers/tapdeck.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);
const user = 12_345;
const secret = "only root knows this\n";

/** A folder of root. The place has `data`, the folder of the user, and files of root that nobody else may read. */
let folder = "";
const at = (path: string) => join(folder, path);

beforeEach(async () => {
  await rm(folder, { recursive: true, force: true });
  folder = await mkdtemp(join(tmpdir(), "tapdeck-root-"));
  await chmod(folder, 0o755);
  await mkdir(at("outside/folder"), { recursive: true, mode: 0o700 });
  await chmod(at("outside"), 0o755);
  for (const name of ["outside/file", "outside/folder/file"])
    await writeFile(at(name), secret, { mode: 0o600 });
  await mkdir(at("data/mappings"), { recursive: true });
  const mapping = '[[mapping]]\ntype = "uid"\npattern = "04"\noverride = "x"\n';
  await writeFile(at("data/mappings/own.toml"), mapping);
  await writeFile(at("data/config.toml"), "[api]\ntls_port = 0\n");
  openStore(at("data")).close();
  for (const name of ["", ...(await readdir(at("data"), { recursive: true }))])
    await chown(at(join("data", name)), user, user);
  await mkdir(at("own"), { mode: 0o700 });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const places = () => ({ dataFolder: at("data"), configPath: at("data/config.toml") });

async function tapdeck(...words: readonly string[]) {
  const child = Bun.spawn([program, ...words, `--data=${at("data")}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, error };
}

/** Each file of root with its mode, owner and times. One of the times changes with the content. */
async function outside(): Promise<readonly string[]> {
  const names = ["", ...(await readdir(at("outside"), { recursive: true }))].sort();
  return Promise.all(
    names.map(async (name) => {
      const { mode, uid, gid, mtimeMs, ctimeMs } = await lstat(at(join("outside", name)));
      return [name, mode.toString(8), uid, gid, mtimeMs, ctimeMs].join(" ");
    }),
  );
}

async function plant(path: string, target: string): Promise<void> {
  await rm(at(path), { recursive: true, force: true });
  await mkdir(dirname(at(path)), { recursive: true });
  await chown(dirname(at(path)), user, user);
  await symlink(at(target), at(path));
  await lchown(at(path), user, user);
}

/** The names of the files below the data folder that do not belong to the user. */
async function foreign(): Promise<readonly string[]> {
  const names = await readdir(at("data"), { recursive: true });
  const owners = await Promise.all(
    names.map(async (name) => ({ name, ...(await lstat(at(join("data", name)))) })),
  );
  return owners.filter(({ uid, gid }) => uid !== user || gid !== user).map(({ name }) => name);
}

async function aBackup(): Promise<string> {
  const file = at("own/one.tapdeck");
  expect(await tapdeck("backup", file)).toMatchObject({ code: 0, error: "" });
  return file;
}

rootTest(
  "a backup by root is root's file, and makes nothing of root's in the folder of the user",
  async () => {
    const file = await aBackup();
    const { uid, mode } = await stat(file);
    expect([uid, mode & 0o777, await foreign()]).toEqual([0, 0o600, []]);
  },
);

rootTest("all that a restore by root makes belongs to the user", async () => {
  const file = await aBackup();
  await rm(at("data/config.toml"));
  await rm(at("data/mappings"), { recursive: true });
  expect(await tapdeck("restore", file)).toMatchObject({ code: 0, error: "" });
  expect(await readdir(at("data/mappings"))).toEqual(["own.toml"]);
  expect(await readdir(at("data/backups"))).toEqual(["before-restore-1.tapdeck"]);
  expect(await foreign()).toEqual([]);
});

rootTest("a backup before an update belongs to the user", async () => {
  expect(await backupOffline(places(), { before: "update" })).toMatchObject({
    kept: "before-update-1.tapdeck",
  });
  expect([process.geteuid?.(), process.getegid?.(), await foreign()]).toEqual([0, 0, []]);
});

rootTest(
  "a service that root runs gives its backups to the user, and nothing that a link leads to",
  async () => {
    const { kept } = await keepBackup("restore", places());
    expect([kept, await foreign()]).toEqual(["before-restore-1.tapdeck", []]);
    await plant("data/backups", "outside/folder");
    await keepBackup("restore", places());
    const owners = (await outside()).map((line) => line.split(" ").slice(-4, -2));
    expect(owners).toEqual(owners.map(() => ["0", "0"]));
  },
);

rootTest("a link to a file that only root may read is no part of a backup by root", async () => {
  await plant("data/mappings/link.toml", "outside/file");
  const file = at("own/two.tapdeck");
  const { code, error } = await tapdeck("backup", file);
  expect([code, error]).toEqual([0, expect.stringContaining("left out: the mapping file link.toml")]);
  const bytes = await readFile(file);
  const text = gunzipSync(bytes.subarray(bytes.indexOf("\n") + 1)).toString();
  expect(text).toContain("own.toml");
  expect(text).not.toContain(secret.trim());
});

rootTest(
  "settings that are a link to a file of root are not read, and no complaint quotes them",
  async () => {
    await plant("data/config.toml", "outside/file");
    for (const words of [["readers"], ["update", "--status"]]) {
      const { code, out, error } = await tapdeck(...words);
      expect([words, code]).toEqual([words, expect.any(Number)]);
      expect(out + error).not.toContain("only root");
      expect(out + error).toMatch(/EACCES|permission|may not/i);
    }
  },
);

rootTest("settings that root writes to the folder of a user belong to that user", async () => {
  await rm(at("data/config.toml"));
  expect(await tapdeck("config", "--write")).toMatchObject({ code: 0 });
  expect(await foreign()).toEqual([]);
});

rootTest("root restores a file of its own, and no link of the user that leads to one", async () => {
  const file = await aBackup();
  await symlink(file, at("data/link.tapdeck"));
  await lchown(at("data/link.tapdeck"), user, user);
  const { code, error } = await tapdeck("restore", at("data/link.tapdeck"));
  expect([code, error]).toEqual([1, expect.stringContaining("the backup cannot be read")]);
  expect(await tapdeck("restore", file)).toMatchObject({ code: 0, error: "" });
});

/** The paths below the data folder that a command of root names in its system calls. */
async function touched(...words: readonly string[]): Promise<readonly string[]> {
  const trace = at("trace");
  const command = [program, ...words, `--data=${at("data")}`];
  const child = Bun.spawn(["strace", "-f", "-qq", "-e", "trace=%file", "-o", trace, ...command], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  expect([words, await child.exited]).toEqual([words, 0]);
  const paths = [...(await readFile(trace, "utf8")).matchAll(/"([^"]*)"/g)].map(([, path = ""]) => path);
  const below = paths.filter((path) => path.startsWith(`${at("data")}/`));
  return [...new Set(below.map((path) => path.slice(folder.length + 1).replace(/\/$/, "")))].sort();
}

rootTest(
  "whatever the user puts at the paths of a backup, a restore and an update, root's files stay as they are",
  async () => {
    const file = await aBackup();
    const kept = at("own/kept.tapdeck");
    const paths = new Set([
      ...(await touched("restore", file)),
      ...(await touched("backup", kept)),
      // Names that the commands above create, which were not there at the restore.
      ...["data/backups/before-update.new", "data/backups/before-update-1.tapdeck", "data/tls/owner-key.pem"],
    ]);
    expect([...paths]).toContain("data/backups");
    expect(paths.size).toBeGreaterThan(15);
    for (const path of paths)
      for (const target of ["outside/folder", "outside/file", "outside/new"]) {
        await plant(path, target);
        const before = await outside();
        await backupOffline(places(), { before: "update" }).catch(() => {}); // Both commands may refuse.
        expect([path, target, await outside()]).toEqual([path, target, before]);
        await restoreOffline(file, places(), { passphrase: undefined, isTrial: false }).catch(() => {});
        expect([path, target, await outside()]).toEqual([path, target, before]);
        await rm(at(path), { recursive: true, force: true });
      }
  },
  120_000,
);
