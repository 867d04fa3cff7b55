/** Search as you type. Results can be launched or written to a card, if the rights allow it. */
import type { Calls, Client } from "../../client/client.ts";
import { messageOf } from "../../core/errors.ts";
import { button, el, named, note, openDialog, section, telling } from "./dom.ts";

const waitMs = 120;
const shownMax = 40;

type Found = Calls["media.search"]["result"]["results"][number];

interface Abilities {
  readonly canPlay: boolean;
  /** Receives `launch.finished`, with the reason of a failure. */
  readonly canChange: boolean;
  /** A reader that can write is connected. */
  readonly canWrite: () => boolean;
}

export function searchCard(client: Client, { canPlay, canChange, canWrite }: Abilities) {
  const input = el("input", {
    type: "search",
    placeholder: "Find a game, song or film",
    "aria-label": "Find a game, song or film",
    autocomplete: "off",
    enterkeyhint: "search",
  });
  const list = el("ul", { class: "rows" });
  const count = el("p", { class: "more", role: "status" });
  const card = section(canPlay ? "Play something" : "Search", input, list, count);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  const row = ({ name, system, zapScript }: Found) => {
    const launch = telling(async () => {
      await client.call("launch", zapScript);
      // The playing card shows the new media.
      note(canChange ? `Starting ${name}` : "Asked the device to start it.");
    });
    const write = () => writeToCard(client, name, zapScript);
    const what = named(name, system.name);
    return el(
      "li",
      {},
      canPlay
        ? el("button", { type: "button", class: "row", onclick: launch }, ...what)
        : el("div", { class: "what" }, ...what),
      canWrite() ? button("Card", write, { "aria-label": `Write ${name} to a card` }) : undefined,
    );
  };
  const search = async () => {
    const query = input.value.trim();
    asked += 1;
    const number = asked;
    if (query === "") {
      list.replaceChildren();
      count.textContent = "";
      return;
    }
    const { results, total } = await client.call("media.search", { query, maxResults: shownMax });
    // A later query may have been answered first.
    if (number !== asked) return;
    list.replaceChildren(...results.map(row));
    count.textContent =
      total === 0
        ? "Nothing fits."
        : total > results.length
          ? `${total.toLocaleString()} fit: say more of the name.`
          : "";
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      search().catch((error: unknown) => {
        count.textContent = messageOf(error);
      });
    }, waitMs);
  });
  return { card, search };
}

/** Shows a dialog until the card is written or the dialog closed. Rejects if the service refuses the card. */
async function writeToCard(client: Client, name: string, text: string): Promise<void> {
  let isWaiting = true;
  const dialog = openDialog(
    "Write a card",
    "Cancel",
    el("p", {}, `Lay a card on the reader, to hold “${name}”.`),
  );
  void dialog.closed.then(() => {
    // The write may have ended already; then there is nothing to cancel.
    if (isWaiting) client.call("readers.write.cancel").catch(() => {});
    isWaiting = false;
  });
  try {
    await client.call("readers.write", { text });
    note(`Written: ${name}`);
  } catch (error) {
    if (isWaiting) throw error;
  } finally {
    isWaiting = false;
    dialog.close();
  }
}
