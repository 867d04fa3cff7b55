/** The search on the page. Results can be launched or written to a card, if the rights allow it. */
import type { Calls, Client } from "../../client/client.ts";
import { button, el, named, note, openDialog, section, telling } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { type Listed, searchBox } from "./search-box.ts";
import { queueCard } from "./write-many.ts";

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
