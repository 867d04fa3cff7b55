/** Runs a command against the service that runs on this device. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { BackupPlaces } from "../backup/make-backup.ts";
import { type Client, connect, type Notification, RpcError } from "../client/client.ts";
import { template } from "../config/settings-table.ts";
import type { Config } from "../config/shape.ts";
import { asOwnerOf } from "../core/as-owner.ts";
import { assert, codeOf, exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { nextTurn } from "../core/long-lists.ts";
import { didYouMean, isRecord, printable, printableJson } from "../core/text.ts";
import { normalizeUid } from "../core/token.ts";
import type { CommandLine, Common, Invocation } from "./arguments.ts";
import { keepBeforeUpdate, runBackup, runRestore, type ServiceDoor } from "./backup-command.ts";
import { isCardsStatus, makeSharedCards, showSharedCards } from "./cards-command.ts";
import { completionsFor, isShell, shells } from "./completions.ts";
import { deckCommands, whileOpen } from "./deck-commands.ts";
import type { CommandName } from "./help.ts";
import { helpText } from "./help-text.ts";
import { indexMedia, meantInstead, searchMedia } from "./media-command.ts";
import { joinDeck, reachDeck } from "./other-deck.ts";
import { pairPhone } from "./pair-command.ts";
import { auditText, notificationLine, readersText, type Terminal } from "./show.ts";
import { runUpdate } from "./update-command.ts";
import { writeTags } from "./write-tags.ts";

interface CliParts {
  readonly configOf: (common: Common) => Promise<Config>;
  /** The files of a service that runs with the same flags. They need not exist. */
  readonly placesOf: (common: Common) => BackupPlaces & { readonly socketPath: string };
  readonly version: string;
}

const auditLines = 20;
const connectMs = 3000;
const connectForBackupMs = 30_000; // An update keeps the processor of a board busy, and continues without a backup.
const queuedMs = 5000; // A tap joins the queue at once, unless its media is still playing in hold mode.
const patienceMs = 10_000; // A script may wait for minutes; after this time a person gets a hint.

const terminal: Terminal = {
  isTerminal: process.stdout.isTTY === true,
  write: (text) => void process.stdout.write(text),
  print: (line) => void process.stdout.write(`${line}\n`),
  prompt: (line) => void process.stderr.write(`${line}\n`),
};
const { print } = terminal;
const silent: Terminal = { ...terminal, isTerminal: false, write() {} };

/** Prints to stdout and returns the exit code. Throws `StartError` with a sentence for stderr. */
export async function runCommand(
  asked: Exclude<Invocation, { kind: "serve" }>,
  parts: CliParts,
): Promise<number> {
  if (asked.kind === "help") print(helpText(asked.command).trimEnd());
  else if (asked.kind === "version")
    print(asked.json ? JSON.stringify({ version: parts.version }) : `tapdeck ${parts.version}`);
  else if (asked.command === "completions") print(completions(asked.words[0] ?? ""));
  else if (asked.command === "config") await printConfig(asked, parts.placesOf(asked).configPath);
  else if (asked.command === "update") return await updateSystem(asked, parts);
  else if (asked.command === "backup" || asked.command === "restore") await backUp(asked, parts);
  else if (asked.command === "join")
    await joinDeck(asked, dirname(parts.placesOf(asked).configPath), connectMs, terminal);
  else if (asked.command === "cards" && !isCardsStatus(asked.words)) await makeSharedCards(asked, terminal);
  else await askService(commands[asked.command], asked, parts);
  return exitCodes.ok;
}

type Command = (client: Client, asked: CommandLine, screen: Terminal) => Promise<void>;

type Alone = "join" | "backup" | "restore" | "completions" | "config" | "update" | "version" | "help";

