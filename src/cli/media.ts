/** `tapdeck index` and `tapdeck search`: the media of the device at a terminal. */
import type { Client } from "../client/client.ts";
import type { IndexStatus } from "../core/media.ts";
import { printable } from "../core/printable.ts";

export interface Screen {
  /** A person looks at it, who sees one line change rather than many. */
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Indexes all, or the systems given, and shows how far it is. Resolves when it is done. */
export async function indexMedia(client: Client, systems: readonly string[], screen: Screen): Promise<void> {
  let shown = "";
  const show = (text: string) => {
    if (text === shown) return;
    shown = text;
    screen.write(screen.isTerminal ? `\r\x1b[K${text}` : `${text}\n`);
  };
  const listening = client.onNotification(({ method, params }) => {
    if (method === "media.indexing" && params.indexing) show(progressLine(params, screen.isTerminal));
  });
  try {
    await client.call("media.index", systems.length === 0 ? {} : { systems: [...systems] });
    const { database } = await client.call("media");
    show(`${database.totalMedia ?? 0} files`);
  } finally {
    listening[Symbol.dispose]();
    if (screen.isTerminal) screen.write("\n");
  }
}

const barWidth = 24;

/** `[#######.................] Sega Genesis, 12000 files`; without the bar where it would only fill a log. */
export function progressLine(status: IndexStatus, withBar: boolean): string {
  const { currentStep = 0, totalSteps = 0, currentStepDisplay, totalFiles = 0, optimizing } = status;
  const what = optimizing ? "almost done" : (currentStepDisplay ?? "looking for folders");
  const done = totalSteps === 0 ? 0 : Math.round((barWidth * currentStep) / totalSteps);
  const bar = withBar ? `[${"#".repeat(done)}${".".repeat(barWidth - done)}] ` : "";
  return `${bar}${printable(what)}, ${totalFiles} files`;
}

const resultsShown = 50;

/** The best files, one a line, ready to be put on a card. */
export async function searchMedia(client: Client, query: string): Promise<string> {
  const { results, total } = await client.call("media.search", { query, maxResults: resultsShown });
  const lines = results.map(({ zapScript }) => printable(zapScript));
  if (total > results.length) lines.push(`... and ${total - results.length} more: say more of the name`);
  return total === 0 ? "Nothing fits. (tapdeck index looks for new files.)" : lines.join("\n");
}
