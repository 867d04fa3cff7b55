/** The commands of an owner: the state of the deck, its player, its taps, its mappings and its settings. */
import { type Calls, type Client, RpcError } from "../client/client.ts";
import { exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { type AudioTags, audioTitleOf, lengthText, performerOf } from "../core/media.ts";
import { ago, didYouMean, isRecord, parseJson, printable } from "../core/text.ts";
import { normalizeUid } from "../core/token.ts";
import type { CommandLine } from "./arguments.ts";
import { commandHelp } from "./help.ts";
import { printLog } from "./log-command.ts";
import { exportMappings, importMappings } from "./mapping-files-command.ts";
import { meantInstead } from "./media-command.ts";
import { inColumns, type Terminal } from "./show.ts";

type DeckCommand = (client: Client, asked: CommandLine, screen: Terminal) => Promise<void>;

const historyLines = 20;

export const deckCommands = {
  async status(client, { json }, { print }) {
    const version = await client.call("version");
    const health = await client.call("health");
    const playing = await client.call("media.active");
    const media = await client.call("media");
    if (json) return print(JSON.stringify({ version, health, active: playing, database: media.database }));
    const { connected } = health.readers;
    const total = media.database.totalMedia ?? 0;
    const { mqtt, updates } = health;
    const faults = health.checks.filter(({ ok }) => !ok);
    const rows = [
      ["service", `${version.version} on ${version.platform}, up ${spanOf(health.uptime)}`],
      ["plays", playing === null ? "nothing" : playingText(playing)],
      ["readers", connected === 0 ? "none is connected" : `${connected} connected`],
      ["media", media.database.indexing ? "being indexed" : `${total} in the index`],
      ...(mqtt
        ? [["broker", `${mqtt.connected ? "" : "not "}connected to ${mqtt.broker} as ${mqtt.id}`]]
        : []),
      ...(updates === undefined ? [] : [["updates", updatesText(updates)]]),
      ...faults.map(({ name, reason = "" }) => ["fault", `${name}: ${reason}`]),
    ];
    print(printableRows(rows));
  },
  async stop(client, { json }, { print }) {
    const playing = await client.call("media.active");
    await client.call("stop");
    if (json) print(JSON.stringify({ stopped: playing }));
    else print(playing === null ? "nothing plays" : printable(`stopped ${playing.mediaName}`));
  },
  async pause(client, { json }, { print }) {
    await client.call("media.control", { action: "toggle" });
    const playing = await client.call("media.active");
    if (json) print(JSON.stringify({ active: playing }));
    else print(playing?.playbackState === "paused" ? "paused" : "continued");
  },
  next: (client, asked, screen) => move(client, asked, screen, "next"),
  previous: (client, asked, screen) => move(client, asked, screen, "previous"),
  async seek(client, { words: [place = ""], json }, { print }) {
    await client.call("media.control", { action: "seek", args: [place] });
    await printPlaying(client, json, print);
  },
  async volume(client, { words: [percent], json }, { print }) {
    if (percent !== undefined) await runScript(client, `**volume:${percent}`);
    const volume = (await client.call("media.active"))?.volume;
    if (json) print(JSON.stringify({ volume: volume ?? null }));
    else if (volume !== undefined) print(`${volume} %`);
    else print(percent === undefined ? "nothing plays that has a volume of its own" : "changed");
  },
  async history(client, { lines = historyLines, json }, { print }) {
    const { entries } = await client.call("tokens.history", { limit: lines });
    const inOrder = entries.toReversed();
    if (json) return print(JSON.stringify({ entries: inOrder }));
    if (inOrder.length === 0) return print("No card was tapped yet.");
    // A mapping launches another text than that of the card.
    const launched = inOrder.map((entry) => ({ ...entry, what: entry.script || entry.text }));
    const missing = launched.filter(({ reason }) => reason === "media-not-found").map(({ what }) => what);
    const meant = new Map<string, string>();
    for (const what of new Set(missing)) meant.set(what, await meantInstead(client, what));
    const rows = launched.map(({ time, uid, what, state, error = "" }) => [
      ago(time, Date.now()),
      uid === "" ? "-" : uid,
      state === "failed" ? "failed" : state === "running" ? "runs" : "done",
      [what, error === "" ? "" : `${error}${meant.get(what) ?? ""}`].filter(Boolean).join(": "),
    ]);
    print(printableRows(rows));
  },
  log: printLog,
  async map(client, asked, screen) {
    const {
      words: [first = "", second],
      next,
      json,
    } = asked;
    if (asked.export !== undefined) return exportMappings(client, asked.export, asked, screen);
    if (asked.import !== undefined) return importMappings(client, asked.import, asked, screen);
    const { print, prompt } = screen;
    if (!next && normalizeUid(first) === "")
      throw wrongUse("the UID is empty: it has hexadecimal digits, such as 04a1b2c3 (tapdeck help map)");
    const uid = next ? await nextUid(client, prompt) : first;
    const override = next ? first : (second ?? "");
    const { id, warning: aboutText, before } = await mapUid(client, uid, override);
    const shown = normalizeUid(uid);
    const warnings = [uidWarning(shown), aboutText].filter((one) => one !== undefined);
    if (json)
      return print(
        JSON.stringify({ id, uid: shown, ...(warnings.length > 0 && { warning: warnings.join("; ") }) }),
      );
    for (const warning of warnings) prompt(printable(`warning: ${warning}`));
    print(
      printable(`mapped ${shown} to ${override}${before === undefined ? "" : `, in place of ${before}`}`),
    );
  },
  async unmap(client, { words: [uid = ""], json }, { print }) {
    const { mappings } = await client.call("mappings");
    const ofUids = mappings.filter(({ type, match }) => type === "uid" && match === "exact");
    const meant = ofUids.filter(({ pattern }) => normalizeUid(pattern) === normalizeUid(uid));
    if (meant.length === 0) {
      const known = ofUids.map(({ pattern }) => normalizeUid(pattern));
      throw exitFailure(`there is no mapping for the UID ${uid}${didYouMean(normalizeUid(uid), known)}`);
    }
    for (const { id } of meant) await client.call("mappings.delete", { id });
    if (json) print(JSON.stringify({ deleted: meant.map(({ id }) => id) }));
    else print(printable(`unmapped ${normalizeUid(uid)}`));
  },
  async settings(client, { words: [action = "get", name, value], json }, { print }) {
    const limits = (await client.call("playtime")).limits;
    const known: Readonly<Record<string, unknown>> = { ...(await client.call("settings")), ...limits };
    if (action === "get" && name === undefined)
      return print(json ? JSON.stringify(known) : printableRows(Object.entries(known).map(settingRow)));
    if ((action !== "get" && action !== "set") || (action === "set") !== (value !== undefined))
      throw wrongUse(
        `use it as: tapdeck ${commandHelp.settings.usage}${didYouMean(action, ["get", "set"])} (tapdeck help settings)`,
      );
    if (name === undefined || !Object.hasOwn(known, name))
      throw wrongUse(
        `there is no setting ${name}${didYouMean(name ?? "", Object.keys(known)) || " here; the config file has more of them"}`,
      );
    if (value !== undefined) {
      const method = Object.hasOwn(limits, name) ? "playtime.limits.update" : "settings.update";
      await client.callAny(method, { [name]: settingValue(value, known[name]) });
      if (json) print("null");
      else print(printable(`set ${name} to ${value}`));
      return;
    }
    print(printable(json ? JSON.stringify({ [name]: known[name] }) : settingText(known[name])));
  },
} as const satisfies Readonly<Record<string, DeckCommand>>;

/** Cards have hexadecimal UIDs. Apps also send a scanned code as the UID, so other texts are no fault. */
function uidWarning(uid: string): string | undefined {
  if (/^[0-9a-f]+$/.test(uid)) return undefined;
  return `${uid} is not hexadecimal, so no card has this UID: it fits only a code that an app sends as one`;
}

/** Makes a mapping of a UID, or changes the text of the mapping that exists for it. */
async function mapUid(client: Client, uid: string, override: string) {
  const fields = { enabled: true, type: "uid", match: "exact", pattern: uid, override } as const;
  try {
    return { ...(await client.call("mappings.new", fields)), before: undefined };
  } catch (error) {
    const { data } = error instanceof RpcError ? error : {};
    if (!isRecord(data) || data.reason !== "conflict" || typeof data.id !== "number") throw error;
    const { id } = data;
    const { mappings } = await client.call("mappings");
    await client.call("mappings.update", { id, override });
    // An update answers null, as docs/API.md says. If an earlier mapping already takes the card, this text needs no warning.
    const { matches, warning } = await client.call("mappings.test", { uid });
    return {
      id,
      warning: matches[0] === id ? warning : undefined,
      before: mappings.find((one) => one.id === id)?.override,
    };
  }
}

/** Resolves with the UID of the next card; rejects when the service has ended, and at once without a reader. */
async function nextUid(client: Client, prompt: Terminal["prompt"]): Promise<string> {
  const { readers } = await client.call("readers");
  if (!readers.some(({ connected }) => connected))
    throw exitFailure("no reader is connected: tapdeck readers lists the readers");
  const { promise, resolve } = Promise.withResolvers<string>();
  using _listening = client.onNotification(({ method, params }) => {
    if (method !== "tokens.added") return;
    if (params.uid === "") prompt("this reader reports no UID: use another reader, or write to the card");
    else resolve(params.uid);
  });
  prompt("lay the card on the reader");
  return await whileOpen(client, promise);
}

/** The outcome of the promise. Rejects when the service has ended, because no notification comes after that. */
export async function whileOpen<T>({ closed }: Pick<Client, "closed">, promise: Promise<T>): Promise<T> {
  const ended = closed.then(() => {
    throw exitFailure("the service has ended");
  });
  return await Promise.race([promise, ended]);
}

/** Moves to the next or previous item of the playlist if there is one, and otherwise of the player. */
async function move(
  client: Client,
  { json }: CommandLine,
  { print }: Terminal,
  way: "next" | "previous",
): Promise<void> {
  const { playlists } = await client.call("media");
  if (playlists.length > 0) await runScript(client, `**playlist.${way}`);
  else await client.call("media.control", { action: way });
  await printPlaying(client, json, print);
}

async function printPlaying(client: Client, json: boolean, print: Terminal["print"]): Promise<void> {
  const playing = await client.call("media.active");
  if (json) print(JSON.stringify({ active: playing }));
  else print(playing === null ? "nothing plays" : printable(playingText(playing)));
}

/** Waits for the end of the script, and throws its error. */
async function runScript(client: Client, text: string): Promise<void> {
  const finished = Promise.withResolvers<string | undefined>();
  using _listening = client.onNotification(({ method, params }) => {
    if (method === "launch.finished" && params.text === text)
      finished.resolve(params.success ? undefined : (params.error ?? "it failed"));
  });
  await client.call("launch", { text });
  const error = await whileOpen(client, finished.promise);
  if (error !== undefined) throw exitFailure(printable(error));
}

/** The value of a typed setting. A list is JSON or words with commas, a text is taken as it is, and anything else is JSON. */
export function settingValue(typed: string, now: unknown): unknown {
  if (typeof now === "string") return typed;
  const value = parseJson(typed);
  if (!Array.isArray(now)) return value === undefined ? typed : value;
  if (Array.isArray(value)) return value;
  const words = typed.split(",").map((word) => word.trim());
  return words
    .filter((word) => word !== "")
    .map((word) => (typeof now[0] === "number" ? Number(word) : word));
}

function settingRow([name, value]: readonly [string, unknown]): readonly string[] {
  return [name, settingText(value)];
}

function settingText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface Playing {
  readonly mediaName: string;
  readonly audio?: AudioTags;
  readonly systemName: string;
  readonly positionMs?: number;
  readonly durationMs?: number;
  readonly playbackState?: string;
}

/** The playing media, such as `Doorbell (Audio), 0:12 of 3:20, paused`. A song is shown by its title and its artist. */
export function playingText({
  mediaName,
  audio,
  systemName,
  positionMs,
  durationMs,
  playbackState,
}: Playing): string {
  const length = durationMs === undefined ? "" : ` of ${lengthText(durationMs)}`;
  const parts = [`${audioTitleOf(mediaName, audio)} (${performerOf(audio) || systemName})`];
  if (positionMs !== undefined) parts.push(`${lengthText(positionMs)}${length}`);
  if (playbackState !== undefined) parts.push(playbackState);
  return parts.join(", ");
}

/** A span of time, such as `2 d 3 h`, `3 h 5 min` or `40 s`. */
function spanOf(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(
    Math.floor,
  );
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

function printableRows(rows: readonly (readonly string[])[]): string {
  return inColumns(rows.map((row) => row.map(printable))).join("\n");
}

function wrongUse(sentence: string): StartError {
  return new StartError(exitCodes.usage, sentence);
}

function updatesText({ server, latest, fault }: NonNullable<Calls["health"]["result"]["updates"]>): string {
  if (latest !== undefined) return `${latest.version} at ${server}${fault === undefined ? "" : `: ${fault}`}`;
  return fault === undefined ? `nothing newer at ${server}` : `the newest version is not known: ${fault}`;
}
