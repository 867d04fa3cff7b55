/** `tapdeck index` and `tapdeck search`: the media of the device at a terminal. */
import { type Client, RpcError } from "../client/client.ts";
import { findMedia, meantMedia } from "../client/finding.ts";
import { type IndexStatus, scriptOf } from "../core/media.ts";
import { printable } from "../core/text.ts";
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

const conflictCode = 6; // The code of `conflict` in docs/API.md.
const barWidth = 24;

/**
 * The progress, such as `[#######.................] Sega Genesis, 12000 files so far`; without the bar in a log. The
 * bar shows the completed steps.
 */
export function progressLine(status: IndexStatus, withBar: boolean): string {
  const { currentStep = 0, totalSteps = 0, currentStepDisplay, totalFiles = 0, optimizing } = status;
  const what = optimizing ? "almost done" : (currentStepDisplay ?? "looking for folders");
  const done = totalSteps === 0 ? 0 : Math.round((barWidth * Math.max(0, currentStep - 1)) / totalSteps);
  const bar = withBar ? `[${"#".repeat(done)}${".".repeat(barWidth - done)}] ` : "";
  // At the start no files are counted yet. The number counts the files of all systems, and not those of the named one.
  const files = totalFiles === 0 ? "" : `, ${totalFiles} files${optimizing ? "" : " so far"}`;
  return `${bar}${printable(what)}${files}`;
}

const resultsShown = 50;
const foldersShown = 5;

/**
 * Folders and the best matches, one a line, as texts for a card. If nothing matches, one wrong letter in the query is
 * tolerated.
 */
export async function searchMedia(client: Client, query: string): Promise<string> {
  const [{ systems }, { folders }] = await Promise.all([
    client.call("systems"),
    client.call("media.folders", { query, maxResults: foldersShown }),
  ]);
  const { results, total, instead } = await findMedia(client, query, systems, resultsShown);
  const texts = [...folders.map(({ path }) => scriptOf(path)), ...results.map(({ zapScript }) => zapScript)];
  if (texts.length === 0) return "Nothing fits. (tapdeck index looks for new files.)";
  const lines = texts.map(printable);
  if (instead !== undefined) lines.unshift(`Nothing fits; this is for "${printable(instead)}":`);
  if (total > results.length) lines.push(`... and ${total - results.length} more: say more of the name`);
  return lines.join("\n");
}

/** A hint such as `; did you mean SNES/Game.sfc?` for a path that no file has, or an empty string. */
export async function meantInstead(client: Client, text: string): Promise<string> {
  const meant = await meantMedia(client, text);
  return meant === undefined ? "" : `; did you mean ${meant.zapScript}?`;
}