/** The commands that need a service. */
const commands: Readonly<Record<Exclude<CommandName, Alone>, Command>> = {
  ...deckCommands,
  async ping(client, { timeoutMs = connectMs, json }) {
    await within(timeoutMs, client.ping());
    print(json ? '{"pong":true}' : "pong");
  },
  async call(client, { words: [method = ""], params }) {
    const result = await client.callAny(method, withDefaults(method, params));
    print(printableJson(JSON.stringify(result, null, terminal.isTerminal ? 2 : undefined)));
  },
  async readers(client, { json }) {
    const found = await client.call("readers");
    print(json ? JSON.stringify(found.readers) : readersText(found));
  },
  tap,
  watch,
  async audit(client, { lines = auditLines, json }) {
    print(await auditText(client, lines, json));
  },
  async index(client, { words, json }) {
    await indexMedia(client, words, json ? silent : terminal);
    if (json) print(JSON.stringify((await client.call("media")).database));
  },
  async search(client, { words, json }) {
    const query = words.join(" ");
    print(
      json ? JSON.stringify(await client.call("media.search", { query })) : await searchMedia(client, query),
    );
  },
  cards: (client, asked) => showSharedCards(client, asked, terminal),
  pair: (client, asked) => pairPhone(client, asked, terminal),
  write: (client, { words: [text], list, reader: readerId, force, json }) =>
    writeTags(client, { text, list, readerId, force, json, ...terminal }),
};

function completions(shell: string): string {
  if (isShell(shell)) return completionsFor(shell).trimEnd();
  const sentence = `there are completions for ${shells.join(", ")}, and none for ${shell}${didYouMean(shell, shells)}`;
  throw new StartError(exitCodes.usage, sentence);
}

async function askService(command: Command, asked: CommandLine, parts: CliParts): Promise<void> {
  const { client } =
    asked.host === undefined ? await reach(asked, parts) : await reachOther(asked.host, asked, parts);
  try {
    await command(client, asked, terminal);
  } catch (error) {
    throw await shownError(error, client);
  } finally {
    client.close();
  }
}

/** The error as a person sees it: the sentence of a refusal, or the end of the service, which each pending call reports. */
async function shownError(error: unknown, client: Client | undefined): Promise<unknown> {
  if (error instanceof RpcError) return exitFailure(printable(error.message), error);
  if (error instanceof StartError || client === undefined) return error;
  const hasEnded = await Promise.race([client.closed.then(() => true), nextTurn().then(() => false)]);
  return hasEnded ? exitFailure("the service has ended", error) : error;
}

const reachOther = async (host: string, asked: CommandLine, { placesOf }: CliParts) => ({
  client: await reachDeck(host, dirname(placesOf(asked).configPath), asked.timeoutMs ?? connectMs),
});

/** Also works without the service, unless a port is named; a restore may repair the settings. */
async function backUp(asked: CommandLine, parts: CliParts): Promise<void> {
  const door = await ifReached(asked, parts);
  try {
    const run = asked.command === "backup" ? runBackup : runRestore;
    await run(asked, { screen: terminal, places: parts.placesOf(asked), door });
  } catch (error) {
    throw await shownError(error, door?.client);
  } finally {
    door?.client.close();
  }
}

const absences: readonly number[] = [exitCodes.unavailable, exitCodes.config];

async function ifReached(asked: CommandLine, parts: CliParts): Promise<ServiceDoor | undefined> {
  try {
    return await reach(asked, parts);
  } catch (error) {
    const isAway = error instanceof StartError && absences.includes(error.exitCode);
    if (isAway && asked.port === undefined) return undefined;
    throw error;
  }
}

/** The API requires `enabled` of a new mapping; at the command line a mapping without it is enabled. */
export function withDefaults(method: string, params: unknown): unknown {
  return method === "mappings.new" && isRecord(params) ? { enabled: true, ...params } : params;
}

/** Works without the service, because an update may be needed to repair it. */
async function updateSystem(asked: CommandLine, parts: CliParts): Promise<number> {
  assert(asked.update !== undefined, "the words of an update were read");
  return runUpdate(asked.update, {
    screen: terminal,
    json: asked.json,
    port: asked.port ?? (await parts.configOf(asked)).api.port,
    async keepBackup() {
      const { timeoutMs = connectForBackupMs } = asked;
      return keepBeforeUpdate(await ifReached({ ...asked, timeoutMs }, parts));
    },
  });
}

async function printConfig({ write, json }: CommandLine, path: string): Promise<void> {
  if (!write) return print(json ? JSON.stringify({ toml: template() }) : template().trimEnd());
  try {
    await asOwnerOf(dirname(path), async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, template(), { flag: "wx", mode: 0o600 });
    });
    print(json ? JSON.stringify({ wrote: path }) : `wrote ${path}`);
  } catch (error) {
    const why =
      codeOf(error) === "EEXIST" ? "there is a file already, and it is left alone" : fileFault(error);
    throw new StartError(exitCodes.cannotCreate, `${path}: ${why}`, error);
  }
}

