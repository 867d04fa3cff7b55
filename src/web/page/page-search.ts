/** Search as you type, with pages. Results can be launched or written to a card, if the rights allow it. */
import type { Calls, Client } from "../../client/client.ts";
import { messageOf } from "../../core/errors.ts";
import {
  button,
  el,
  madeInSlices,
  named,
  note,
  openDialog,
  replaceKeepingFocus,
  section,
  telling,
} from "./dom.ts";
import { findMedia, foundMax } from "./finding.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { queueCard } from "./write-many.ts";

const waitMs = 120;
const pageRows = 40;

export interface Abilities {
  readonly canPlay: boolean;
  /** Receives `launch.finished`, with the reason of a failure. */
  readonly canChange: boolean;
  /** A reader that can write is connected. */
  readonly canWrite: () => boolean;
  /** Asks for the readers again, for `canWrite`. */
  readonly lookForWriters: () => Promise<void>;
}

/** A file of the library, in a row. */
export interface Listed {
  readonly name: string;
  readonly path: string;
  readonly zapScript: string;
  readonly systemName: string;
}

/** A field with the rows of its results below, each made by `row`. */
export function searchBox(client: Client, row: (found: Listed) => HTMLElement) {
  const input = el("input", {
    type: "search",
    placeholder: say.find,
    "aria-label": say.find,
    autocomplete: "off",
    enterkeyhint: "search",
  });
  const list = el("ul", { class: "rows" });
  const count = el("p", { class: "more later", role: "status" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;
  let most = pageRows;
  let systems: Promise<Calls["systems"]["result"]> | undefined;

  const search = async () => {
    const query = input.value.trim();
    asked += 1;
    const number = asked;
    if (query === "") {
      list.replaceChildren();
      count.textContent = "";
      more.hidden = true;
      return;
    }
    systems ??= client.call("systems");
    const found = await findMedia(client, query, (await systems).systems, most);
    if (number !== asked) return;
    const { results, total, instead } = found;
    const isFirst = most === pageRows;
    const before = isFirst ? 0 : list.childElementCount;
    const rows = await madeInSlices(results.slice(before), ({ system, ...item }) =>
      row({ ...item, systemName: system.name }),
    );
    // A later query may have been answered first.
    if (number !== asked) return;
    if (isFirst) replaceKeepingFocus(list, rows);
    else list.append(...rows);
    more.hidden = results.length >= total || most >= foundMax;
    const shown = total === 0 ? say.nothingFits : say.shownOf(results.length, total);
    count.textContent = instead === undefined ? shown : say.foundInstead(instead, shown);
  };
  const more = button(
    say.showMore,
    async () => {
      most += pageRows;
      const before = list.childElementCount;
      await search();
      list.children[before]?.querySelector("button")?.focus();
    },
    { class: "later" },
  );
  more.hidden = true;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      most = pageRows;
      search().catch((error: unknown) => {
        count.textContent = messageOf(error);
      });
    }, waitMs);
  });
  const forget = () => {
    systems = undefined;
  };
  return { input, parts: [input, count, list, more], search, forget };
}

/** Makes rows that launch their media, or write them to a card. */
export function playRows({ client, pictures, canPlay, canChange, canWrite }: Shared) {
  return ({ name, path, systemName, zapScript }: Listed): HTMLElement => {
    const launch = telling(async () => {
      await client.call("launch", zapScript);
      // The playing card shows the new media.
      note(canChange ? say.starting(name) : say.asked);
    });
    const later = () => note(say.cards.queued(name, queueCard(name, zapScript)));
    const write = () => writeToCard(client, name, { text: zapScript }, later);
    const what = [pictures.inRow(path), el("span", {}, ...named(name, systemName))];
    return el(
      "li",
      {},
      canPlay
        ? el("button", { type: "button", class: "row", onclick: launch }, ...what)
        : el("div", { class: "what row" }, ...what),
      canWrite() ? button(say.card, write, { "aria-label": say.writeCard(name) }) : undefined,
    );
  };
}

export function searchCard(shared: Shared): PageCard {
  const { parts, search, forget } = searchBox(shared.client, playRows(shared));
  return {
    card: section(shared.canPlay ? say.play : say.search, ...parts),
    hears: ["readers.added", "readers.removed"],
    hear: ({ method, params }) => method === "media.indexing" && !params.indexing && forget(),
    async refresh() {
      forget();
      await shared.lookForWriters();
      await search();
    },
  };
}

/**
 * Shows a dialog until the card is written or the dialog closed; false if it was closed. Rejects if the service refuses the
 * card. With `later` the dialog offers to write the card later, with others.
 */
export async function writeToCard(
  client: Client,
  name: string,
  what: Calls["readers.write"]["params"],
  later?: () => void,
): Promise<boolean> {
  let isWaiting = true;
  const queue = async () => {
    dialog.close();
    later?.();
  };
  const more = later === undefined ? undefined : button(say.cards.later, queue, { class: "wide" });
  const dialog = openDialog(say.write, say.cancel, el("p", {}, say.writeTo(name)), more);
  void dialog.closed.then(() => {
    // The write may have ended already; then there is nothing to cancel.
    if (isWaiting) client.call("readers.write.cancel").catch(() => {});
    isWaiting = false;
  });
  try {
    await client.call("readers.write", what);
    note(say.written(name));
    return true;
  } catch (error) {
    if (isWaiting) throw error;
    return false;
  } finally {
    isWaiting = false;
    dialog.close();
  }
}
