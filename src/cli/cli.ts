/** Runs a command against the service that runs on this device. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Client, connect, type Notification, RpcError } from "../client/client.ts";
import { template } from "../config/settings-table.ts";
import type { Config } from "../config/shape.ts";
import { assert, exitCodes, messageOf, StartError } from "../core/errors.ts";
import { printable, printableJson } from "../core/text.ts";
import { normalizeUid } from "../core/token.ts";
import type { CommandLine, Common, Invocation } from "./arguments.ts";
import { helpText } from "./help.ts";
import { indexMedia, searchMedia } from "./media-command.ts";
import { pairPhone } from "./pair-command.ts";
import { auditText, notificationLine, readersTable } from "./show.ts";
import { runUpdate } from "./update-command.ts";
import { writeTags } from "./write-tags.ts";

interface CliParts {
  readonly configOf: (common: Common) => Promise<Config>;
  /** The path of the config file, which need not exist. */
  readonly configPathOf: (common: Common) => string;
  /** The socket of a service that runs with the same flags. */
  readonly socketPathOf: (common: Common) => string;
  readonly version: string;
}

const auditLines = 20;
const connectMs = 3000;
const queuedMs = 5000; // A tap joins the queue at once, unless its media is still playing in hold mode.
const patienceMs = 10_000; // A script may wait for minutes; after this time a person gets a hint.

const terminal = {
  isTerminal: process.stdout.isTTY === true,
  write: (text: string) => void process.stdout.write(text),
  print,
  prompt: (line: string) => void process.stderr.write(`${line}\n`),
};

/** Prints to stdout and returns the exit code. Throws `StartError` with a sentence for stderr. */
export async function runCommand(
  asked: Exclude<Invocation, { kind: "serve" }>,
  parts: CliParts,
): Promise<number> {
  if (asked.kind === "help") return print(helpText(asked.command).trimEnd());
  if (asked.kind === "version") return print(`tapdeck ${parts.version}`);
  if (asked.command === "config")
    return await printConfig(asked.write ? parts.configPathOf(asked) : undefined);
  if (asked.command === "update") return await updateSystem(asked, parts);
  const params = asked.command === "call" ? parseJson(asked.words[1]) : undefined;
  const client = await reach(asked, parts);
  try {
    switch (asked.command) {
      case "ping":
        await within(asked.timeoutMs ?? connectMs, client.ping());
        return print("pong");
      case "call":
        return print(
          printableJson(
            JSON.stringify(
              await client.callAny(asked.words[0] ?? "", params),
              null,
              process.stdout.isTTY ? 2 : undefined,
            ),
          ),
        );
      case "readers": {
        const { readers } = await client.call("readers");
        return print(asked.json ? JSON.stringify(readers) : readersTable(readers));
      }
      case "tap":
        return await tap(client, asked);
      case "watch":
        return await watch(client, asked.json);
      case "audit":
        return print(await auditText(client, asked.lines ?? auditLines, asked.json));
      case "index":
        await indexMedia(client, asked.words, terminal);
        return exitCodes.ok;
      case "search":
        return print(
          asked.json
            ? JSON.stringify(await client.call("media.search", { query: asked.words.join(" ") }))
            : await searchMedia(client, asked.words.join(" ")),
        );
      case "pair":
        return await pairPhone(client, asked, terminal);
      case "write":
        return await writeTags(client, {
          text: asked.words[0],
          list: asked.list,
          readerId: asked.reader,
          force: asked.force,
          ...terminal,
        });
    }
  } catch (error) {
    if (error instanceof RpcError) throw new StartError(exitCodes.failed, printable(error.message), error);
    throw error;
  } finally {
    client.close();
  }
}

/** Works without the service, because an update may be needed to repair it. */
async function updateSystem(asked: CommandLine, { configOf }: CliParts): Promise<number> {
  assert(asked.update !== undefined, "the words of an update were read");
  return runUpdate(asked.update, {
    screen: terminal,
    port: asked.port ?? (await configOf(asked)).api.port,
  });
}

async function printConfig(path: string | undefined): Promise<number> {
  if (path === undefined) return print(template().trimEnd());
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, template(), { flag: "wx", mode: 0o600 });
    return print(`wrote ${path}`);
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    const why = isThere ? "there is a file already, and it is left alone" : messageOf(error);
    throw new StartError(exitCodes.cannotCreate, `${path}: ${why}`, error);
  }
}

