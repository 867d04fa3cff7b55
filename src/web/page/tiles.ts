/**
 * Media as tiles of a wall or as rows of a list. A press starts an item, and the last button opens all its other actions.
 */
import { type AudioTags, audioTitleOf, performerOf } from "../../core/media.ts";
import { button, el, icon, named, note, openDialog, telling } from "./dom.ts";
import { fileActs, pictureAct } from "./file-actions.ts";
import { say } from "./page-texts.ts";
import type { Shared } from "./screens.ts";
import { writeToCard } from "./write-card.ts";
import { queueCard } from "./write-many.ts";

/** A file or a folder of the library. */
export interface LibraryItem {
  readonly name: string;
  /** The line below the name. */
  readonly facts: string;
  /** The path as the library names it; the path of played media is absolute. */
  readonly path: string;
  /** The text that starts the item; empty for a system, which is only opened. */
  readonly script: string;
  /** The symbol of a system, which replaces the first letters of its name. */
  readonly symbol?: string;
  /** The page of a folder, which a press opens. */
  readonly address?: string;
}

/**
 * The name and the line below it. For a song they are its title and its artist, and for all other items the file and
 * `facts`.
 */
export function namedBy(name: string, audio: AudioTags | undefined, facts: string) {
  return { name: audioTitleOf(name, audio), facts: performerOf(audio) || facts };
}

export interface ItemEvents {
  /** Offers to move or delete the file; it is called after the change. */
  readonly onGone?: () => void;
  /** Called after the item has become a favourite, or is none any more. */
  readonly onFavourite?: () => void;
}

export type ItemForm = (shared: Shared, item: LibraryItem, events?: ItemEvents) => HTMLLIElement;

/** The address of a folder on the page. */
export function folderAddress(path: string): string {
  return ["#library", ...path.split("/").map(encodeURIComponent)].join("/");
}

/** A picture, or the first letters of the name, and the name below. */
export const itemTile: ItemForm = (shared, item, events = {}) => {
  return inTile(shared, item, pressable(shared, item, "", []), moreButton(shared, item, events));
};

/** Makes a tile of a control, with the picture of `path` if it is not empty. */
export function inTile(
  { pictures }: Shared,
  { name, facts, path, symbol }: Pick<LibraryItem, "name" | "facts" | "path" | "symbol">,
  press: HTMLElement,
  corner?: HTMLElement,
): HTMLLIElement {
  press.classList.add("tile", `hue${hueOf(name)}`);
  press.setAttribute("aria-label", name);
  if (symbol === undefined) press.dataset.letters = lettersOf(name);
  else press.append(icon(symbol));
  if (path !== "") press.append(pictures.inTile(path));
  // The name is large to touch; the keyboard and screen readers have the picture.
  const caption = el("span", { class: "what", onclick: () => press.click() }, ...named(name, facts));
  return el("li", {}, press, el("div", { class: "caption" }, caption, corner));
}

/** The first two letters or digits. The name of a script begins with other signs. */
function lettersOf(name: string): string {
  const all = [...name];
  const first = all.findIndex((char) => /[\p{L}\p{N}]/u.test(char));
  return all.slice(Math.max(0, first), Math.max(0, first) + 2).join("");
}

/** A small picture, the name beside it, and the button for a card. */
export const itemRow: ItemForm = (shared, item, events = {}) => {
  const { name, facts, path, address } = item;
  const what = [shared.pictures.inRow(path), el("span", {}, ...named(name, facts))];
  const card = shared.canWrite() && address === undefined ? cardButton(shared, item) : undefined;
  return el("li", {}, pressable(shared, item, "row", what), card, moreButton(shared, item, events));
};

function pressable(
  { client, canPlay, canChange }: Shared,
  { name, script, address }: LibraryItem,
  kind: string,
  what: readonly HTMLElement[],
): HTMLElement {
  if (address !== undefined) return el("a", { href: address, class: kind }, ...what);
  if (!canPlay) return el("div", { class: `what ${kind}` }, ...what);
  const launch = telling(async () => {
    await client.call("launch", script);
    // The playing card shows the new media.
    note(canChange ? say.starting(name) : say.asked);
  });
  return el("button", { type: "button", class: kind, onclick: launch }, ...what);
}

function moreButton(shared: Shared, item: LibraryItem, events: ItemEvents): HTMLElement | undefined {
  const hasNone = item.script === "" || (item.path.startsWith("/") && !shared.canWrite());
  if (!shared.canChange || hasNone) return undefined;
  return button("⋯", () => ask(shared, item, events), {
    class: "corner",
    "aria-label": say.moreOf(item.name),
  });
}

/** Plays a folder as a list. */
export function playButton({ client }: Shared, { name, script }: LibraryItem): HTMLButtonElement {
  const play = async () => {
    await client.call("launch", script);
    note(say.starting(name));
  };
  return button(say.playAll, play, { class: "main" });
}

export function cardButton(
  { client }: Shared,
  { name, script }: LibraryItem,
  text = say.card,
): HTMLButtonElement {
  const later = () => note(say.cards.queued(name, queueCard(name, script)));
  const write = () => writeToCard(client, name, { text: script }, later);
  return button(text, write, { "aria-label": say.writeCard(name) });
}

/** Shows the actions for an item. */
async function ask(shared: Shared, item: LibraryItem, { onGone, onFavourite }: ItemEvents): Promise<void> {
  const { client } = shared;
  const { name, path, address } = item;
  const { favourites } = await client.call("media.favourites");
  const isFavourite = favourites.some((one) => one.path === path);
  const acts: HTMLElement[] = [];
  if (address !== undefined) acts.push(playButton(shared, item));
  if (shared.canWrite()) acts.push(cardButton(shared, item, say.writeCard(name)));
  const choose = async () => {
    await client.call("media.favourites.update", { path, favourite: !isFavourite });
    note(isFavourite ? say.unfavoured(name) : say.favoured(name));
    onFavourite?.();
  };
  // Played media have absolute paths, so the same file would become two favourites.
  if (!path.startsWith("/")) acts.push(button(isFavourite ? say.unfavour : say.favour, choose));
  if (!path.startsWith("/") && path.includes("/") && !path.startsWith("Image/"))
    acts.push(pictureAct(client, shared.pictures, item));
  const gone = () => {
    onGone?.();
    // Another file may get this path, and a picture of its own.
    shared.pictures.forget(path);
  };
  if (onGone !== undefined) acts.push(...(await fileActs(client, item, gone)));
  const list = el("div", { class: "acts own" }, ...acts);
  const dialog = openDialog(name, say.cancel, list);
  // An act may open its own dialog.
  const close = ({ target }: Event) => target instanceof HTMLButtonElement && dialog.close();
  list.addEventListener("click", close, { capture: true });
}

const hues = 6;

/** The color is always the same for a name. */
function hueOf(name: string): number {
  let sum = 0;
  for (const char of name) sum += char.codePointAt(0) ?? 0;
  return sum % hues;
}
