/** `tapdeck index` and `tapdeck search`: the media of the device at a terminal. */
import { type Client, RpcError } from "../client/client.ts";
import type { IndexStatus } from "../core/media.ts";
import { printable } from "../core/text.ts";

export interface TerminalOutput {
  /** A person looks at it, who sees one line change rather than many. */
  readonly isTerminal: boolean;
  write(text: string): void;
}

/**
 * Indexes all, or the systems given, and shows how far it is. Where a run is under way, that one is followed first, and then
 * what came behind its back is looked for. Resolves when it is done.
 */
export async function indexMedia(
  client: Client,
  systems: readonly string[],
  screen: TerminalOutput,
): Promise<void> {
  let shown = "";
  const show = (text: string) => {
    if (text === shown) return;
    shown = text;
    screen.write(screen.isTerminal ? `\r\x1b[K${text}` : `${text}\n`);
  };
  const listening = client.onNotification(({ method, params }) => {
    if (method === "media.indexing" && params.indexing) show(progressLine(params, screen.isTerminal));
  });
  const index = () => client.call("media.index", systems.length === 0 ? {} : { systems: [...systems] });
  try {
    while (!(await isTaken(index()))) await untilIdle(client);
    const { database } = await client.call("media");
    show(`${database.totalMedia ?? 0} files`);
  } finally {
    listening[Symbol.dispose]();
    if (screen.isTerminal) screen.write("\n");
  }
}

/** False where a run is under way already; any other refusal is thrown. */
async function isTaken(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (error instanceof RpcError && error.code === conflictCode) return false;
    throw error;
  }
}

/** Resolves when no run is under way; rejects where the service is gone. */
async function untilIdle(client: Client): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const listening = client.onNotification(({ method, params }) => {
    if (method === "media.indexing" && !params.indexing) resolve();
  });
  try {
    // It may have ended before anybody listened.
    const { database } = await client.call("media");
    if (database.indexing) await Promise.race([promise, client.closed]);
  } finally {
    listening[Symbol.dispose]();
  }
}

const conflictCode = 6; // Decisions, "Errors".
const barWidth = 24;

/**
 * `[#######.................] Sega Genesis, 12000 files`; without the bar where it would only fill a log. The bar shows the
 * steps that are over.
 */
export function progressLine(status: IndexStatus, withBar: boolean): string {
  const { currentStep = 0, totalSteps = 0, currentStepDisplay, totalFiles = 0, optimizing } = status;
  const what = optimizing ? "almost done" : (currentStepDisplay ?? "looking for folders");
  const done = totalSteps === 0 ? 0 : Math.round((barWidth * Math.max(0, currentStep - 1)) / totalSteps);
  const bar = withBar ? `[${"#".repeat(done)}${".".repeat(barWidth - done)}] ` : "";
  // None were counted yet.
  return `${bar}${printable(what)}${totalFiles === 0 ? "" : `, ${totalFiles} files`}`;
}

const resultsShown = 50;

/** The best files, one a line, ready to be put on a card. */
export async function searchMedia(client: Client, query: string): Promise<string> {
  const { results, total } = await client.call("media.search", { query, maxResults: resultsShown });
  const lines = results.map(({ zapScript }) => printable(zapScript));
  if (total > results.length) lines.push(`... and ${total - results.length} more: say more of the name`);
  return total === 0 ? "Nothing fits. (tapdeck index looks for new files.)" : lines.join("\n");
}
