/**
 * `make run`: starts the real service with a small library, and with the reader that is plugged in or a simulated one. Prints what to
 * type to tap a card.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drivers } from "../drivers/index.ts";
import { deck, makeLibrary } from "./demo-library.ts";

const root = join(import.meta.dir, "..");
const folder = join(root, "build/demo");
const program = join(root, "dist/tapdeck");
// The config of the demo has this port.
const port = Number(process.env.TAPDECK_DEMO_PORT ?? 7497);

const plugged = await pluggedReaders();
await makeLibrary(join(folder, "media"));
await mkdir(join(folder, "data"), { recursive: true });
await writeFile(join(folder, "config.toml"), config(plugged.length === 0));

const flags = [`--config=${join(folder, "config.toml")}`, `--data=${join(folder, "data")}`];
const service = Bun.spawn([program, ...flags], { stdio: ["ignore", "inherit", "inherit"] });
// Ctrl-C also reaches the service. It ends in order, and then this program ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => service.kill(signal));
// A service whose port is in use ends within this time.
const settleMs = 400;
if (await answers()) process.stdout.write(hints());
process.exit(await service.exited);

async function pluggedReaders(): Promise<readonly string[]> {
  const found = await Promise.all(drivers.map((driver) => driver.detect?.(AbortSignal.timeout(5000)) ?? []));
  return found.flat().map((candidate) => candidate.path);
}

/** True when the service answers; false if it ended before. The answer may also come from a service that ran already. */
async function answers(): Promise<boolean> {
  while (service.exitCode === null) {
    // Ask again until the service listens or has ended.
    const response = await fetch(`http://127.0.0.1:${port}/ping`).catch(() => undefined);
    if (response?.ok) return (await Promise.race([service.exited, Bun.sleep(settleMs)])) === undefined;
    await Bun.sleep(50);
  }
  return false;
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
Or open http://localhost:${port}/ in a browser.
Stop it with Ctrl-C here.
`;
}
