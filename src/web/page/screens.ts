/**
 * The screens of the page: a bar of links, and the cards of the screen that the address names. A screen is made when it is
 * first shown. It refreshes whenever it is shown, and only then hears notifications.
 */
import type { Client, Notification } from "../../client/client.ts";
import { byId, el, telling } from "./dom.ts";
import type { Pictures } from "./page-pictures.ts";
import type { Abilities } from "./page-search.ts";
import type { Rights } from "./page-session.ts";
import { say } from "./page-texts.ts";

/** The cards share these. */
export interface Shared extends Abilities {
  readonly client: Client;
  readonly pictures: Pictures;
  readonly rights: Rights;
  /** With an identity. */
  readonly isPaired: boolean;
}

export interface PageCard {
  readonly card: HTMLElement;
  readonly refresh?: () => Promise<unknown>;
  /** Notifications after which the card refreshes. */
  readonly hears?: readonly Notification["method"][];
  readonly hear?: (notification: Notification) => void;
}

interface CardEntry {
  /** Without this right the card is not made; `look` if absent. */
  readonly needs?: Rights[number];
  readonly make: (shared: Shared) => PageCard | undefined;
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
}

interface Made {
  readonly element: HTMLElement;
  readonly cards: readonly PageCard[];
}

/** Offers the screens that have cards for these rights. `end` ends it. */
export function showScreens(screens: readonly PageScreen[], shared: Shared, rights: Rights) {
  const mayMake = ({ needs = "look" }: CardEntry) => rights.includes(needs);
  const offered = screens.filter(({ cards, aside = [] }) => [...cards, ...aside].some(mayMake));
  const made = new Map<string, Made>();
  const links = new Map(offered.map((screen) => [screen.id, linkTo(screen)]));
  const make = ({ cards, aside = [] }: PageScreen): Made => {
    const columns = [cards, aside].map((entries) =>
      entries.filter(mayMake).flatMap((entry) => entry.make(shared) ?? []),
    );
    const filled = columns.filter(({ length }) => length > 0);
    const elements = filled.map((column) =>
      el("div", { class: "column" }, ...column.map(({ card }) => card)),
    );
    const element = el("div", { class: filled.length > 1 ? "screen two" : "screen" }, ...elements);
    return { element, cards: columns.flat() };
  };
  let current: Made = { element: byId("main"), cards: [] };
  const refresh = () => Promise.all(current.cards.map((card) => card.refresh?.()));
  /** Shows the screen of the address; a screen that is not offered leads to the first. */
  const show = async () => {
    const screen = offered.find(({ id }) => `#${id}` === location.hash) ?? offered[0];
    if (screen === undefined) return;
    const { id } = screen;
    current = made.get(id) ?? make(screen);
    made.set(id, current);
    for (const [other, link] of links)
      if (other === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    const main = byId("main");
    main.replaceChildren(current.element);
    document.title = `${say.screens[id]} · Tapdeck`;
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
      nav.hidden = true;
      removeEventListener("hashchange", showAgain);
    },
  };
}

function linkTo({ id, icon }: PageScreen): HTMLElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", icon);
  svg.append(path);
  return el("a", { href: `#${id}` }, svg, say.screens[id]);
}