/** Connects by the socket, because another user's process may hold the port; if that fails, by the port. */
async function reach(asked: CommandLine, { configOf, socketPathOf }: CliParts): Promise<Client> {
  const signal = AbortSignal.timeout(asked.timeoutMs ?? connectMs);
  if (asked.port === undefined) {
    // The service may be absent or another user's; the port decides.
    const client = await connect(`ws+unix://${socketPathOf(asked)}:/api/v0.1`, { signal }).catch(
      () => undefined,
    );
    if (client !== undefined) return client;
  }
  const port = asked.port ?? (await configOf(asked)).api.port;
  try {
    return await connect(`ws://127.0.0.1:${port}/api/v0.1`, { signal });
  } catch (error) {
    throw new StartError(
      exitCodes.unavailable,
      `no tapdeck answers on port ${port}: start it with tapdeck`,
      error,
    );
  }
}

/** Taps on the simulated reader if there is one, waits for the end of the script, and prints the result. */
async function tap(client: Client, { words: [text = ""], uid, durationMs }: CommandLine): Promise<number> {
  const { readers } = await client.call("readers");
  const simulated = readers.find((reader) => reader.driver === "simulated" && reader.connected);
  if (uid !== undefined) await untilOff(client, uid);
  const finished = Promise.withResolvers<Extract<Notification, { method: "launch.finished" }>["params"]>();
  let started = "";
  let isOurs = false;
  const queued = Promise.withResolvers<void>();
  client.onNotification((notification) => {
    if (notification.method === "tokens.added" && notification.params.text === text) isOurs = true;
    if (!isOurs) return;
    if (notification.method === "running" && notification.params.text === text) queued.resolve();
    if (notification.method === "media.started")
      started = `${notification.params.mediaName} (${notification.params.launcherId})`;
    if (notification.method === "launch.finished" && notification.params.text === text)
      finished.resolve(notification.params);
  });
  await client.call("tokens.scan", {
    text,
    ...(uid === undefined ? {} : { uid }),
    ...(durationMs === undefined ? {} : { duration: durationMs }),
    ...(simulated === undefined ? {} : { readerId: simulated.readerId }),
  });
  const ended = finished.promise.then(() => {});
  await within(
    queuedMs,
    Promise.race([queued.promise, ended]),
    "the card lies on the reader, and nothing was launched: what it started may play still (hold mode), or the reader is busy",
  );
  const impatient = setTimeout(() => {
    process.stderr.write("its script takes its time; Ctrl-C ends the waiting, and not the script\n");
  }, patienceMs);
  const { success, error, note } = await finished.promise.finally(() => clearTimeout(impatient));
  if (!success) throw new StartError(exitCodes.failed, printable(error ?? "the launch failed"));
  const what = started === "" ? "done" : `started ${started}`;
  return print(printable(note === undefined ? what : `${what}: ${note}`));
}

const lyingMsMax = 5000;

/** Waits until the card is off the reader, because a card that is still on it causes no tap. */
async function untilOff(client: Client, uid: string): Promise<void> {
  const same = normalizeUid(uid);
  const isSame = (token: { readonly uid: string }) => token.uid.toLowerCase() === same;
  const off = Promise.withResolvers<void>();
  using _listening = client.onNotification((notification) => {
    if (notification.method === "tokens.removed" && isSame(notification.params)) off.resolve();
  });
  const { active } = await client.call("tokens");
  if (!active.some(isSame)) return;
  await within(lyingMsMax, off.promise, `a card with the UID ${uid} lies on the reader: take it off first`);
}

async function watch(client: Client, json: boolean): Promise<number> {
  const interrupted = new Promise<"interrupted">((resolve) =>
    process.once("SIGINT", () => resolve("interrupted")),
  );
  client.onNotification((notification) => {
    print(json ? JSON.stringify(notification) : notificationLine(notification, new Date()));
  });
  const end = await Promise.race([interrupted, client.closed]);
  if (end === "interrupted") return exitCodes.ok;
  throw new StartError(exitCodes.failed, "the service has ended");
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartError(exitCodes.usage, `the params are not JSON: ${messageOf(error)}`, error);
  }
}

async function within<T>(
  ms: number,
  promise: Promise<T>,
  sentence = `no answer came within ${ms} ms`,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StartError(exitCodes.failed, sentence)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return exitCodes.ok;
}
