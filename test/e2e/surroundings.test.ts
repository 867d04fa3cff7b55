/** The surroundings of the compiled program control nothing: variables, files of its working folder, modes. */
import { expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, program, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

/** A folder whose files would change the program's work, if the program read them. */
async function trap() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-trap-"));
  const preload = join(folder, "trap.js");
  await writeFile(preload, `process.stdout.write("TRAPPED\\n");`);
  await writeFile(join(folder, "bunfig.toml"), `preload = ["./trap.js"]\n[run]\npreload = ["./trap.js"]\n`);
  await writeFile(join(folder, ".env"), "XDG_DATA_HOME=/trapped\nBUN_OPTIONS=--preload=./trap.js\n");
  await writeFile(join(folder, "package.json"), `{"name":"trap","main":"./trap.js"}`);
  await writeFile(join(folder, "tsconfig.json"), "{ no json");
  return { folder, preload, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const run = (env: Readonly<Record<string, string>>, cwd: string) => {
  const child = Bun.spawnSync([program, "--version"], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return child.stdout.toString() + child.stderr.toString();
};

test("files of the working folder, and variables of the runtime, change nothing", async () => {
  await using around = await trap();
  const { folder, preload } = around;
  const plain = run({}, tmpdir());
  expect(plain).toMatch(/^tapdeck \d+\.\d+\.\d+\n$/);
  const surroundings: readonly Readonly<Record<string, string>>[] = [
    {},
    { BUN_OPTIONS: `--preload=${preload}` },
    { BUN_OPTIONS: "--print 1" },
    { BUN_BE_BUN: "1" },
    { BUN_INSPECT_PRELOAD: preload },
    { BUN_INSPECT: "ws://127.0.0.1:9/trap?break=1" },
    { BUN_INSPECT_CONNECT_TO: "127.0.0.1:9" },
    { BUN_BYTECODE_ORDER_OUT: join(folder, "written") },
    { NODE_OPTIONS: `--require=${preload}` },
  ];
  for (const env of surroundings) expect([env, run(env, folder)]).toEqual([env, plain]);
  expect(await stat(join(folder, "written")).catch(() => undefined)).toBeUndefined();
});

test("the files that the engine reads by itself are no longer read, and the service keeps its process and its other variables", async () => {
  await using place = await makePlace(noReaders);
  const before = ["env", "BUN_JSC_useJIT=0", "JSC_useJIT=0", "BUN_ANYTHING=1", "KEPT=1", program];
  await using service = await startTapdeck(place, before);
  const environment = await readFile(`/proc/${service.pid}/environ`, "utf8");
  const names = environment.split("\0").map((one) => one.split("=")[0] ?? "");
  expect(names.filter((name) => /^(BUN|JSC)_/.test(name))).toEqual([]);
  expect(names).toContain("KEPT");
  const argv = (await readFile(`/proc/${service.pid}/cmdline`, "utf8")).split("\0");
  expect(argv.slice(1)).toEqual([`--data=${place.folder}`, ""]);
});

test("a secret's file that others could read is theirs no longer, and the log says so", async () => {
  await using place = await makePlace(noReaders);
  const first = await startTapdeck(place);
  await first.client.call("clients.new", { name: "phone" });
  await first.stop();
  const files = ["tapdeck.db", "tapdeck.db.backup", "audit.jsonl"].map((name) => join(place.folder, name));
  for (const file of files) await chmod(file, 0o644);
  await using second = await startTapdeck(place);
  for (const file of files) expect([file, (await stat(file)).mode & 0o777]).toEqual([file, 0o600]);
  for (const file of files)
    await eventually(() => expect(second.log()).toContain(file.slice(place.folder.length + 1)));
});

test("a FIFO in the place of RetroArch's settings does not stop the start, nor the start of a game", async () => {
  await using place = await makePlace(`${noReaders}${sleeper()}`);
  const settings = join(place.folder, "home/.config/retroarch");
  await mkdir(settings, { recursive: true });
  Bun.spawnSync(["mkfifo", join(settings, "retroarch.cfg")]);
  await using service = await startTapdeck(place, [
    ...["env", "--unset=XDG_CONFIG_HOME", `HOME=${join(place.folder, "home")}`, program],
  ]);
  await service.client.call("launch", await place.file("SNES/Game.sfc"));
  await service.heard.next("media.started");
  await service.client.call("stop");
});
