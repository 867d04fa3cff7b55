/** The three steps of a first start. Each step ticks itself off, and the card disappears after the last one. */
import { button, el, named, section } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

const hiddenKey = "tapdeck.steps";
/** Several, because the newest card may be an empty one. */
const cardsMax = 20;

export function firstStepsCard({ client, isPaired, rights }: Shared): PageCard {
  const list = el("ul", { class: "rows" });
  const hide = button(say.notNow, async () => {
    localStorage.setItem(hiddenKey, "hidden");
    card.hidden = true;
  });
  const card = section(say.steps.title, list, el("div", { class: "bar" }, hide));
  card.hidden = true;
  let isOver = localStorage.getItem(hiddenKey) !== null;

  const stepRow = (step: "pair" | "media" | "card", isDone: boolean, address: string) => {
    const { name, hint } = say.steps[step];
    const mark = el("span", { class: isDone ? "step done" : "step" }, isDone ? "✓" : "");
    const what = el("span", {}, ...named(name, isDone ? say.steps.done : hint));
    return el("li", {}, el("a", { href: address, class: "row" }, mark, what));
  };
  const hasPhone = async () =>
    isPaired || (rights.includes("own") && (await client.call("phones")).phones.length > 0);
  const refresh = async () => {
    if (isOver) return;
    const [phone, { database }, { cards }, { mappings }] = await Promise.all([
      hasPhone(),
      client.call("media"),
      client.call("tokens.cards", { limit: cardsMax }),
      client.call("mappings"),
    ]);
    const hasMedia = (database.totalMedia ?? 0) > 0;
    const hasCard = mappings.length > 0 || cards.some(({ script }) => script !== "");
    isOver = phone && hasMedia && hasCard;
    card.hidden = isOver;
    list.replaceChildren(
      stepRow("pair", phone, "#device/phones"),
      stepRow("media", hasMedia, "#library"),
      stepRow("card", hasCard, "#cards"),
    );
  };
  return { card, refresh, hears: ["launch.finished"] };
}
