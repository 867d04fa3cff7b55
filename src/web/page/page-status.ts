/** The cards for the index, the last taps, and the readers with their cards; buttons appear if the rights allow them. */
import type { Calls, Notification } from "../../client/client.ts";
import { type IndexStatus, mediaNameOf } from "../../core/media.ts";
import type { LaunchEntry } from "../../core/playback.ts";
import { button, el, listCard, named, section, telling } from "./dom.ts";
import { whenOf } from "./local-forms.ts";
import { reasonOf, say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

export function indexCard({ client, canChange }: Shared): PageCard {
  const text = el("p", { class: "quiet" });
  const bar = el("progress", { "aria-label": say.indexing });
  const start = button(say.index, () => client.call("media.index", {}));
  const card = section(say.library, bar, text, canChange ? el("div", { class: "bar" }, start) : undefined);
  const show = ({ indexing, optimizing, exists, currentStepDisplay = "", ...counts }: IndexStatus) => {
    const { totalSteps = 0, currentStep = 0, totalFiles = 0, totalMedia = 0 } = counts;
    bar.hidden = !indexing;
    start.hidden = indexing;
    if (totalSteps > 0) {
      bar.max = totalSteps;
      bar.value = currentStep;
    }
    const state = optimizing ? say.indexAlmost(totalFiles) : say.indexAt(currentStepDisplay, totalFiles);
    text.textContent = indexing ? state : exists ? say.indexed(totalMedia) : say.notIndexed;
  };
  return {
    card,
    hear: ({ method, params }) => method === "media.indexing" && show(params),
    refresh: async () => show((await client.call("media")).database),
  };
}

/** The path that a card's text starts, or the text. */
function startedBy(script: string): string {
  return /^\*\*(?:launch|playlist\.(?:play|open|load)):([^,?|]+)$/.exec(script)?.[1] ?? script;
}

const isPath = (text: string) => /^@?[^*:?|]+\/[^*:?|]+$/.test(text);

/** The name of the media that a card's text starts, for people: `Super Game` for `SNES/Super Game.sfc`. */
export function meaningOf(script: string): string {
  const path = startedBy(script);
  return isPath(path) ? mediaNameOf(path) : path;
}

/** The name of an action such as `**stop`. */
export function actionOf(text: string): string | undefined {
  const actions: Readonly<Record<string, string>> = say.cards.actions;
  // A text of a card may be any word, such as "constructor".
  return Object.hasOwn(actions, text) ? actions[text] : undefined;
}

/** The name of a card with this text in a list; empty for a card without a text. */
export function nameOfText(text: string): string {
  return actionOf(text) ?? meaningOf(text);
}

/** The file or folder whose picture shows the media that a card's text starts; empty for any other text. */
export function pathShownFor(script: string): string {
  const path = startedBy(script);
  return isPath(path) && !path.startsWith("@") ? path : "";
}

const shownMax = 10;

export function tapsCard({ client }: Shared): PageCard {
  const { card, show } = listCard(say.taps, say.noTaps);
  const row = ({ time, text, uid, data, success, script, ...entry }: LaunchEntry) => {
    const when = whenOf(time);
    const again = telling(() => client.call("launch", { text, uid, data }));
    const outcome = success ? when : say.failedAt(when, reasonOf(entry));
    const name = nameOfText(script || text) || say.cardOf(uid);
    const press = { type: "button", class: "row", title: say.again, onclick: again };
    return el("li", {}, el("button", press, el("span", {}, ...named(name, outcome, !success))));
  };
  const refresh = async () => {
    const { entries } = await client.call("tokens.history", { limit: shownMax });
    // A press on an item of the playing list is no card.
    show(entries.filter(({ text }) => !text.startsWith("**playlist.goto:")).map(row));
  };
  return { card, refresh, hears: ["launch.finished"] };
}

type Tokens = Calls["tokens"]["result"]["active"];

export const readerEvents: readonly Notification["method"][] = [
  "readers.added",
  "readers.removed",
  "tokens.added",
  "tokens.removed",
];

/** The readers and their cards. Their paths are on the screen of the device only. */
export const readersCard = (shared: Shared) => cardOfReaders(shared, false);
export const readerPlacesCard = (shared: Shared) => cardOfReaders(shared, true);

function cardOfReaders({ client }: Shared, hasPaths: boolean): PageCard {
  const { card, show } = listCard(say.readers, say.noReaders);
  const refresh = async () => {
    const [{ readers }, { active }] = await Promise.all([client.call("readers"), client.call("tokens")]);
    const rows = readers.map(({ connected, info, driver, path, readerId }) => {
      const facts = [hasPaths ? path : "", connected ? "" : say.device.noCable].filter(Boolean).join(" · ");
      const dot = el("span", { class: connected ? "dot on" : "dot" });
      const lying = connected ? tokensText(active.filter((token) => token.readerId === readerId)) : undefined;
      const here = lying === undefined ? undefined : el("span", { class: "more here" }, lying);
      return el("li", {}, dot, el("div", { class: "what" }, ...named(info || driver, facts), here));
    });
    show(rows);
  };
  return { card, refresh, hears: readerEvents };
}

function tokensText(tokens: Tokens): string {
  const names = tokens.map(({ text, uid, problem }) => {
    const isEmpty = problem === "blank" || problem === "unformatted";
    return nameOfText(text) || (isEmpty ? say.emptyCard(uid) : say.cardOf(uid));
  });
  return names.length === 0 ? say.noToken : say.tokenHere(names.join(", "));
}
