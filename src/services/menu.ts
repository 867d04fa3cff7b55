/**
 * The menu of the television, by a controller or a remote control: what was played, favourites, the library with its pictures,
 * volume, Wi-Fi and the switch. It opens over the status screen, and a start of media ends it. Its scripts run as those of a card
 * on the device.
 */
import type { Bus } from "../bus.ts";
import { messageOf } from "../core/errors.ts";
import type { MenuKey, MenuKeyEvent, OpenMenuKeys } from "../core/operating-system.ts";
import { menuNeighbour, menuTilesMax } from "../screen/menu-template.ts";
import type { ShownMenu } from "../screen/picture.ts";
import { followInputDevices, isOwnDevice } from "./input-devices.ts";
import { createMenuLists, createMenuPictures, type ListParts, type MenuList } from "./menu-lists.ts";
import type { Screen } from "./screen.ts";

interface MenuParts extends ListParts {
  readonly bus: Bus;
  readonly open: OpenMenuKeys;
  /** Folder of the device nodes. */
  readonly folder?: string;
  readonly screen: Pick<Screen, "canShowMenu" | "showMenu" | "chooseTile" | "drawnMenu">;
}

/** Somebody has gone away. */
const idleMs = 120_000;
const repeatAfterMs = 450;
const repeatMs = 160;

/** A list, and the item that is chosen in it. */
interface Place {
  readonly list: MenuList;
  readonly chosen: number;
}

const arrows = ["up", "down", "left", "right"] as const;
type Arrow = (typeof arrows)[number];
const isArrow = (key: MenuKey): key is Arrow => arrows.some((arrow) => arrow === key);

export function followMenu(parts: MenuParts): Disposable {
  const { bus, clock, log, open, screen, folder = "/dev/input" } = parts;
  const lists = createMenuLists(parts);
  const pictures = createMenuPictures(parts);
  /** From the first page to the present one; empty while there is no menu. */
  let places: readonly Place[] = [];
  let shown: ShownMenu | undefined;
  let isLoading = false;
  let idle: Disposable | undefined;
  let repeating: Disposable | undefined;

  const close = () => {
    idle?.[Symbol.dispose]();
    repeating?.[Symbol.dispose]();
    if (places.length === 0) return;
    places = [];
    shown = undefined;
    pictures.forget();
    screen.showMenu(undefined);
  };
  const show = async () => {
    const now = places;
    const place = now.at(-1);
    if (place === undefined) return;
    const { list, chosen } = place;
    const first = firstOf(chosen);
    const items = list.items.slice(first, first + menuTilesMax);
    const tiles = await Promise.all(items.map(pictures.tileOf));
    // Somebody went on meanwhile.
    if (places !== now) return;
    const count = Math.max(1, Math.ceil(list.items.length / menuTilesMax));
    shown = { title: list.title, tiles, page: 1 + first / menuTilesMax, pages: count };
    screen.showMenu(shown, chosen - first);
  };
  const load = async (next: () => readonly Place[] | Promise<readonly Place[]>) => {
    if (isLoading) return;
    isLoading = true;
    try {
      places = await next();
      await show();
    } catch (error) {
      log.warn("menu", messageOf(error));
      close();
    } finally {
      isLoading = false;
    }
  };
  const moveTo = (chosen: number) => {
    const place = places.at(-1);
    if (place === undefined) return;
    const isSamePage = firstOf(place.chosen) === firstOf(chosen);
    const moved = [...places.slice(0, -1), { list: place.list, chosen }];
    if (!isSamePage) return void load(() => moved);
    places = moved;
    screen.chooseTile(chosen - firstOf(chosen));
  };
  const choose = () => {
    const place = places.at(-1);
    const item = place?.list.items[place.chosen];
    if (item === undefined) return;
    void load(async () => {
      const before = places;
      const list = await item.choose();
      return list === undefined ? before : [...before, { list, chosen: 0 }];
    });
  };
  const press = (key: MenuKey) => {
    idle?.[Symbol.dispose]();
    idle = clock.after(idleMs, close);
    const place = places.at(-1);
    if (place === undefined) return;
    if (key === "menu" || (key === "back" && places.length === 1)) return close();
    // The screen does not show yet what a key would choose.
    if (isLoading || shown === undefined || screen.drawnMenu() !== shown) return;
    if (key === "back") return void load(() => places.slice(0, -1));
    if (key === "ok" || key === "enter") return choose();
    const next = isArrow(key) ? afterArrow(place, key) : afterPage(place, key);
    if (next !== undefined && next !== place.chosen) moveTo(next);
  };
  const hold = (key: MenuKey) => {
    repeating?.[Symbol.dispose]();
    if (!isArrow(key) && key !== "next-page" && key !== "previous-page") return;
    const again = () => {
      press(key);
      repeating = clock.after(repeatMs, again);
    };
    repeating = clock.after(repeatAfterMs, again);
  };
  const event = ({ key, isDown }: MenuKeyEvent) => {
    if (!isDown) return repeating?.[Symbol.dispose]();
    if (places.length > 0) {
      press(key);
      return hold(key);
    }
    // A card reader that types presses Enter.
    if (!(isArrow(key) || key === "ok" || key === "menu") || !screen.canShowMenu()) return;
    idle = clock.after(idleMs, close);
    void load(() => [{ list: lists.first(), chosen: 0 }]);
  };

  const devices = followInputDevices({
    clock,
    log,
    part: "menu",
    folder,
    open: (path, gone) => open(path, ({ name }) => !isOwnDevice(name), { event, gone }),
  });
  devices.hear();
  const following = new DisposableStack();
  following.use(
    // A game needs the keys, and a controller sends hundreds of events in a second.
    bus.on("media.started", () => {
      close();
      devices.rest();
    }),
  );
  following.use(bus.on("media.stopped", () => devices.hear()));
  following.use(bus.on("launch.finished", ({ success }) => success || close()));
  following.use(bus.on("playlist.opened", close));
  following.use(devices);
  following.defer(close);
  return following;
}

function firstOf(chosen: number): number {
  return Math.floor(chosen / menuTilesMax) * menuTilesMax;
}

/** From the last column to the first one of the next page, and back. */
function afterArrow({ list, chosen }: Place, key: Arrow): number | undefined {
  const first = firstOf(chosen);
  const count = Math.min(menuTilesMax, list.items.length - first);
  const next = menuNeighbour(chosen - first, key, count);
  if (next !== undefined) return first + next;
  if (key === "right") return within(list, first + menuTilesMax);
  if (key === "left" && first > 0) return first - 1;
  return undefined;
}

function within({ items }: MenuList, place: number): number | undefined {
  return place < items.length ? place : undefined;
}

function afterPage({ list, chosen }: Place, key: MenuKey): number {
  const next = key === "next-page" ? firstOf(chosen) + menuTilesMax : firstOf(chosen) - menuTilesMax;
  return next >= list.items.length ? list.items.length - 1 : Math.max(0, next);
}
