/** The history: cards and played media, page by page. Each entry can be played again. */
import type { Calls } from "../../client/client.ts";
import { audioTitleOf, scriptOf } from "../../core/media.ts";
import { button, el, listCard, named, note, telling } from "./dom.ts";
import { whenOf } from "./local-forms.ts";
import { nameOfText } from "./page-status.ts";
import { reasonOf, say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

const pageRows = 15;
type Tapped = Calls["tokens.history"]["result"]["entries"][number];
type Played = Calls["media.history"]["result"]["entries"][number];

export function historyCard({ client }: Shared): PageCard {
  const texts = say.cards;
  let kind: "tapped" | "played" = "tapped";
  let uid = "";
  let rows: HTMLElement[] = [];
  /** The cursor of the next page. */
  let after: string | undefined;
  /**
   * The list ends with the newest load. Loads run one after another, so a refresh never drops the page that a press has
   * requested.
   */
  let loading: Promise<unknown> = Promise.resolve();
  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const done = loading.then(step);
    loading = done.catch(() => undefined);
    return done;
  };
  const more = button(say.showMore, () =>
    inTurn(async () => {
      const place = rows.length;
      // An earlier refresh may have found that there are no more.
      if (after === undefined) return;
      await load();
      rows[place]?.querySelector("button")?.focus();
    }),
  );
  const { card, show } = listCard(texts.history, texts.noneYet, el("div", { class: "bar" }, more));
  const all = button(texts.allCards, () => only(""));
  const tabs = (["tapped", "played"] as const).map((one) => {
    const tab = button(texts[one], () =>
      inTurn(async () => {
        kind = one;
        uid = "";
        await restart();
      }),
    );
    return { one, tab };
  });
  card.querySelector("h2")?.after(el("div", { class: "bar" }, ...tabs.map(({ tab }) => tab), all));

  const again = (
    name: string,
    facts: string,
    isBad: boolean,
    launch: (() => Promise<unknown>) | undefined,
  ) => {
    const what = el("span", {}, ...named(name, facts, isBad));
    if (launch === undefined) return el("div", { class: "what row" }, what);
    const onclick = telling(async () => {
      await launch();
      note(say.starting(name));
    });
    return el("button", { type: "button", class: "row", title: texts.playAgain, onclick }, what);
  };
  const tappedRow = ({ time, text, data, success, script, ...entry }: Tapped) => {
    const name = nameOfText(script || text) || say.cardOf(entry.uid);
    const facts = [whenOf(time), success ? "" : reasonOf(entry)];
    const launch = () => client.call("launch", { text, uid: entry.uid, data });
    const filter =
      entry.uid === "" || uid !== ""
        ? undefined
        : button(texts.onlyThis, () => only(entry.uid), { "aria-label": `${texts.onlyThis}: ${entry.uid}` });
    return el("li", {}, again(name, facts.filter(Boolean).join(" · "), !success, launch), filter);
  };
  const playedRow = ({ systemName, mediaName, mediaPath, startedAt, playTime, audio }: Played) => {
    const facts = [whenOf(startedAt), systemName, texts.playedFor(Math.floor(playTime / 60))].join(" · ");
    const launch = mediaPath === "" ? undefined : () => client.call("launch", scriptOf(mediaPath));
    return el("li", {}, again(audioTitleOf(mediaName, audio), facts, false, launch));
  };
  /** Loads the next page. */
  const load = async () => {
    const page = await (kind === "tapped" ? tapped() : played());
    rows = [...rows, ...page.rows];
    after = page.next;
    more.hidden = after === undefined;
    show(rows);
  };
  const tapped = async () => {
    const { entries, pagination } = await client.call("tokens.history", {
      limit: pageRows,
      cursor: after ?? null,
      ...(uid === "" ? {} : { uid }),
    });
    return { rows: entries.map(tappedRow), next: pagination?.nextCursor };
  };
  const played = async () => {
    const { entries, pagination } = await client.call("media.history", {
      limit: pageRows,
      cursor: after ?? null,
    });
    return { rows: entries.map(playedRow), next: pagination.nextCursor };
  };
  const restart = async () => {
    rows = [];
    after = undefined;
    for (const { one, tab } of tabs) tab.setAttribute("aria-pressed", String(one === kind));
    all.hidden = uid === "";
    await load();
  };
  const only = (card: string) =>
    inTurn(async () => {
      uid = card;
      await restart();
    });
  return {
    card,
    /** Loads the first page again. If further pages are shown, nothing changes. */
    refresh: () =>
      inTurn(async () => {
        if (rows.length <= pageRows) await restart();
      }),
    hears: ["launch.finished", "media.stopped"],
  };
}
