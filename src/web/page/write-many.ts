/** Many cards in a row: a queue of media and texts, and a dialog that asks for one card after another. */
import { type Calls, type Client, RpcError } from "../../client/client.ts";
import { button, el, listCard, named, note, openDialog } from "./dom.ts";
import { PageFault, say, sentenceOf } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { type Listed, searchBox } from "./search-box.ts";

/** The cause of `readers.write` that failed; empty if there is none. */
export function causeOf(error: unknown): string {
  const data: unknown = error instanceof RpcError ? error.data : undefined;
  const cause: unknown = typeof data === "object" && data !== null && "cause" in data ? data.cause : "";
  return String(cause);
}

interface Queued {
  readonly name: string;
  readonly text: string;
  copies: number;
}

const copiesMax = 999;
let queue: Queued[] = [];
const cardCount = () => queue.reduce((sum, { copies }) => sum + copies, 0);

/** Puts a card at the end of the queue, which lasts as long as the page; returns the length of the queue. */
export function queueCard(name: string, text: string): number {
  const known = queue.find((one) => one.text === text);
  if (known === undefined) queue.push({ name, text, copies: 1 });
  else known.copies += 1;
  return cardCount();
}

export function writeManyCard({ client, pictures }: Shared): PageCard {
  const texts = say.cards;
  const add = (name: string, text: string) => {
    queueCard(name, text);
    refresh();
  };
  const row = ({ name, path, systemName, zapScript }: Listed) => {
    const what = [pictures.inRow(path), el("span", {}, ...named(name, systemName))];
    const press = button(texts.add, async () => add(name, zapScript), { "aria-label": texts.addOf(name) });
    return el("li", {}, el("div", { class: "what row" }, ...what), press);
  };
  const search = searchBox(client, row);
  const own = el("input", {
    "aria-label": say.ownText,
    placeholder: say.ownTextExample,
    autocomplete: "off",
  });
  const addText = button(
    texts.addText,
    async () => {
      const text = own.value.trim();
      if (text === "") throw new PageFault(say.typeFirst);
      add(text, text);
      own.value = "";
    },
    { class: "later" },
  );
  const start = button("", () => write(), { class: "main" });
  const { card, show } = listCard(texts.writeMany, texts.writeManyHow, el("div", { class: "bar" }, start));
  card.append(...search.parts, el("details", { class: "own" }, el("summary", {}, say.ownText), own, addText));

  const queuedRow = (one: Queued) => {
    const copies = el("input", {
      type: "number",
      min: "1",
      max: String(copiesMax),
      value: String(one.copies),
      "aria-label": texts.copiesOf(one.name),
    });
    copies.addEventListener("change", () => {
      one.copies = Math.min(Math.max(Math.trunc(copies.valueAsNumber) || 1, 1), copiesMax);
      refresh();
    });
    const remove = async () => {
      queue = queue.filter((other) => other !== one);
      refresh();
    };
    const facts = one.name === one.text ? "" : one.text;
    return el(
      "li",
      {},
      el("div", { class: "what" }, ...named(one.name, facts)),
      copies,
      button(texts.remove, remove, { "aria-label": texts.removeOf(one.name) }),
    );
  };
  const refresh = () => {
    show(queue.map(queuedRow));
    start.textContent = texts.startWriting(cardCount());
    start.hidden = queue.length === 0;
  };
  const write = async () => {
    const jobs = queue.flatMap((one) => Array.from({ length: one.copies }, () => one));
    const done = await writeAll(client, jobs);
    for (const at of done) {
      const one = jobs[at];
      if (one !== undefined) one.copies -= 1;
    }
    queue = queue.filter(({ copies }) => copies > 0);
    refresh();
    note(texts.wroteMany(done.size, jobs.length - done.size));
  };
  return { card, refresh: async () => refresh() };
}

type Wish = "skip" | "back" | "again" | "stop";

/** Resolves with the places of the written jobs, when all had their turn or the visitor stops. */
async function writeAll(client: Client, jobs: readonly Queued[]): Promise<ReadonlySet<number>> {
  const done = new Set<number>();
  const texts = say.cards;
  const place = el("p", { class: "quiet" });
  const state = el("p", { role: "status" }, texts.layNext);
  const name = el("p", { class: "next", "aria-live": "polite" });
  const bar = el("progress", { "aria-label": texts.writeMany });
  let wish: Wish | undefined;
  let wake = () => {};
  /** Ends the present write, or the wait after an error. */
  const ask = (asked: Wish) => {
    wish = asked;
    wake();
    // The write may have ended already, and then there is nothing to cancel.
    client.call("readers.write.cancel").catch(() => {});
  };
  const back = button(say.back, async () => ask("back"));
  const skip = button(texts.skip, async () => ask("skip"));
  const again = button(texts.tryAgain, async () => ask("again"), { class: "main" });
  const keys = el("div", { class: "bar" }, back, skip, again);
  const dialog = openDialog(texts.writeMany, say.stop, place, name, bar, state, keys);
  void dialog.closed.then(() => ask("stop"));
  bar.max = jobs.length;
  let at = 0;
  let isFirst = true;
  while (at < jobs.length && wish !== "stop") {
    const job = jobs[at];
    if (job === undefined) break;
    wish = undefined;
    place.textContent = texts.place(at + 1, jobs.length);
    name.textContent = job.name;
    bar.value = done.size;
    back.disabled = at === 0;
    again.hidden = true;
    // A card that was written or refused must leave the reader first.
    const error = await tryWrite(client, { text: job.text, newTag: !isFirst });
    isFirst = false;
    if (error === undefined) {
      done.add(at);
      state.textContent = texts.layAnother;
      at += wish === "back" ? 0 : 1;
      continue;
    }
    if (wish === undefined) {
      const cause = causeOf(error);
      const known = Object.entries(texts.causes).find(([one]) => one === cause)?.[1];
      if (cause !== "timeout") state.textContent = known ?? sentenceOf(error);
      if (cause !== "") continue;
      // There is no reader or no connection, so another card does not help.
      again.hidden = false;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (wish !== undefined && wish !== "again") state.textContent = texts.layNext;
    if (wish === "skip") at += 1;
    if (wish === "back") at -= 1;
  }
  dialog.close();
  return done;
}

/** The error; undefined if the card was written. */
async function tryWrite(client: Client, what: Calls["readers.write"]["params"]): Promise<unknown> {
  try {
    await client.call("readers.write", what);
    return undefined;
  } catch (error) {
    return error;
  }
}
