/**
 * The screens of the page: a bar of links, and the cards of the screen that the address names. A screen is made when it is
 * first shown. It refreshes whenever it is shown, and receives notifications only while it is shown.
 */
import { type Client, type Notification, RpcError } from "../../client/client.ts";
import { nextTask } from "../../client/link.ts";
import { byId, el, icon, named, note, section, telling } from "./dom.ts";
import type { Pictures } from "./page-pictures.ts";
import type { Rights } from "./page-session.ts";
import { say, sentenceOf } from "./page-texts.ts";

export interface Abilities {
  readonly canPlay: boolean;
  /** Receives `launch.finished`, with the reason of a failure. */
  readonly canChange: boolean;
  /** True if a reader that can write is connected. */
  readonly canWrite: () => boolean;
  /** Asks for the readers again, to update `canWrite`. */
  readonly lookForWriters: () => Promise<void>;
}

/** The cards share these. */
export interface Shared extends Abilities {
  readonly client: Client;
  readonly pictures: Pictures;
  readonly rights: Rights;
  /** True if the connection has an identity. */
  readonly isPaired: boolean;
}

export interface PageCard {
  readonly card: HTMLElement;
  readonly refresh?: () => Promise<unknown>;
  /** Notifications after which the card refreshes. */
  readonly hears?: readonly Notification["method"][];
  readonly hear?: (notification: Notification) => void;
}

export interface CardEntry {
  /** Without this right the card is not made; if absent, the right is `look`. */
  readonly needs?: Rights[number];
  readonly make: (shared: Shared) => PageCard | undefined;
}

/** A part of a screen, with an address of its own, such as `#device/phones`. */
export interface PagePlace {
  readonly id: keyof typeof say.places;
  readonly cards: readonly CardEntry[];
}

export interface PageScreen {
  /** The part of the address after `#`; the first screen is also that of an address without one. */
  readonly id: keyof typeof say.screens;
  /** The path of its icon, 24 units wide, drawn as a line. */
  readonly icon: string;
  /** The cards of the wide column, from the top. */
  readonly cards: readonly CardEntry[];
  /** The cards of the narrow column; on a phone they follow the others. */
  readonly aside?: readonly CardEntry[];
  /** The narrow column lists them. */
  readonly places?: readonly PagePlace[];
}

interface Made {
  readonly element: HTMLElement;
  readonly cards: readonly PageCard[];
}

