/** The compiled program as its users run it, in a folder of its own, and a client that records notifications. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Client, connect, type Notification, RpcError } from "../../src/client/client.ts";
import { freePort } from "./free-port.ts";
import { gather } from "./lines.ts";
import { eventually, newestLines, showLog } from "./processes.ts";

/** The binary under test: the environment variable TAPDECK_PROGRAM names another one, such as an older build. */
export const program =
  process.env.TAPDECK_PROGRAM ??
  join(import.meta.dir, "../../dist", `tapdeck-linux-${process.arch === "arm64" ? "arm64" : "x64"}`);

export interface Place {
  readonly folder: string;
  readonly port: number;
  /** Makes a file below the media folder. */
  file(path: string, content?: string): Promise<string>;
  config(toml: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Config without readers, except those of the API. Further lines belong to the same section. */
export const noReaders = "[readers]\ndetect = false\n";

/** Config with only the readers of these connection strings, or an emulated PN532. */
export function readerConfig(...readers: readonly (string | { readonly path: string })[]): string {
  const named = readers.map((reader) => (typeof reader === "string" ? reader : `pn532-uart:${reader.path}`));
  return `${noReaders}connect = ${JSON.stringify(named)}\n`;
}

/** Config with a player that plays for ten minutes; of files with these extensions only, if some are given. */
export function sleeper(...extensions: readonly string[]): string {
  const some = extensions.length === 0 ? "" : `extensions = ${JSON.stringify(extensions)}\n`;
  return `
[[launchers]]
id = "sleeper"
${some}command = ["/bin/sh", "-c", "exec sleep 600", "{path}"]
`;
}

/** Config with a player that ignores a request to end. */
export const stubborn = `
[[launchers]]
id = "stubborn"
command = ["/bin/sh", "-c", "trap '' TERM; sleep 600 & wait; sleep 600", "{path}"]
`;

/** A data folder with a config file that listens on loopback; `toml` is added to it. */
export async function makePlace(toml = ""): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-test-"));
  const port = freePort();
  const config = (more: string) =>
    writeFile(
      join(folder, "config.toml"),
      `[api]\nport = ${port}\ntls_port = 0\nlisten = ["127.0.0.1"]\n${more}`,
    );
  await mkdir(join(folder, "media"));
  await config(toml);
  return {
    folder,
    port,
    config,
    async file(path, content = "x") {
      const whole = join(folder, "media", path);
      await mkdir(dirname(whole), { recursive: true });
      await writeFile(whole, content);
      return whole;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Running {
  readonly client: Client;
  readonly heard: Heard;
  /** All that the service wrote to stderr. */
  log(): string;
  readonly pid: number;
  /** Ends the service by TERM, and resolves with its exit code. */
  stop(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the service and connects to it at `url`. `command` precedes its flags. */
export async function startTapdeck(
  place: Place,
  command: readonly string[] = [program],
  url = `ws://127.0.0.1:${place.port}/api/v0.1`,
): Promise<Running> {
  const child = Bun.spawn([...command, `--data=${place.folder}`], {
    stdio: ["ignore", "ignore", "pipe"],
    // The environment is passed, so it lacks the variable that test/helpers/seed.ts removes.
    env: { ...process.env },
  });
  const log = gather(child.stderr).text;
  const shown = showLog(`tapdeck ${child.pid}`, log);
  const client = await reach(url, () => child.exitCode !== null, log).catch((error: unknown) => {
    child.kill();
    shown[Symbol.dispose]();
    throw error;
  });
  const heard = listenTo(client);
  const stop = async () => {
    child.kill("SIGTERM");
    return child.exited;
  };
  return {
    client,
    heard,
    log,
    pid: child.pid,
    stop,
    async [Symbol.asyncDispose]() {
      client.close();
      shown[Symbol.dispose]();
      if (child.exitCode === null) await stop();
    },
  };
}

/** Waits until the only reader of the config is connected. It may be connected before the client is. */
export async function firstReader({ client, heard }: Pick<Running, "client" | "heard">): Promise<void> {
  const { readers } = await client.call("readers");
  if (readers[0]?.connected !== true) await heard.next("readers.added");
}

/**
 * Makes the service index its media, of all systems or of these. It first waits for the end of an automatic run after a
 * change of files.
 */
export async function indexMedia(client: Client, systems: readonly string[] = []): Promise<void> {
  let refusal: unknown;
  const isDone = () =>
    client.call("media.index", { systems: [...systems] }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof RpcError && error.message.includes("indexed already")) return false;
        refusal = error;
        return true;
      },
    );
  await eventually(isDone);
  if (refusal !== undefined) throw refusal;
}

export interface Heard {
  readonly all: readonly Notification[];
  /** Makes `next` skip the notifications so far. */
  forget(): void;
  /** The names of the notifications, in order. */
  names(): readonly string[];
  /** Resolves with the first past or future notification that `fits` accepts and that was not returned before. */
  next<Name extends Notification["method"]>(
    name: Name,
    fits?: (params: Extract<Notification, { method: Name }>["params"]) => boolean,
  ): Promise<Extract<Notification, { method: Name }>["params"]>;
}

export function listenTo(client: Client): Heard {
  const all: Notification[] = [];
  const taken = new Set<Notification>();
  let wake = () => {};
  client.onNotification((notification) => {
    all.push(notification);
    wake();
  });
  return {
    all,
    forget() {
      for (const one of all) taken.add(one);
    },
    names: () => all.map(({ method }) => method),
    async next(name, fits = () => true) {
      const deadline = Date.now() + 60_000;
      for (;;) {
        const found = all.find((one) => one.method === name && !taken.has(one) && fits(one.params as never));
        if (found !== undefined) {
          taken.add(found);
          return found.params as never;
        }
        const leftMs = deadline - Date.now();
        if (leftMs <= 0)
          throw new Error(
            `no ${name} came; heard: ${all.map(({ method }) => method).join(" ")}${newestLines()}`,
          );
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
}

async function reach(url: string, hasEnded: () => boolean, log: () => string): Promise<Client> {
  const deadline = Date.now() + 60_000; // The time is long, because an emulated processor is slow.
  while (Date.now() < deadline && !hasEnded()) {
    // The service does not listen yet.
    const client = await connect(url).catch(() => undefined);
    if (client !== undefined) return client;
    await Bun.sleep(20);
  }
  throw new Error(`tapdeck does not answer: ${log()}`);
}
