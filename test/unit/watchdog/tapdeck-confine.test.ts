/** `tapdeck-confine` by itself: the hidden and allowed places, and the refusals. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, writeSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { hasMark } from "../../../src/system/player-mark.ts";
import { eventually } from "../../helpers/processes.ts";

const source = join(import.meta.dir, "../../../watchdog/tapdeck-confine.c");
const headers = ["places.h", "sockets.h", "spare.h"].map((name) =>
  join(import.meta.dir, "../../../watchdog", name),
);
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

/** The files among these that a confined program can read. */
function readable(options: readonly string[], paths: readonly string[]): readonly string[] {
  const { out } = ask(...options, "--", "/bin/cat", "cat", ...paths.map((path) => join(folder, path)));
  return out.trim().split("\n");
}

test("it is short enough to be read whole", async () => {
  expect((await readFile(source, "utf8")).split("\n").length - 1).toBeLessThan(120);
  for (const header of headers)
    expect((await readFile(header, "utf8")).split("\n").length - 1).toBeLessThan(70);
});

test("a hidden place stays hidden, also if a part of it is named again", async () => {
  await put("a/secret", "a/inner/key", "a/inner/other", "b/media");
  const all = ["a/secret", "a/inner/key", "a/inner/other", "b/media"];
  const at = (path: string) => `--hide=${join(folder, path)}`;
  expect(readable([at("a/inner/key")], all)).toEqual(["a/secret", "a/inner/other", "b/media"]);
  expect(readable([at("a")], all)).toEqual(["b/media"]);
  expect(readable([at("a"), at("a/inner/key")], all)).toEqual(["b/media"]);
  expect(readable([at("a/inner/key"), at("a")], all)).toEqual(["b/media"]);
  // A path that begins with the same letters is another place.
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

test("of a home, what begins with a dot is open, and all else is hidden unless an option opens it", async () => {
  const all = [".dot/file", ".7.new", "db", "media/film", "media/deep/key", "kept/sound", "keys/key"];
  await put(...all.map((path) => `home/${path}`));
  const at = (path: string) => join(folder, "home", path);
  const options = [
    `--home=${join(folder, "home")}`,
    ...[`--open=${at("media")}`, `--hide=${at("media/deep/key")}`, `--keep=${at("kept")}`],
  ];
  const paths = all.map((path) => `home/${path}`);
  expect(readable(options, paths)).toEqual(
    [".dot/file", "media/film", "kept/sound"].map((path) => `home/${path}`),
  );
  const write = 'for path; do echo x >"$path" && echo "$path"; done';
  const targets = [...all, "new", "media/new", "kept/new", ".dot/new"].map(at);
  const { out } = ask(
    ...options,
    "--",
    "/bin/sh",
    "sh",
    "-c",
    `exec 2>/dev/null; ${write}`,
    "sh",
    ...targets,
  );
  // The folder of media is above a hidden file, so no file can be made in it.
  expect(out.trim().split("\n")).toEqual([".dot/file", "media/film", ".dot/new"].map(at));
});

test("what is kept can be read and not changed, removed or replaced, and is open inside an open place", async () => {
  await put("k/run.sh", "k/beside", "k/folder/part");
  const [kept, inner] = [join(folder, "k/run.sh"), join(folder, "k/folder")];
  const options = [`--keep=${kept}`, `--keep=${inner}`];
  const script = [
    'cat "$0"',
    'for act in "cp /bin/true" "rm" "mv /bin/true" "ln -sf /bin/true" "truncate -s 0" "touch"; do $act "$0" && echo "$act"; done',
    'mv "$1" "$1.x" && echo moved; echo x >"$1/new" && echo made; echo x >"$1/part" && echo written; cat "$1/part"',
    'echo x >"$(dirname "$0")/beside" && echo beside',
    'ln "$0" "$2/hard" && echo x >"$2/hard" && echo "a link opened it"',
  ].join("\n");
  const elsewhere = join(folder, "k2");
  await mkdir(elsewhere);
  const { out } = ask(...options, "--", "/bin/sh", "sh", "-c", script, kept, inner, elsewhere);
  expect(out).toBe("k/run.sh\ntouch\nk/folder/part\nbeside\n");
  expect(await readFile(kept, "utf8")).toBe("k/run.sh\n");
});

test("the nearest option decides, in whichever order they stand", async () => {
  const all = ["n/a", "n/open/b", "n/open/hidden/c", "n/open/hidden/open/d", "n/open/kept/e"];
  await put(...all);
  const at = (option: string, path: string) => `--${option}=${join(folder, path)}`;
  const options = [
    ...[at("hide", "n"), at("open", "n/open"), at("hide", "n/open/hidden"), at("open", "n/open/hidden/open")],
    at("keep", "n/open/kept"),
  ];
  const expected = ["n/open/b", "n/open/hidden/open/d", "n/open/kept/e"];
  expect(readable(options, all)).toEqual(expected);
  expect(readable(options.toReversed(), all)).toEqual(expected);
  // If two options name one path, the one that hides is used.
  expect(readable([at("open", "n"), at("hide", "n")], all)).toEqual([""]);
});

test("without memory a program is ended before the service, and it has room for half as many processes", () => {
  const script =
    'grep "Max processes" /proc/self/limits; cat /proc/self/oom_score_adj; echo 0 >/proc/self/oom_score_adj';
  const limited = ["prlimit", "--nproc=3000:4000", program, "--keep=/proc"];
  const { stdout, stderr } = Bun.spawnSync([...limited, "--", "/bin/sh", "sh", "-c", script]);
  expect(stdout.toString()).toMatch(/^Max processes +1500 +1500 +processes *\n500\n$/);
  expect(stderr.toString()).toContain("Permission denied");
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

test("a program has the mark of players, and root has no right to remove it", () => {
  const files = ["/proc/self/limits", "/proc/self/status"];
  const { out } = ask("--", "/bin/cat", "cat", ...files);
  expect(out).toMatch(/^CapBnd:/m);
  expect(hasMark(out)).toBe(true);
  const bounding = BigInt(`0x${/^CapBnd:\s+(\S+)/m.exec(out)?.[1]}`);
  const [sysAdmin, sysResource, perfmon] = [21n, 24n, 38n]; // linux/capability.h.
  for (const right of [sysAdmin, sysResource, perfmon]) expect((bounding >> right) & 1n).toBe(0n);
});

test("a player cannot share a port, in whichever way it asks", () => {
  const asking = join(folder, "share-port");
  const code = join(import.meta.dir, "../../programs/share-port.c");
  expect(Bun.spawnSync(["cc", code, "-o", asking]).stderr.toString()).toBe("");
  const [noOption, noCall] = [92, 38]; // ENOPROTOOPT and ENOSYS (asm-generic/errno.h).
  const always = ["SO_REUSEADDR 0", "TCP_KEEPCNT 0", `SO_REUSEPORT ${noOption}`, `io_uring ${noCall}`];
  const onX64 = [`x32 ${noCall}`, `i386 setsockopt ${noOption}`, `i386 socketcall ${noOption}`];
  const { out, error } = ask("--", asking, "share-port");
  expect(error).toBe("");
  expect(out.trim().split("\n")).toEqual([...always, ...(process.arch === "x64" ? onX64 : [])]);
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
  const many = Array.from({ length: 513 }, (_, n) => `--hide=/none/${n}`);
  expect(ask(...many, "--", "/bin/true", "true")).toEqual(refused(64, "--hide=/none/512: wrong usage"));
  expect(ask("--", "/no/such", "such")).toEqual(refused(127, "/no/such: there is no such program"));
  const [plain, foreign] = [join(folder, "plain"), join(folder, "foreign")];
  expect(ask("--", plain, "plain")).toEqual(refused(126, `${plain}: Permission denied`));
  expect(ask("--", foreign, "foreign")).toEqual(
    refused(126, `${foreign}: it is not a program for this machine`),
  );
});

/** A waiting helper. The message is sent unchanged, with nothing after it. */
function startAhead(options: readonly string[], before: readonly string[] = []) {
  const child = Bun.spawn([...before, program, "--from=3", ...options], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const [, , , socket] = child.stdio;
  if (typeof socket !== "number") throw new Error("there is no socket");
  return {
    pid: child.pid,
    /** Resolves when it has made its rules, and waits. */
    waits: () =>
      eventually(async () =>
        // S in `stat` (proc(5)) means that the helper sleeps, and nothing but its wait makes it sleep.
        expect(await readFile(`/proc/${child.pid}/stat`, "latin1")).toContain(" (tapdeck-confine) S "),
      ),
    async send(message: Uint8Array) {
      if (message.length > 0) writeSync(socket, message);
      closeSync(socket);
      const [out, error] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      return { out, error, exitCode: await child.exited };
    },
  };
}

/** A message in the form of src/system/spare-player.ts. */
function messageOf(...words: readonly string[]): Buffer {
  const text = Buffer.from([...words, ""].join("\0"));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text]);
}

test("one that waits becomes the program whose words it is sent, which has no descriptor more", async () => {
  const ahead = startAhead(["--offline"]);
  const script = 'printf "%s|" "$@"; echo; ls /proc/$$/fd';
  const told = await ahead.send(messageOf("/bin/sh", "called so", "-c", script, "sh", "", "a b", "ä", "--"));
  expect(told).toEqual({ out: "|a b|ä|--|\n0\n1\n2\n", error: "", exitCode: 0 });
});

test("a message that is cut short, too long or no text ends it without a word", async () => {
  const whole = messageOf("/bin/echo", "echo", "began");
  const wrong = [
    whole.subarray(0, 0),
    ...Array.from({ length: whole.length - 1 }, (_, at) => whole.subarray(0, at + 1)),
    Buffer.concat([whole, Buffer.from("x\0")]),
    messageOf("/bin/echo", "echo", "x".repeat(32 * 1024)),
    Buffer.concat([Buffer.from([3, 0, 0, 0]), Buffer.from("abc")]),
    Buffer.from([255, 255, 255, 255, 0]),
  ];
  const told = await Promise.all(wrong.map((message) => startAhead([]).send(message)));
  expect(told).toEqual(wrong.map(() => ({ out: "", error: "", exitCode: 0 })));
  expect((await startAhead([]).send(whole)).out).toBe("began\n");
});

test("one that waits says what it cannot start, as the others do", async () => {
  expect(await startAhead([]).send(messageOf("/no/such", "such"))).toEqual({
    out: "",
    error: "tapdeck-confine: /no/such: there is no such program\n",
    exitCode: 127,
  });
});

test.skipIf(process.getuid?.() !== 0)(
  "a file that is made, mounted or moved while it waits counts as for one that is started then",
  async () => {
    await put("w/own/.dot", "w/own/keys/key", "w/own/mounted/old", "w/beside/old");
    const options = [`--own=${join(folder, "w/own")}`, `--hide=${join(folder, "w/own/keys")}`];
    const paths = ["new/file", "own/new/file", "own/mounted/new", "own/keys/.dot", "own/dot", "beside/old"];
    const change = [
      `cd "${join(folder, "w")}"`,
      "mkdir new own/new && echo 1 >new/file && echo 2 >own/new/file",
      "mount -t tmpfs none own/mounted && echo 3 >own/mounted/new",
      "mv own/.dot own/dot && ln own/dot own/keys/.dot",
    ].join(" && ");
    const ahead = startAhead(options, ["unshare", "--mount"]);
    await ahead.waits();
    const inside = ["nsenter", `--target=${ahead.pid}`, "--mount", "sh", "-c", change];
    expect(Bun.spawnSync(inside).stderr.toString()).toBe("");
    const { out } = await ahead.send(
      messageOf("/bin/cat", "cat", ...paths.map((path) => join(folder, "w", path))),
    );
    expect(out).toBe("1\n2\n3\nw/beside/old\n");
  },
);

test.skipIf(process.getuid?.() !== 0)("a mount alone, while it waits, is seen", async () => {
  const own = join(folder, "m/own");
  await put("m/own/mounted/old");
  // Folders that were changed a moment ago are listed again in any case.
  await eventually(async () => expect(Date.now() - (await stat(own)).ctimeMs).toBeGreaterThan(100));
  const ahead = startAhead([`--own=${own}`], ["unshare", "--mount"]);
  await ahead.waits();
  const mount = `mount -t tmpfs none "${own}/mounted" && echo new >"${own}/mounted/new"`;
  const inside = ["nsenter", `--target=${ahead.pid}`, "--mount", "sh", "-c", mount];
  expect(Bun.spawnSync(inside).stderr.toString()).toBe("");
  expect((await ahead.send(messageOf("/bin/cat", "cat", `${own}/mounted/new`))).out).toBe("new\n");
});

test.skipIf(process.getuid?.() !== 0)(
  "the space of a deleted file beside a hidden place stayed in use until the next player",
  async () => {
    const space = join(folder, "space");
    await mkdir(space);
    const fill = `mount -t tmpfs none "${space}" && mkdir "${space}/hidden" && head -c 8M /dev/zero >"${space}/film" && exec "$@"`;
    const before = ["unshare", "--mount", "sh", "-c", fill, "sh"];
    const ahead = startAhead([`--hide=${space}/hidden`], before);
    await ahead.waits();
    const inside = (...words: readonly string[]) =>
      Bun.spawnSync(["nsenter", `--target=${ahead.pid}`, "--mount", ...words]).stdout.toString();
    const freeBlocks = () => Number(inside("stat", "--file-system", "--format=%f", space));
    const full = freeBlocks();
    inside("rm", `${space}/film`);
    await eventually(() => expect(freeBlocks()).toBeGreaterThan(full + 1000));
    const { out } = await ahead.send(messageOf("/bin/echo", "echo", "began"));
    expect(out).toBe("began\n");
  },
);

test("each single change while it waits is seen", async () => {
  const own = join(folder, "s/own");
  const changes: readonly (readonly [string, string])[] = [
    [`mkdir "${own}/made" && echo made >"${own}/made/file"`, `${own}/made/file`],
    [`mkdir "${folder}/s/made" && echo made >"${folder}/s/made/file"`, `${folder}/s/made/file`],
    [`echo made >"${folder}/s/file"`, `${folder}/s/file`],
  ];
  for (const [change, path] of changes) {
    await put("s/own/.dot");
    const ahead = startAhead([`--own=${own}`]);
    await ahead.waits();
    expect(Bun.spawnSync(["sh", "-c", change]).exitCode).toBe(0);
    expect((await ahead.send(messageOf("/bin/cat", "cat", path))).out).toBe("made\n");
  }
});
