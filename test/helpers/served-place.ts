/**
 * The service in folders like those of the image, with the environment that `overlay/usr/lib/tapdeck/serve` gives it.
 * Each path in it is below a folder of the test.
 */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { freePort } from "./free-port.ts";
import { run } from "./processes.ts";
import { imageCommand } from "./stand-in-image.ts";
import { noReaders, type Place, program, type Running, startTapdeck } from "./tapdeck.ts";

export type ServedPlace = Awaited<ReturnType<typeof makeServedPlace>>;

const serve = join(root, "overlay/usr/lib/tapdeck/serve");

/** The variables of `serve` that do not depend on tapdeck.conf. */
async function variables(folder: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(serve, "utf8");
  const command = text.slice(text.indexOf("exec env -i"), text.indexOf("setpriv --nnp"));
  const found = [...command.matchAll(/(?<=\s)([A-Z_]+)=(?:"([^"]*)"|(\S+))/g)].map(
    ([, name = "", quoted, plain = ""]) =>
      [
        name,
        (quoted ?? plain).replace("$run", "/run/tapdeck").replace("$machine", "/run/tapdeck-machine"),
      ] as const,
  );
  const { PATH: _players, TAPDECK_SCREEN: _television, ...rest } = Object.fromEntries(found);
  return {
    ...Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, value.startsWith("/") ? folder + value : value]),
    ),
    PATH: process.env.PATH ?? "",
  };
}

export async function makeServedPlace() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "tapdeck-served-")));
  const at = (path: string) => join(folder, path);
  const port = freePort();
  const folders = ["tapdeck/saves", "tapdeck/states", "tapdeck/bios", "tapdeck/screenshots", "tapdeck/media"];
  for (const path of [
    ...folders.map((name) => `data/${name}`),
    ...[
      "data/config/tapdeck",
      "data/state",
      "run/tapdeck/tmp",
      "run/tapdeck-machine",
      "run/faults",
      "media/usb",
    ],
  ])
    await mkdir(at(path), { recursive: true, mode: 0o700 });
  const put = async (path: string, content: string, mode = 0o600) => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content, { mode });
    return at(path);
  };
  const config = async (toml: string) => {
    const head = `[api]\nport = ${port}\ntls_port = 0\nlisten = ["127.0.0.1"]\n${noReaders}`;
    await put("data/config/tapdeck/config.toml", head + toml);
  };
  await config("");
  await put("data/state/watchdog", "event=restart time=1 restarts=1 resets=0 why=x\n");
  expectFifo(at("run/tapdeck-machine/requests"));
  // This program replaces the root script: it keeps the pipe open, and records each word.
  const reading = Bun.spawn(["sh", "-c", 'exec cat <>"$0"', at("run/tapdeck-machine/requests")], {
    stdin: "ignore",
    stdout: "pipe",
  });
  const words = reading.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const place: Place = {
    folder: at("data/tapdeck"),
    port,
    config,
    file: (path, content = "x") => put(join("data/tapdeck/media", path), content),
    async [Symbol.asyncDispose]() {
      reading.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const assigned = async (more: Readonly<Record<string, string>>) =>
    Object.entries({ ...(await variables(folder)), ...more }).map(([name, value]) => `${name}=${value}`);
  return {
    folder,
    at,
    put,
    place,
    config,
    /** Runs the command line with these folders, to its end. */
    tapdeck: async (...command: readonly string[]) =>
      run(["env", "-i", ...(await assigned({})), program, ...command]),
    /** Resolves with the next word that the root script reads. */
    word: async () => (await words.read()).value?.trim() ?? "",
    /** Starts the service with further variables, such as those of a fleet. */
    async start(more: Readonly<Record<string, string>> = {}): Promise<Running> {
      // The image names no data folder on the command line.
      const plain = ["sh", "-c", 'exec "$0"', program];
      return startTapdeck(
        place,
        imageCommand(at("run/tapdeck-machine"), "env", "-i", ...(await assigned(more)), ...plain),
      );
    },
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  };
}

function expectFifo(path: string): void {
  if (Bun.spawnSync(["mkfifo", "-m", "0600", path]).exitCode !== 0) throw new Error(`no pipe at ${path}`);
}

/** A launcher whose player is `script` of a shell. Its words are `words`, followed by the media file. */
export function shellLauncher(id: string, script: string, ...words: readonly string[]): string {
  const command = JSON.stringify(["/bin/sh", "-c", script, "player", ...words, "{path}"]);
  return `[[launchers]]\nid = "${id}"\nextensions = [".${id}"]\ncommand = ${command}\n`;
}

/** Launches the file, and returns the lines that its player wrote into `report` beside it. */
export async function reported({ client, heard }: Running, file: string): Promise<readonly string[]> {
  await client.call("launch", file);
  await heard.next("media.stopped");
  return (await readFile(join(dirname(file), "report"), "utf8")).trim().split("\n").filter(Boolean);
}
