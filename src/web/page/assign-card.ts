/** The card for a new card: it appears when a card without a meaning is on a reader, and gives the card a meaning. */
import type { Calls } from "../../client/client.ts";
import { cardChoice } from "./card-choice.ts";
import { button, el, note, section } from "./dom.ts";
import { readerEvents } from "./page-status.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { writeToCard } from "./write-card.ts";
import { causeOf } from "./write-many.ts";

type Token = Calls["tokens"]["result"]["active"][number];

/** Causes of `readers.write` after which another try on the same card fails again. */
const unwritable = new Set(["locked", "too-small", "mismatch", "password", "foreign", "unsupported"]);

export function assignCard(shared: Shared): PageCard {
  const { client } = shared;
  let token: Token | undefined;
  /** The card that the visitor has answered for. It may still lie on the reader. */
  let handled = "";
  const state = el("p", { role: "status" });
  const choice = cardChoice(shared, (name, text) => save(name, text));
  const notNow = button(say.notNow, async () => hide(), { class: "later" });
  const card = section(say.newCard, state, ...choice.parts, notNow);
  card.classList.add("new");

  const hide = () => {
    if (token !== undefined) handled = visitOf(token);
    token = undefined;
    card.hidden = true;
    choice.clear();
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
        const isBusy = choice.isBegun() || document.querySelector("dialog[open]") !== null;
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
