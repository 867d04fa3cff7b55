/** The cards that the device knows, as tiles: those of its history, and those with a mapping of their UID. */
import type { Calls } from "../../client/client.ts";
import { normalizeUid } from "../../core/token.ts";
import { cardChoice } from "./card-choice.ts";
import { button, el, note, openDialog, section, telling } from "./dom.ts";
import { printLabels } from "./labels.ts";
import { whenOf } from "./local-forms.ts";
import { longList } from "./long-list.ts";
import { launchWords, type MappingRow } from "./mapping-editor.ts";
import { actionOf, nameOfText, pathShownFor } from "./page-status.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { inTile } from "./tiles.ts";
import { writeToCard } from "./write-card.ts";

type Tapped = Calls["tokens.cards"]["result"]["cards"][number];

/** A card with its present effect. */
interface KnownCard {
  readonly uid: string;
  readonly name: string;
  /** The text that a tap launches; empty if the card has no meaning. */
  readonly text: string;
  /** The file or folder whose picture is shown for the card; may be empty. */
  readonly picture: string;
  readonly tapped: Tapped | undefined;
  readonly mapping: MappingRow | undefined;
}

export function cardsCard(shared: Shared): PageCard {
  const { client } = shared;
  const texts = say.cards;
  let all: readonly KnownCard[] = [];
  let drawings = 0;
  const find = el("input", { type: "search", "aria-label": texts.findCard, placeholder: texts.findCard });
  const empty = el("p", { class: "quiet" });
  const labels = button(texts.labels, () => printLabels(shared, all));
  const bar = el("div", { class: "bar later" }, labels);
  const draw = async () => {
    const word = find.value.trim().toLowerCase();
    const fitting = all.filter(({ uid, name, text }) =>
      [uid, name, text].some((one) => one.toLowerCase().includes(word)),
    );
    drawings += 1;
    const mine = drawings;
    const show = await list.prepare(fitting, { isWall: true, isSame: true });
    // A later word may have been typed meanwhile.
    if (mine !== drawings) return;
    show();
    empty.textContent = all.length === 0 ? texts.noCards : say.nothingFits;
    empty.hidden = fitting.length > 0;
    find.hidden = all.length === 0;
    bar.hidden = all.length === 0;
  };
  const refresh = async () => {
    await shared.lookForWriters();
    const [{ cards }, { mappings }] = await Promise.all([
      client.call("tokens.cards"),
      client.call("mappings"),
    ]);
    all = knownCards(cards, mappings);
    await draw();
  };
  const tileOfCard = (card: KnownCard) => {
    const { tapped, name, picture } = card;
    const facts = tapped === undefined ? texts.neverTapped : whenOf(tapped.lastTap);
    const open = telling(async () => showCard(shared, card, refresh));
    return inTile(shared, { name, facts, path: picture }, el("button", { type: "button", onclick: open }));
  };
  const list = longList(tileOfCard);
  find.addEventListener("input", telling(draw));
  const card = section(texts.yours, find, empty, list.element, bar);
  card.classList.add("cards");
  return { card, refresh, hears: ["launch.finished"] };
}

function knownCards(tapped: readonly Tapped[], mappings: readonly MappingRow[]): readonly KnownCard[] {
  const mapped = new Map<string, MappingRow>();
  for (const mapping of mappings) {
    const { enabled, type, match, pattern } = mapping;
    const uid = normalizeUid(pattern);
    // If one UID has several mappings, the first one is used.
    if (enabled && type === "uid" && match === "exact" && !mapped.has(uid)) mapped.set(uid, mapping);
  }
  const seen = tapped.map((card) => cardOf(card.uid, card, mapped.get(normalizeUid(card.uid))));
  for (const { uid } of tapped) mapped.delete(normalizeUid(uid));
  return [...seen, ...[...mapped].map(([uid, mapping]) => cardOf(uid, undefined, mapping))];
}

function cardOf(uid: string, tapped: Tapped | undefined, mapping: MappingRow | undefined): KnownCard {
  // Another mapping may have changed the text.
  const text = mapping?.override ?? (tapped?.script || tapped?.text || "");
  const name = mapping?.label || nameOfText(text) || say.cardOf(uid);
  return { uid, name, text, picture: pathShownFor(text), tapped, mapping };
}

/** Shows the effect of a card, and the actions for it. */
function showCard(shared: Shared, card: KnownCard, onChange: () => Promise<void>): void {
  const { client } = shared;
  const texts = say.cards;
  const { uid, name, text, tapped, mapping } = card;
  const words = actionOf(text) ?? texts.itDoes(launchWords(text));
  const does = text === "" ? say.reasons["no-text"] : words;
  const from = mapping === undefined ? texts.onCard(text) : texts.byDevice(mapping.file ?? "");
  const taps = tapped === undefined ? texts.neverTapped : texts.tapsOf(tapped.taps, whenOf(tapped.lastTap));
  const change = async () => changeCard(shared, card, onChange);
  const forget = async (id: number) => {
    await client.call("mappings.delete", { id });
    note(texts.forgotten(name));
    await onChange();
  };
  const acts = [
    button(texts.change, change, { class: "main" }),
    text === "" ? undefined : button(say.tryIt, () => client.call("run", { text })),
    text === "" || !shared.canWrite()
      ? undefined
      : button(texts.copy, () => writeToCard(client, name, { text })),
    mapping === undefined || mapping.file !== undefined
      ? undefined
      : button(texts.forget, () => forget(mapping.id)),
  ];
  const list = el("div", { class: "acts own" }, ...acts);
  const dialog = openDialog(
    name,
    say.done,
    el("p", {}, does),
    el("p", { class: "quiet" }, ...(text === "" ? [] : [from, el("br")]), `UID ${uid} · ${taps}`),
    list,
  );
  // An act may open its own dialog.
  const close = ({ target }: Event) => target instanceof HTMLButtonElement && dialog.close();
  list.addEventListener("click", close, { capture: true });
}

/** Gives the card another meaning, by a mapping of its UID. */
function changeCard({ client, pictures }: Shared, card: KnownCard, onChange: () => Promise<void>): void {
  const { uid, mapping } = card;
  const texts = say.cards;
  const save = async (name: string, override: string) => {
    const rule = { enabled: true, label: name, type: "uid", match: "exact", pattern: uid, override } as const;
    if (mapping === undefined || mapping.file !== undefined) await client.call("mappings.new", rule);
    else await client.call("mappings.update", { id: mapping.id, label: name, override });
    dialog.close();
    note(texts.changed(name));
    await onChange();
  };
  const { parts } = cardChoice({ client, pictures }, save);
  const how = el("p", { class: "quiet" }, texts.changeHow);
  const dialog = openDialog(texts.change, say.cancel, how, ...parts);
}
