/** Search as you type. Results can be launched or written to a card, if the rights allow it. */
import type { Calls, Client } from "../../client/client.ts";
import { messageOf } from "../../core/errors.ts";
import { button, el, named, note, openDialog, section, telling } from "./dom.ts";
import { say } from "./page-texts.ts";

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
    placeholder: say.find,
    "aria-label": say.find,
    autocomplete: "off",
    enterkeyhint: "search",
  });
  const list = el("ul", { class: "rows" });
  const count = el("p", { class: "more", role: "status" });
  const card = section(canPlay ? say.play : say.search, input, list, count);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;

  const row = ({ name, system, zapScript }: Found) => {
    const launch = telling(async () => {
      await client.call("launch", zapScript);
      // The playing card shows the new media.
      note(canChange ? say.starting(name) : say.asked);
    });
    const write = () => writeToCard(client, name, zapScript);
    const what = named(name, system.name);
    return el(
      "li",
      {},
      canPlay
        ? el("button", { type: "button", class: "row", onclick: launch }, ...what)
        : el("div", { class: "what" }, ...what),
      canWrite() ? button(say.card, write, { "aria-label": say.writeCard(name) }) : undefined,
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
    count.textContent = total === 0 ? say.nothingFits : total > results.length ? say.tooMany(total) : "";
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
  const dialog = openDialog(say.write, say.cancel, el("p", {}, say.writeTo(name)));
  void dialog.closed.then(() => {
    // The write may have ended already; then there is nothing to cancel.
    if (isWaiting) client.call("readers.write.cancel").catch(() => {});
    isWaiting = false;
  });
  try {
    await client.call("readers.write", { text });
    note(say.written(name));
  } catch (error) {
    if (isWaiting) throw error;
  } finally {
    isWaiting = false;
    dialog.close();
  }
}
