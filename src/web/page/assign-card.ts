/** The card for a new card: it appears when a card without a meaning lies on a reader, and gives the card one. */
import type { Calls } from "../../client/client.ts";
import { button, el, named, note, section } from "./dom.ts";
import { readerEvents } from "./page-status.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { type Listed, searchBox } from "./search-box.ts";
import { writeToCard } from "./write-card.ts";
import { causeOf } from "./write-many.ts";

type Token = Calls["tokens"]["result"]["active"][number];

/** Causes of `readers.write` after which another try on the same card fails again. */
const unwritable = new Set(["locked", "too-small", "mismatch", "password", "foreign", "unsupported"]);

export function assignCard({ client, pictures }: Shared): PageCard {
  let token: Token | undefined;
  /** The card that the visitor has dealt with; it may still lie there. */
  let handled = "";
  const row = ({ name, path, systemName, zapScript }: Listed) => {
    const what = [pictures.inRow(path), el("span", {}, ...named(name, systemName))];
    const choose = button("", () => save(name, zapScript), {
      class: "row",
      "aria-label": say.chooseFor(name),
    });
    choose.replaceChildren(...what);
    return el(
      "li",
      {},
      choose,
      tryButton(() => zapScript, { "aria-label": say.tryOf(name) }),
    );
  };
  const tryButton = (text: () => string, props = {}) =>
    button(say.tryIt, () => client.call("run", { text: text() }), props);
  const state = el("p", { role: "status" });
  const { input, parts } = searchBox(client, row);
  const own = el("input", {
    "aria-label": say.ownText,
    placeholder: say.ownTextExample,
    autocomplete: "off",
  });
  const typed = () => {
    const text = own.value.trim();
    if (text === "") throw new Error(say.typeFirst);
    return text;
  };
  const test = tryButton(typed);
  const keep = button(say.saveText, async () => save(typed(), typed()), { class: "main" });
  const ownText = el(
    "details",
    { class: "own" },
    el("summary", {}, say.ownText),
    own,
    el("div", { class: "bar" }, keep, test),
  );
  const notNow = button(say.notNow, async () => hide(), { class: "later" });
  const card = section(say.newCard, state, ...parts, ownText, notNow);
  card.classList.add("new");

  const hide = () => {
    if (token !== undefined) handled = visitOf(token);
    token = undefined;
    card.hidden = true;
    input.value = "";
    own.value = "";
    ownText.open = false;
    input.dispatchEvent(new Event("input"));
  };
  /** Writes the text to the card; a card that cannot be written gets a mapping of its UID. */
  const save = async (name: string, text: string) => {
    const chosen = token;
    if (chosen === undefined) return;
    const { readers } = await client.call("readers");
    const reader = readers.find(({ readerId }) => readerId === chosen.readerId);
    const isWritable = reader?.connected === true && reader.capabilities.includes("write");
    if (isWritable && chosen.problem !== "locked") {
      try {
        if (!(await writeToCard(client, name, { text, readerId: chosen.readerId }))) return;
        return hide();
      } catch (error) {
        if (!unwritable.has(causeOf(error)) || chosen.uid === "") throw error;
      }
    }
    const rule = { enabled: true, label: name, type: "uid", match: "exact", pattern: chosen.uid } as const;
    await client.call("mappings.new", { ...rule, override: text });
    note(say.mapped(name));
    hide();
  };
  hide();
  return {
    card,
    hears: ["launch.finished", ...readerEvents],
    /** Shows the card on a reader that has no meaning. The latest launch of a card says whether it has one. */
    async refresh(): Promise<void> {
      const [{ active }, { entries }] = await Promise.all([
        client.call("tokens"),
        client.call("tokens.history", { limit: recentMax }),
      ]);
      const hasNoMeaning = ({ uid, text, readerId }: Token) => {
        const latest = entries.find((entry) => entry.uid === uid && entry.readerId === readerId);
        return text === "" && latest?.state === "failed" && !latest.script;
      };
      const found = active.find((one) => hasNoMeaning(one) && visitOf(one) !== handled);
      if (found === undefined) {
        // The visitor may have begun to choose.
        const isBusy =
          input.value !== "" || own.value !== "" || document.querySelector("dialog[open]") !== null;
        if (token !== undefined && !isBusy) hide();
        return;
      }
      if (token !== undefined && visitOf(found) === visitOf(token)) return;
      token = found;
      state.textContent = say.newCardIs(found.uid, found.problem === "locked");
      card.hidden = false;
    },
  };
}

const recentMax = 20;

/** Identifies a card from its arrival to its removal. */
const visitOf = ({ uid, readerId, scanTime }: Token) => `${readerId} ${uid} ${scanTime}`;