/** Connects by the socket, because another user's process may hold the port; if that fails, by the port. */
async function reach(asked: CommandLine, { configOf, placesOf }: CliParts): Promise<ServiceDoor> {
  const signal = AbortSignal.timeout(asked.timeoutMs ?? connectMs);
  if (asked.port === undefined) {
    // If the socket does not answer, the service may be absent or may belong to another user; the port below decides.
    const unix = placesOf(asked).socketPath;
    const address = `ws+unix://${unix}:/api/v0.1`;
    const client = await connect(address, { signal }).catch(() => undefined);
    if (client !== undefined) return { client, address, http: { url: "http://localhost/backup", unix } };
  }
  const port = asked.port ?? (await configOf(asked)).api.port;
  try {
    const address = `ws://127.0.0.1:${port}/api/v0.1`;
    return {
      client: await connect(address, { signal }),
      address,
      http: { url: `http://127.0.0.1:${port}/backup` },
    };
  } catch (error) {
    const sentence = signal.aborted
      ? `no tapdeck answered on port ${port} in ${asked.timeoutMs ?? connectMs} ms: wait longer with --timeout, or start it with tapdeck`
      : `no tapdeck answers on port ${port}: start it with tapdeck`;
    throw new StartError(exitCodes.unavailable, sentence, error);
  }
}

/** Taps on the simulated reader if there is one, waits for the end of the script, and prints the result. */
async function tap(
  client: Client,
  { words: [text = ""], uid, durationMs, json }: CommandLine,
): Promise<void> {
  const { readers } = await client.call("readers");
  const simulated = readers.find((reader) => reader.driver === "simulated" && reader.connected);
  if (uid !== undefined) await untilOff(client, uid);
  const finished = Promise.withResolvers<Extract<Notification, { method: "launch.finished" }>["params"]>();
  let started = "";
  let isOurs = false;
  const queued = Promise.withResolvers<void>();
  const written = Promise.withResolvers<"written">();
  client.onNotification((notification) => {
    if (notification.method === "tokens.written" && notification.params.readerId === simulated?.readerId)
      written.resolve("written");
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
  const began = await within(
    queuedMs,
    whileOpen(client, Promise.race([queued.promise, ended, written.promise])),
    "the card lies on the reader, and nothing was launched: its media may still play (hold mode), or the reader is busy",
  );
  // The write used the card, and its own command prints the result.
  if (began === "written") return print(json ? '{"written":true}' : "written, not launched");
  const impatient = setTimeout(() => {
    process.stderr.write("its script takes its time; Ctrl-C ends the waiting, and not the script\n");
  }, patienceMs);
  const result = await whileOpen(client, finished.promise).finally(() => clearTimeout(impatient));
  const { success, error, note } = result;
  if (json) print(JSON.stringify(result));
  if (!success)
    throw exitFailure(printable(`${error ?? "the launch failed"}${await meantInstead(client, text)}`));
  if (json) return;
  const what = started === "" ? "done" : `started ${started}`;
  print(printable(note === undefined ? what : `${what}: ${note}`));
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

async function watch(client: Client, { json }: CommandLine): Promise<void> {
  const interrupted = new Promise<"interrupted">((resolve) =>
    process.once("SIGINT", () => resolve("interrupted")),
  );
  client.onNotification((notification) => {
    print(json ? JSON.stringify(notification) : notificationLine(notification, new Date()));
    const { method, params } = notification;
    if (json || method !== "launch.finished" || params.reason !== "media-not-found") return;
    const tell = (meant: string) => {
      if (meant !== "") print(printable(meant.replace("; ", "          ")));
    };
    // Without a connection no hint can be added.
    meantInstead(client, params.text).then(tell, () => {});
  });
  const end = await Promise.race([interrupted, client.closed]);
  if (end !== "interrupted") throw exitFailure("the service has ended");
}

async function within<T>(
  ms: number,
  promise: Promise<T>,
  sentence = `no answer came within ${ms} ms`,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(exitFailure(sentence)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
