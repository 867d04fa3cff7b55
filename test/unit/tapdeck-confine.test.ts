/** `tapdeck-confine` by itself: what it hides and allows, and how it says that it cannot. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const source = join(import.meta.dir, "../../watchdog/tapdeck-confine.c");
let folder = "";
let program = "";

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "tapdeck-confine-")));
  program = join(folder, "tapdeck-confine");
  const flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-static"];
  const built = Bun.spawnSync(["cc", ...flags, source, "-o", program]);
  expect(built.stderr.toString()).toBe("");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const ask = (...words: readonly string[]) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([program, ...words]);
  return { exitCode, out: stdout.toString(), error: stderr.toString() };
};

/** Files below the folder, by their paths; each holds its own path. */
async function put(...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), `${path}\n`);
  }
}

/** Of these files, those that a confined program reads. */
function readable(options: readonly string[], paths: readonly string[]): readonly string[] {
  const { out } = ask(...options, "--", "/bin/cat", "cat", ...paths.map((path) => join(folder, path)));
  return out.trim().split("\n");
}

test("it is short enough to be read whole", async () => {
  expect((await readFile(source, "utf8")).split("\n").length - 1).toBeLessThan(120);
});

test("what is hidden stays so, also where a part of it is named again", async () => {
  await put("a/secret", "a/inner/key", "a/inner/other", "b/media");
  const all = ["a/secret", "a/inner/key", "a/inner/other", "b/media"];
  const at = (path: string) => `--hide=${join(folder, path)}`;
  expect(readable([at("a/inner/key")], all)).toEqual(["a/secret", "a/inner/other", "b/media"]);
  expect(readable([at("a")], all)).toEqual(["b/media"]);
  expect(readable([at("a"), at("a/inner/key")], all)).toEqual(["b/media"]);
  expect(readable([at("a/inner/key"), at("a")], all)).toEqual(["b/media"]);
  // What begins with the same letters is another place.
  await put("ab/media");
  expect(readable([at("a")], ["ab/media"])).toEqual(["ab/media"]);
});

test("of an own folder, files are hidden, and folders and what begins with a dot are not", async () => {
  const all = ["own/db", "own/.dot", "own/.db.7.new", "own/.new", "own/folder/file", "own/.config/file"];
  await put(...all);
  const own = `--own=${join(folder, "own")}`;
  expect(readable([own], all)).toEqual(["own/.dot", "own/folder/file", "own/.config/file"]);
  const hide = `--hide=${join(folder, "own/folder")}`;
  expect(readable([own, hide], all)).toEqual(["own/.dot", "own/.config/file"]);
});

test("a link beside a hidden place opens nothing", async () => {
  await put("c/secret");
  for (const [name, target] of [
    ["to-all", "/"],
    ["to-above", folder],
    ["to-it", join(folder, "c")],
  ] as const)
    await symlink(target, join(folder, name));
  const paths = ["to-it/secret", "to-above/c/secret", `to-all${folder}/c/secret`];
  expect(readable([], paths)).toEqual(["c/secret", "c/secret", "c/secret"]);
  expect(readable([`--hide=${join(folder, "c")}`], paths)).toEqual([""]);
});

test("words, environment, descriptors and folder of the program are as they were", () => {
  const script =
    'printf "%s|" "$@"; echo "$PWD $NAME"; ls /proc/$$/fd; tr "\\0" "\\n" </proc/$$/cmdline | head -n 1';
  const words = ["/bin/sh", "called so", "-c", script, "sh", "", "a b", "--offline", "--"];
  const { stdout } = Bun.spawnSync([program, "--offline", `--hide=${folder}/none/x`, "--", ...words], {
    cwd: "/usr",
    env: { NAME: "kept", PATH: "/usr/bin:/bin" },
  });
  expect(stdout.toString().split("\n").filter(Boolean)).toEqual([
    "|a b|--offline|--|/usr kept",
    "0",
    "1",
    "2",
    "called so",
  ]);
});

test("a player without a network outlives the reader of its output, and any other program does not", () => {
  // The bit of SIGPIPE, 13, in the mask of ignored signals (proc_pid_status(5)).
  const ignoresPipe = (...options: readonly string[]) => {
    const { out } = ask(...options, "--", "/bin/grep", "grep", "SigIgn", "/proc/self/status");
    return (Number.parseInt(out.split(/\s+/)[1] ?? "", 16) & (1 << 12)) !== 0;
  };
  expect([ignoresPipe("--offline"), ignoresPipe()]).toEqual([true, false]);
});

test("each refusal has its code and a sentence", async () => {
  await put("plain", "foreign");
  await chmod(join(folder, "foreign"), 0o755);
  expect(ask("--probe")).toEqual({ exitCode: 0, out: "", error: "" });
  const refused = (exitCode: number, why: string) => ({
    exitCode,
    out: "",
    error: `tapdeck-confine: ${why}\n`,
  });
  expect(ask()).toEqual(refused(64, "wrong usage: no program is named"));
  expect(ask("--", "/bin/true")).toEqual(refused(64, "wrong usage: no program is named"));
  expect(ask("--")).toEqual(refused(64, "wrong usage: no program is named"));
  expect(ask("--hide=relative", "--", "/bin/true", "true")).toEqual(
    refused(64, "--hide=relative: wrong usage"),
  );
  const many = Array.from({ length: 20 }, (_, n) => `--hide=/none/${n}`);
  expect(ask(...many, "--", "/bin/true", "true")).toEqual(refused(64, "--hide=/none/15: wrong usage"));
  expect(ask("--", "/no/such", "such")).toEqual(refused(127, "/no/such: there is no such program"));
  const [plain, foreign] = [join(folder, "plain"), join(folder, "foreign")];
  expect(ask("--", plain, "plain")).toEqual(refused(126, `${plain}: Permission denied`));
  expect(ask("--", foreign, "foreign")).toEqual(
    refused(126, `${foreign}: it is not a program for this machine`),
  );
});
