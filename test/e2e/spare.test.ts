/** The spare of the compiled program: players that come from it, their environment, and its end. */
import { expect, test } from "bun:test";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeNesGame } from "../helpers/nes-games.ts";
import { eventually, eventuallyReaped } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { makePlace, noReaders, program, type Running, startTapdeck } from "../helpers/tapdeck.ts";

interface Process {
  readonly pid: number;
  readonly state: string;
  readonly words: readonly string[];
}

/** The children of a process, zombies included. */
async function childrenOf(parent: number): Promise<readonly Process[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(
    ids.map(async (id) => {
      // The process may end between two looks.
      const stat = await readFile(`/proc/${id}/stat`, "latin1").catch(() => "");
      const [state = "", ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const words = (await readFile(`/proc/${id}/cmdline`, "latin1").catch(() => "")).split("\0");
      return Number(ppid) === parent ? [{ pid: Number(id), state, words }] : [];
    }),
  );
  return all.flat();
}

const isSpare = ({ words, state }: Process) =>
  state !== "Z" && words.some((word) => word.startsWith("--from="));
const sparesOf = async (parent: number) => (await childrenOf(parent)).filter(isSpare);

/** Resolves with the process id of the spare, once a spare with these options waits. */
async function spareOf({ pid }: Running, ...options: readonly string[]): Promise<number> {
  let found: readonly Process[] = [];
  const fits = ({ words }: Process) =>
    ["--from=4", "--offline"].every((option) => words.includes(option) === options.includes(option));
  await eventually(async () => {
    found = await sparesOf(pid);
    // State S shows that the spare has made its rules, and waits.
    expect(found).toEqual([expect.objectContaining({ state: "S" })]);
    expect(found.filter((one) => !fits(one))).toEqual([]);
  });
  return found[0]?.pid ?? 0;
}

const isGone = async (pid: number) =>
  (await readFile(`/proc/${pid}/stat`).catch(() => undefined)) === undefined;

/** Launchers whose players are a shell that runs `script`; the media file is `$path`. */
function launcher(id: string, script: string, more = ""): string {
  const command = ["/bin/sh", "-c", `for path; do :; done; ${script}`, "player", "{path}"];
  return `\n[[launchers]]\nid = "${id}"\nextensions = [".${id}"]\ncommand = ${JSON.stringify(command)}\n${more}`;
}

/** Launches the file, and returns the lines that its player wrote to the file `.said` beside it. */
async function said({ client, heard }: Running, path: string): Promise<readonly string[]> {
  await client.call("launch", path);
  await heard.next("media.stopped");
  return (await readFile(`${path}.said`, "utf8")).trim().split("\n");
}

// Lines of a player's script that report its id, its surroundings and its descriptors. Descriptor 9 is the output file.
const tell = [
  'exec 9>"$path.said"; echo $$ >&9; pwd >&9',
  "ps -o pgid=,sid=,ppid= -p $$ | awk -v own=$$ '{ print ($1 == own), ($2 == own), $3 }' >&9",
  "for n in 0 1 2 3 4 5 6 7 8; do readlink /proc/$$/fd/$n >&9; done",
  "env | sed 's/=.*//' | grep -v -x -e _ -e OLDPWD | sort >&9; tr '\\0' '\\n' </proc/$$/cmdline | grep -v tapdeck >&9",
  "grep -E 'NoNewPrivs|Seccomp:|SigIgn|CapBnd' /proc/$$/status >&9",
].join("; ");

/** The number of a pipe or socket differs each time. */
const withoutNumber = (line: string) => line.replace(/^(pipe|socket):\[\d+\]$/, "$1");

for (const [kind, more, options] of [
  ["process", "", []],
  ["mpv", 'kind = "mpv"\n', ["--from=4", "--offline"]],
  ["retroarch", 'kind = "retroarch"\ncore = "/bin/true"\n', ["--offline"]],
] as const)
  test(`a player that the spare becomes finds what it finds without a spare: ${kind}`, async () => {
    await using place = await makePlace(noReaders + launcher("tell", tell, more));
    const file = await place.file("Game.tell");
    await using service = await startTapdeck(place);
    await spareOf(service);
    // The first spare is for any program; the next is for the program that started last.
    if (kind !== "process") await said(service, file);
    const spare = await spareOf(service, ...options);
    const [pid, ...bySpare] = (await said(service, file)).map(withoutNumber);
    expect(pid).toBe(String(spare));
    process.kill(await spareOf(service, ...options), "SIGKILL");
    await eventually(async () => expect(await sparesOf(service.pid)).toEqual([]));
    const [, ...byItself] = (await said(service, file)).map(withoutNumber);
    expect(bySpare).toEqual(byItself);
    expect(byItself[1]).toBe(`1 1 ${service.pid}`);
  });

test("a real mpv and a real RetroArch that the spare became answer, and play on", async () => {
  await using place = await makePlace();
  const drivers = ["video", "audio", "input", "joypad", "menu"].map((kind) => `${kind}_driver = "null"\n`);
  const settings = await place.file("retroarch.cfg", `${drivers.join("")}video_vsync = "false"\n`);
  const [game, sound] = [await place.file("NES/Game.nes"), await place.file("Audio/long.wav")];
  await Bun.write(game, makeNesGame());
  await Bun.write(sound, makeSound(60));
  await place.config(
    `${noReaders}[[launchers]]\nid = "sounds"\nextensions = ["wav"]\nkind = "mpv"\ncommand = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]\n` +
      `[[launchers]]\nid = "games"\nsystems = ["NES"]\nkind = "retroarch"\ncommand = ["retroarch", "--config=${settings}", "{path}"]\n`,
  );
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  const state = async () => (await client.call("media.active"))?.playbackState;
  for (const [file, options] of [
    [sound, ["--from=4", "--offline"]],
    [game, ["--offline"]],
  ] as const) {
    await client.call("launch", file);
    await eventually(async () => expect(await state()).toBe("playing"));
    await client.call("stop");
    await heard.next("media.stopped");
    const spare = await spareOf(service, ...options);
    await client.call("launch", file);
    await eventually(async () => expect(await state()).toBe("playing"));
    expect((await childrenOf(service.pid)).find(({ pid }) => pid === spare)?.words).toContain(file);
    await client.call("launch", "**control:pause");
    await eventually(async () => expect(await state()).toBe("paused"));
    await client.call("stop");
    await heard.next("media.stopped");
    expect(await isGone(spare)).toBe(true);
  }
});

test("a place made since the spare was started is open to it, and one with a hidden name is not", async () => {
  await using place = await makePlace();
  const beside = `${place.folder}-beside`;
  const paths = [join(beside, "a"), join(place.folder, ".later/a"), join(place.folder, "moved")];
  const read = paths.map((path) => `cat "${path}" || echo refused`).join("; ");
  await place.config(noReaders + launcher("reads", `exec 2>&- >"$path.said"; echo $$; ${read}`));
  const file = await place.file("Game.reads");
  await writeFile(join(place.folder, ".moved"), "hidden\n");
  await using service = await startTapdeck(place);
  try {
    const spare = await spareOf(service);
    for (const path of paths.slice(0, 2)) {
      await mkdir(dirname(path));
      await writeFile(path, "new\n");
    }
    await rename(join(place.folder, ".moved"), join(place.folder, "moved"));
    expect(await said(service, file)).toEqual([String(spare), "new", "new", "refused"]);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
});

test("a place is hidden behind a link that has changed since the spare was started", async () => {
  await using place = await makePlace();
  const beside = `${place.folder}-links`;
  const keys = ["one", "two"].map((name) => join(beside, name, "key"));
  for (const key of keys) {
    await mkdir(dirname(key), { recursive: true });
    await writeFile(key, "read\n");
  }
  const current = join(beside, "current");
  const lead = async (name: string) => {
    await symlink(name, `${current}.new`);
    await rename(`${current}.new`, current);
  };
  await lead("one");
  const read = keys.map((path) => `cat "${path}" || echo refused`).join("; ");
  await place.config(noReaders + launcher("reads", `exec >"$path.said" 2>&-; echo $$; ${read}`));
  const file = await place.file("Game.reads");
  try {
    await using service = await startTapdeck(place, ["env", `TAPDECK_TEST_KEY=${current}/key`, program]);
    const first = await spareOf(service);
    expect(await said(service, file)).toEqual([String(first), "refused", "read"]);
    const stale = await spareOf(service);
    await lead("two");
    expect((await said(service, file)).slice(1)).toEqual(["read", "refused"]);
    // It is replaced soon after that start.
    await eventually(async () => expect(await spareOf(service)).not.toBe(stale));
    const next = await spareOf(service);
    expect(await said(service, file)).toEqual([String(next), "read", "refused"]);
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
});

test("a launcher with a folder, variables or no confinement of its own starts without the spare", async () => {
  const say = 'echo "$$ $PWD $OWN" >"$path.said"';
  await using place = await makePlace(
    noReaders +
      launcher("folder", say, 'cwd = "/usr"\n') +
      launcher("variables", say, 'env = { OWN = "mine" }\n') +
      launcher("free", say, "confined = false\n"),
  );
  await using service = await startTapdeck(place);
  const spare = await spareOf(service);
  const ends: Readonly<Record<string, string>> = {
    folder: "/usr ",
    variables: `${process.cwd()} mine`,
    free: `${process.cwd()} `,
  };
  for (const [id, end] of Object.entries(ends)) {
    const [line = ""] = await said(service, await place.file(`Game.${id}`));
    expect(line.trim()).toEndWith(end.trim());
    expect(line).not.toStartWith(`${spare} `);
  }
  expect(await spareOf(service)).toBe(spare);
});

test("a program that cannot be started is reported as well if a spare stands ready", async () => {
  await using place = await makePlace();
  const plain = await place.file("plain", "no program");
  const foreign = await place.file("foreign", "no program");
  await chmod(foreign, 0o755);
  const named = (id: string, program: string) =>
    `\n[[launchers]]\nid = "${id}"\nextensions = [".${id}"]\ncommand = ${JSON.stringify([program, "{path}"])}\n`;
  await place.config(
    noReaders + named("missing", "/no/such/player") + named("closed", plain) + named("foreign", foreign),
  );
  await using service = await startTapdeck(place);
  const spare = await spareOf(service);
  const errors: Record<string, string | undefined> = {};
  for (const id of ["missing", "closed", "foreign"]) {
    await service.client.call("launch", await place.file(`Game.${id}`));
    errors[id] = (await service.heard.next("launch.finished")).error;
    // A command that names no program does not use up the spare.
    if (id !== "foreign") expect(await spareOf(service)).toBe(spare);
  }
  expect(errors.missing).toMatch(/\/no\/such\/player could not be started: there is no such program$/);
  expect(errors.closed).toMatch(/could not be started: it is not a program that this user may run$/);
  expect(errors.foreign).toMatch(/it is not a program for this machine$/);
  expect(await isGone(spare)).toBe(true);
});

test("more words than a message holds reach the player all the same", async () => {
  const words = Array.from({ length: 12 }, () => "x".repeat(4000));
  const command = ["/bin/sh", "-c", 'for path; do :; done; echo $# >"$path.said"', ...words, "{path}"];
  await using place = await makePlace(
    `${noReaders}[[launchers]]\nid = "long"\nextensions = [".long"]\ncommand = ${JSON.stringify(command)}\n`,
  );
  const file = await place.file("Game.long");
  await using service = await startTapdeck(place);
  const spare = await spareOf(service);
  expect(await said(service, file)).toEqual([String(words.length)]);
  expect(await spareOf(service)).toBe(spare);
});

test("200 launches in a row, with kills in between, leave one spare, no player and no zombie", async () => {
  await using place = await makePlace(
    noReaders + launcher("brief", "exit 0") + launcher("long", "exec sleep 600"),
  );
  const [brief, long] = [await place.file("Game.brief"), await place.file("Game.long")];
  await using service = await startTapdeck(place);
  const { client, heard, pid } = service;
  let most = 0;
  let made = 0;
  for (let launch = 0; launch < 200; launch++) {
    await client.call("launch", launch % 2 === 0 ? brief : long);
    await heard.next("media.started");
    // After every fourth start the test waits for the next spare, so many players come from a spare on any machine.
    if (launch % 4 === 0) made += await spareOf(service).then(() => 1);
    const children = await childrenOf(pid);
    const spares = children.filter(isSpare);
    most = Math.max(most, spares.length);
    if (launch % 3 === 0) for (const { pid: spare } of spares) quietly(() => process.kill(spare, "SIGKILL"));
    if (launch % 7 === 0)
      for (const { pid: player, words } of children)
        if (words[0] === "sleep") quietly(() => process.kill(player, "SIGKILL"));
  }
  expect(made).toBe(50);
  // A killed spare is replaced after the next start.
  await client.call("launch", brief);
  await heard.next("media.started");
  await client.call("stop");
  await eventually(async () => expect(await client.call("media.active")).toBeNull());
  expect(most).toBeLessThanOrEqual(1);
  const spare = await spareOf(service);
  let others: readonly Process[] = [];
  // The index of media and its watch are processes of the service's own program.
  const isOther = (child: Process) => child.pid !== spare && child.words[0] !== program;
  await eventually(async () => {
    others = (await childrenOf(pid)).filter(isOther);
    expect(others).toEqual([]);
  }).catch(() => expect(others).toEqual([]));
});

function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // ESRCH means that the process has ended meanwhile.
  }
}

test("no spare outlives the service: neither its end nor its death", async () => {
  await using place = await makePlace(noReaders);
  {
    await using service = await startTapdeck(place);
    const spare = await spareOf(service);
    expect(await service.stop()).toBe(0);
    expect(await isGone(spare)).toBe(true);
  }
  await using service = await startTapdeck(place);
  const spare = await spareOf(service);
  process.kill(service.pid, "SIGKILL");
  await eventuallyReaped(spare);
});