/** Offers the screens that have cards for these rights. `end` ends this. */
export function showScreens(screens: readonly PageScreen[], shared: Shared, rights: Rights) {
  const mayMake = ({ needs = "look" }: CardEntry) => rights.includes(needs);
  const offered = screens.filter(({ cards, aside = [] }) => [...cards, ...aside].some(mayMake));
  const placesOf = ({ places = [] }: PageScreen) => places.filter(({ cards }) => cards.some(mayMake));
  const made = new Map<string, Promise<Made>>();
  const links = new Map(offered.map((screen) => [screen.id, linkTo(screen)]));
  let current: Made = { element: byId("main"), cards: [] };
  let shows = 0;
  let placeBefore = "";
  // Each card gets a task of its own, because a slow phone takes 20 ms for one.
  const refresh = () =>
    Promise.all(
      current.cards.map(async (card) => {
        await nextTask();
        await card.refresh?.().catch((error: unknown) => {
          // A card whose request is refused leaves the others. Without an answer the page connects again.
          if (!(error instanceof RpcError)) throw error;
          note(sentenceOf(error));
        });
      }),
    );
  /** Shows the screen and the place of the address; a screen that is not offered leads to the first. */
  const show = async () => {
    const [screenId, placeId] = location.hash.slice(1).split("/");
    const screen = offered.find(({ id }) => id === screenId) ?? offered[0];
    if (screen === undefined) return;
    const { id } = screen;
    const places = placesOf(screen);
    const place = places.find((one) => one.id === placeId);
    const key = place === undefined ? id : `${id}/${place.id}`;
    shows += 1;
    const mine = shows;
    const main = byId("main");
    main.ariaBusy = "true";
    for (const [other, link] of links)
      if (other === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    const making = made.get(key) ?? make(screen, places, place, shared, mayMake);
    made.set(key, making);
    const next = await making;
    // Another screen may have been chosen meanwhile.
    if (mine !== shows) return;
    const isSame = current.element.parentElement === main && next === current;
    current = next;
    const hadFocus = main.contains(document.activeElement);
    // A screen may read the rest of the address itself.
    if (!isSame) main.replaceChildren(current.element);
    main.ariaBusy = null;
    if (hadFocus && !isSame) focusPlace(main, placeBefore);
    placeBefore = place?.id ?? "";
    document.title = `${place === undefined ? say.screens[id] : say.places[place.id].name} · Tapdeck`;
    await refresh();
  };
  const nav = byId("nav");
  nav.setAttribute("aria-label", say.navigation);
  nav.replaceChildren(...links.values());
  nav.hidden = links.size < 2;
  const showAgain = telling(show);
  addEventListener("hashchange", showAgain);
  return {
    show,
    refresh,
    hear(notification: Notification): void {
      for (const { hears = [], hear, refresh } of current.cards) {
        hear?.(notification);
        if (refresh !== undefined && hears.includes(notification.method)) telling(refresh)();
      }
    },
    end(): void {
      shows += 1;
      nav.hidden = true;
      byId("main").ariaBusy = null;
      removeEventListener("hashchange", showAgain);
    },
  };
}

async function make(
  screen: PageScreen,
  places: readonly PagePlace[],
  place: PagePlace | undefined,
  shared: Shared,
  mayMake: (entry: CardEntry) => boolean,
): Promise<Made> {
  const { cards, aside = [] } = place === undefined ? screen : { cards: place.cards };
  const columns: PageCard[][] = [];
  for (const entries of [cards, aside]) {
    const column: PageCard[] = [];
    for (const entry of entries.filter(mayMake)) {
      await nextTask();
      const card = entry.make(shared);
      if (card !== undefined) column.push(card);
    }
    if (column.length > 0) columns.push(column);
  }
  const elements = columns.map((column) => el("div", { class: "column" }, ...column.map(({ card }) => card)));
  if (places.length > 0) {
    if (place !== undefined)
      elements[0]?.prepend(
        el("a", { href: `#${screen.id}`, class: "back" }, `‹ ${say.screens[screen.id]}`),
        ...titleOf(place, elements[0]),
      );
    elements.push(listOf(screen, places, place));
  }
  const kind = `screen${elements.length > 1 ? " two" : ""}${place === undefined ? "" : " place"}`;
  return { element: el("div", { class: kind }, ...elements), cards: columns.flat() };
}

/** The name of a place, unless its first card has the same name. */
function titleOf({ id }: PagePlace, column: HTMLElement): readonly HTMLElement[] {
  const { name } = say.places[id];
  return column.querySelector("h2")?.textContent === name ? [] : [el("h2", { class: "title" }, name)];
}

/** The places of a screen as links, each with a line about its content. */
function listOf(
  screen: PageScreen,
  places: readonly PagePlace[],
  place: PagePlace | undefined,
): HTMLDivElement {
  const rows = places.map((one) => {
    const { name, hint } = say.places[one.id];
    const link = el(
      "a",
      { href: `#${screen.id}/${one.id}`, class: "row" },
      el("span", {}, ...named(name, hint)),
    );
    if (one === place) link.setAttribute("aria-current", "page");
    return el("li", {}, link);
  });
  const list = section(say.allPlaces, el("ul", { class: "rows" }, ...rows));
  list.setAttribute("role", "navigation");
  return el("div", { class: "column places" }, list);
}

/** The pressed link no longer exists, so the focus is on the way back, or on the link of the place that was left. */
function focusPlace(main: HTMLElement, left: string): void {
  const links = [...main.querySelectorAll<HTMLElement>(".back, [aria-current]")];
  const shown = links.find((link) => link.offsetParent !== null);
  const before = left === "" ? null : main.querySelector<HTMLElement>(`a[href$="/${left}"]`);
  (shown ?? before)?.focus();
}

function linkTo({ id, icon: path }: PageScreen): HTMLElement {
  return el("a", { href: `#${id}` }, icon(path), say.screens[id]);
}
