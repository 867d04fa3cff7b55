/** `tapdeck index` and `tapdeck search`: the media of the device at a terminal. */
import { type Client, RpcError } from "../client/client.ts";
import type { IndexStatus } from "../core/media.ts";
import { nearest, printable } from "../core/text.ts";
import { createStatusLine, type Terminal } from "./show.ts";

/**
 * Indexes all systems or those given, and shows the progress. If a run is in progress, it waits for that one first, and then
 * starts its own. Resolves after the end.
 */
export async function indexMedia(
  client: Client,
  systems: readonly string[],
  screen: Terminal,
): Promise<void> {
  const show = createStatusLine(screen);
  using _listening = client.onNotification(({ method, params }) => {
    if (method === "media.indexing" && params.indexing) show(progressLine(params, screen.isTerminal));
  });
  const index = () => client.call("media.index", systems.length === 0 ? {} : { systems: [...systems] });
  try {
    while (!(await isTaken(index()))) await untilIdle(client);
    const { database } = await client.call("media");
    show(`${database.totalMedia ?? 0} files`);
  } finally {
    if (screen.isTerminal) screen.write("\n");
  }
}

/** False if a run is in progress already; throws any other refusal. */
async function isTaken(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (error instanceof RpcError && error.code === conflictCode) return false;
    throw error;
  }
}

/** Resolves when no run is in progress; rejects if the service has ended. */
async function untilIdle(client: Client): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _listening = client.onNotification(({ method, params }) => {
    if (method === "media.indexing" && !params.indexing) resolve();
  });
  // The run may have ended before the listener was added.
  const { database } = await client.call("media");
  if (database.indexing) await Promise.race([promise, client.closed]);
}

const conflictCode = 6; // `conflict` in docs/API.md.
const barWidth = 24;

/** `[#######.................] Sega Genesis, 12000 files so far`; without the bar in a log. The bar shows the completed steps. */
export function progressLine(status: IndexStatus, withBar: boolean): string {
  const { currentStep = 0, totalSteps = 0, currentStepDisplay, totalFiles = 0, optimizing } = status;
  const what = optimizing ? "almost done" : (currentStepDisplay ?? "looking for folders");
  const done = totalSteps === 0 ? 0 : Math.round((barWidth * Math.max(0, currentStep - 1)) / totalSteps);
  const bar = withBar ? `[${"#".repeat(done)}${".".repeat(barWidth - done)}] ` : "";
  // At the start no files are counted yet. The number is that of all systems, and not of the one that is named.
  const files = totalFiles === 0 ? "" : `, ${totalFiles} files${optimizing ? "" : " so far"}`;
  return `${bar}${printable(what)}${files}`;
}

const resultsShown = 50;

/** The best matches, one for each line, in the form for a card. */
export async function searchMedia(client: Client, query: string): Promise<string> {
  const { results, total } = await client.call("media.search", { query, maxResults: resultsShown });
  const lines = results.map(({ zapScript }) => printable(zapScript));
  if (total > results.length) lines.push(`... and ${total - results.length} more: say more of the name`);
  if (total > 0) return lines.join("\n");
  const meant = await meantQuery(client, query);
  return meant === undefined
    ? "Nothing fits. (tapdeck index looks for new files.)"
    : `Nothing fits; did you mean ${printable(meant)}?`;
}

// The first letters of a word are rarely wrong.
const stemChars = 3;
const correctedWordsMax = 4;

/** The query with each unknown word replaced by the nearest word of a name; undefined if that finds nothing. */
async function meantQuery(client: Client, query: string): Promise<string | undefined> {
  const corrected: string[] = [];
  for (const word of query.toLowerCase().split(/\s+/).slice(0, correctedWordsMax)) {
    const { results } = await client.call("media.search", { query: word.slice(0, stemChars) });
    const known = new Set(results.flatMap(({ name }) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u)));
    corrected.push(
      nearest(
        word,
        [...known].filter((one) => one !== ""),
      ) ?? word,
    );
  }
  const meant = corrected.join(" ");
  if (meant === query.toLowerCase()) return undefined;
  const { total } = await client.call("media.search", { query: meant, maxResults: 1 });
  return total > 0 ? meant : undefined;
}

/** `; did you mean SNES/Game.sfc?` for a path that no file has, or an empty string. */
export async function meantInstead(client: Client, text: string): Promise<string> {
  const [, system, name] = /^([^/*@|]+)\/(?:.*\/)?([^/|]+?)(?:\.\w{1,8})?$/.exec(text) ?? [];
  if (system === undefined || name === undefined) return "";
  // An unknown system has no near title.
  const { match } = await client.call("media.lookup", { system, name }).catch(() => ({ match: null }));
  const meant = match?.zapScript ?? (await nearName(client, system, name));
  return meant === undefined || meant === text ? "" : `; did you mean ${meant}?`;
}

async function nearName(client: Client, system: string, name: string): Promise<string | undefined> {
  const query = name.slice(0, stemChars);
  const { results } = await client
    .call("media.search", { query, systems: [system] })
    .catch(() => ({ results: [] }));
  const best = nearest(
    name,
    results.map((media) => media.name),
  );
  return results.find((media) => media.name === best)?.zapScript;
}
