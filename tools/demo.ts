/**
 * `make run`: starts the real service with a small library, and with the reader that is plugged in or a simulated one.
 * Prints the command that taps a card.
 */
import { mkdir, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drivers } from "../drivers/index.ts";
import { exitCodes } from "../src/core/errors.ts";
import { printable } from "../src/core/text.ts";
import { deck, makeLibrary } from "./demo-library.ts";

const root = join(import.meta.dir, "..");
const program = join(root, "dist/tapdeck");
const usualPort = 7497;
// The config of the demo has this port, and a second demo beside the first has a folder of its own.
const port = Number(process.env.TAPDECK_DEMO_PORT ?? usualPort);
const folder = join(root, port === usualPort ? "build/demo" : `build/demo-${port}`);

if ((await pinged()) !== undefined) {
  process.stderr.write(await otherInstance());
  process.exit(exitCodes.unavailable);
}
const plugged = await pluggedReaders();
await makeLibrary(join(folder, "media"));
await mkdir(join(folder, "data"), { recursive: true, mode: 0o700 });
await writeFile(join(folder, "config.toml"), config(plugged.length === 0));

const flags = [`--config=${join(folder, "config.toml")}`, `--data=${join(folder, "data")}`];
const service = Bun.spawn([program, ...flags], { stdio: ["ignore", "inherit", "inherit"] });
// Ctrl-C also reaches the service. It ends in order, and then this program ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => service.kill(signal));
// A service whose port is in use ends within this time.
const settleMs = 400;
if (await answers()) process.stdout.write(hints());
process.exit(await service.exited);

/**
 * The readers that are plugged in. Built-in serial ports are left out, because most computers have some, and a reader
 * on one of them is rare.
 */
async function pluggedReaders(): Promise<readonly string[]> {
  const found = await Promise.all(drivers.map((driver) => driver.detect?.(AbortSignal.timeout(5000)) ?? []));
  return found
    .flat()
    .map((candidate) => candidate.path)
    .filter((path) => !path.startsWith("/dev/ttyS"));
}

/**
 * Resolves with true when the service answers, and with false if it ended before. The answer may also come from a service
 * that was running before.
 */
async function answers(): Promise<boolean> {
  while (service.exitCode === null) {
    // The loop asks again until the service listens or has ended.
    if ((await pinged())?.ok)
      return (await Promise.race([service.exited, Bun.sleep(settleMs)])) === undefined;
    await Bun.sleep(50);
  }
  return false;
}

/** The answer of the service on the port; undefined if nobody listens. */
function pinged(): Promise<Response | undefined> {
  return fetch(`http://127.0.0.1:${port}/ping`).catch(() => undefined);
}

/** The address of the program that holds the port, and its process if that belongs to this user. */
async function otherInstance(): Promise<string> {
  const owner = await listenerOf(port);
  const who = owner === undefined ? "" : `  process ${owner.pid}: ${owner.command}\n`;
  return `Another instance is running at http://localhost:${port}/:
${who}Use that one, or stop it first (Ctrl-C in its terminal). TAPDECK_DEMO_PORT=N make run starts a second one on port N.
`;
}

/** The process that listens on a TCP port, by the tables of the kernel (proc(5)). */
async function listenerOf(wanted: number) {
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "latin1").catch(() => "")),
  );
  const rows = tables.flatMap((table) => table.split("\n").map((line) => line.trim().split(/\s+/)));
  const end = `:${wanted.toString(16).toUpperCase().padStart(4, "0")}`;
  const inode = rows.find(([, local, , state]) => state === "0A" && local?.endsWith(end))?.[9];
  if (inode === undefined) return undefined;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const links = await Promise.all(
      descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
    );
    if (!links.includes(`socket:[${inode}]`)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return { pid, command: printable(command.split("\0").join(" ").trim()) };
  }
  return undefined;
}

function config(simulate: boolean): string {
  const readers = simulate ? `connect = ["simulated:"]\ndetect = false` : "detect = true";
  const player = `
[[launchers]]
id = "demo-player"
extensions = [".wav", ".png"]
command = [${JSON.stringify(process.execPath)}, ${JSON.stringify(join(root, "tools/demo-player.mjs"))}, "{path}"]
`;
  return `# Made by \`make run\`, anew each time.
[api]
port = ${port}
listen = ["127.0.0.1"]

[readers]
${readers}

[systems]
root_folders = [${JSON.stringify(join(folder, "media"))}]
${Bun.which("mpv") === null ? player : ""}`;
}

function hints(): string {
  const [first, second] = deck;
  const tap = (text: string | undefined) => `dist/tapdeck tap ${JSON.stringify(text ?? "")}`;
  const others = deck
    .slice(2)
    .map((card) => JSON.stringify(card.text))
    .join(", ");
  const how =
    plugged.length === 0
      ? "No reader is plugged in, so there is a simulated one."
      : `Reader: ${plugged.join(", ")}.`;
  const player =
    Bun.which("mpv") === null ? " No mpv here: a silent stand-in plays; install mpv to hear it." : "";
  return `
${how}${player} In another terminal, in this folder:
  ${tap(first?.text)}     plays ${first?.title}
  ${tap(second?.text)}  plays ${second?.title}
  dist/tapdeck watch     shows all that happens; more cards: ${others}
Or open http://localhost:${port}/ in a browser of this computer: no other one reaches it.
Stop it with Ctrl-C here.
`;
}
