/**
 * The menu of the television, for a controller or a remote control: played media, favourites, the library with its
 * pictures, volume, Wi-Fi and the switch. It opens over the status screen, and a start of media closes it. Its scripts run
 * as those of a card on the device.
 */
import type { Bus } from "../bus.ts";
import { messageOf } from "../core/errors.ts";
import type { MenuKey, MenuKeyEvent, OpenMenuKeys } from "../core/operating-system.ts";
import { keyNeighbour, keysMax } from "../screen/keyboard-template.ts";
import { menuNeighbour, menuTilesMax } from "../screen/menu-template.ts";
import type { ShownMenu } from "../screen/picture.ts";
import { followInputDevices, isOwnDevice } from "./input-devices.ts";
import type { MenuItem, MenuList } from "./menu-items.ts";
import { createMenuLists, createMenuPictures, type ListParts } from "./menu-lists.ts";
import type { Screen } from "./screen.ts";

interface MenuParts extends ListParts {
  readonly bus: Bus;
  readonly open: OpenMenuKeys;
  /** Whether a press now teaches a button. Then it is no key of the menu. */
  readonly isTeaching: () => boolean;
  /** The folder of the device nodes. */
  readonly folder?: string;
  readonly screen: Pick<
    Screen,
    "canShowMenu" | "showMenu" | "chooseTile" | "showTyped" | "showLevel" | "drawnMenu" | "menuColumns"
  >;
}

/** After this time without a key, the person has gone away. */
const idleMs = 120_000;
/** On a busy board the mixer may not answer in time. Its next answer shows the level. */
const levelAgainMs = 2000;
const repeatAfterMs = 450;
const repeatMs = 160;
/**
 * Two cards in turn stop one game and start the next. Opening devices in between would delay that, so the menu waits
 * for this time.
 */
const hearAgainMs = 1500;

/** A list, and the item that is chosen in it. */
interface Place {
  readonly list: MenuList;
  readonly chosen: number;
}

/** The pages to show next. */
type Loaded = readonly Place[] | "close";

const arrows = ["up", "down", "left", "right"] as const;
type Arrow = (typeof arrows)[number];
const isArrow = (key: MenuKey): key is Arrow => arrows.some((arrow) => arrow === key);

export function followMenu(parts: MenuParts): Disposable {
  const { bus, clock, log, open, screen, folder = "/dev/input" } = parts;
  /** True while a script of the menu runs, because a second press would start it again. */
  let isLaunching = false;
  const lists = createMenuLists({
    ...parts,
    launch(script) {
      parts.launch(script);
      isLaunching = true;
    },
  });
  const pictures = createMenuPictures(parts);
  /** The pages from the first one to the present one; empty while there is no menu. */
  let places: readonly Place[] = [];
  let shown: ShownMenu | undefined;
  /**
   * The load that is under way. A menu that is closed does not wait for it. A person can also go back from a list that
   * waits for another one, such as a search.
   */
  let loading: { readonly isFollowed: boolean } | undefined;
  let levelsAsked = 0;
  let levelAgain: Disposable | undefined;
  let idle: Disposable | undefined;
  let repeating: Disposable | undefined;

  const close = () => {
    idle?.[Symbol.dispose]();
    repeating?.[Symbol.dispose]();
    levelAgain?.[Symbol.dispose]();
    loading = undefined;
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
    const first = firstOf(place);
    const items = list.items.slice(first, first + tilesOf(list));
    const tiles = await Promise.all(items.map(pictures.tileOf));
    // The person has pressed a further key meanwhile.
    if (places !== now) return;
    const pages = Math.max(1, Math.ceil(list.items.length / tilesOf(list)));
    shown = {
      title: list.title,
      tiles,
      page: 1 + first / tilesOf(list),
      pages,
      ...(list.typed && { typed: list.typed() }),
      ...(list.note && { note: list.note }),
      ...(list.level && { hasLevel: true }),
    };
    screen.showMenu(shown, chosen - first);
    void showLevel();
  };
  const showLevel = async () => {
    const list = places.at(-1)?.list;
    if (list?.level === undefined) return;
    const asked = ++levelsAsked;
    try {
      const level = await list.level();
      // A later request has a newer level.
      if (asked === levelsAsked && places.at(-1)?.list === list) screen.showLevel(level);
    } catch (error) {
      log.debug("menu", messageOf(error));
      if (asked === levelsAsked && places.at(-1)?.list === list)
        levelAgain = clock.after(levelAgainMs, showLevel);
    }
  };
  const load = async (next: () => Loaded | Promise<Loaded>, isFollowed = false) => {
    if (loading !== undefined) return;
    const mine = { isFollowed };
    const isAbandoned = () => loading !== mine;
    loading = mine;
    try {
      const then = await next();
      if (isAbandoned()) return;
      if (then === "close") return close();
      places = then;
      await show();
    } catch (error) {
      log.warn("menu", messageOf(error));
      if (!isAbandoned()) close();
    }
    if (isAbandoned()) return;
    loading = undefined;
    const follow = places.at(-1)?.list.follow;
    if (follow !== undefined) await load(async () => after(places, await follow()), true);
  };
  const moveTo = (place: Place, chosen: number) => {
    const moved = { list: place.list, chosen };
    const all = [...places.slice(0, -1), moved];
    if (firstOf(place) !== firstOf(moved)) return void load(() => all);
    places = all;
    screen.chooseTile(chosen - firstOf(moved));
  };
  /** A letter is shown at once; other steps lead to a list. */
  const choose = (list: MenuList, item: MenuItem) => {
    const before = list.typed?.();
    try {
      const step = item.choose();
      const typed = list.typed?.();
      if (before !== undefined && typed !== undefined && before !== typed)
        screen.showTyped(Math.min(before.length, typed.length), typed.length < before.length);
      if (step === undefined) return;
      if (step === "close") return close();
      void load(async () => {
        const next = await step;
        if (next === "close") return next;
        return next === undefined ? places : after(places, next);
      });
    } catch (error) {
      log.warn("menu", messageOf(error));
      close();
    }
  };
  const press = (key: MenuKey) => {
    idle?.[Symbol.dispose]();
    idle = clock.after(idleMs, close);
    const place = places.at(-1);
    if (place === undefined) return;
    if (key === "menu" || (key === "back" && places.length === 1)) return close();
    if (key === "back" && loading?.isFollowed) {
      loading = undefined;
      return void load(() => places.slice(0, -1));
    }
    // The screen does not show yet which item a key would choose, so the key is ignored.
    if (loading !== undefined || shown === undefined || screen.drawnMenu() !== shown) return;
    if (key === "back") return void load(() => places.slice(0, -1));
    const item = place.list.items[place.chosen];
    if (key === "ok" || key === "enter") return item && !isLaunching && choose(place.list, item);
    const next = isArrow(key) ? afterArrow(place, key, screen.menuColumns()) : afterPage(place, key);
    if (next !== undefined && next !== place.chosen) moveTo(place, next);
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
    if (parts.isTeaching()) return;
    if (places.length > 0) {
      press(key);
      return hold(key);
    }
    // The menu does not open at Enter, because a card reader that types presses it.
    if (!(isArrow(key) || key === "ok" || key === "menu") || !screen.canShowMenu()) return;
    idle = clock.after(idleMs, close);
    void load(() => [{ list: lists.first(), chosen: 0 }]);
  };

  const devices = followInputDevices({
    clock,
    log,
    part: "menu",
    folder,
    open(path, gone) {
      const unplugged = () => {
        repeating?.[Symbol.dispose]();
        gone();
      };
      return open(path, ({ name }) => !isOwnDevice(name), { event, gone: unplugged });
    },
  });
  devices.hear();
  let hearing: Disposable | undefined;
  const following = new DisposableStack();
  following.use(
    // A game needs the keys, and a controller sends hundreds of events in a second.
    bus.on("media.started", () => {
      hearing?.[Symbol.dispose]();
      isLaunching = false;
      close();
      devices.rest();
    }),
  );
  following.use(
    bus.on("media.stopped", () => {
      hearing?.[Symbol.dispose]();
      hearing = clock.after(hearAgainMs, devices.hear);
    }),
  );
  following.defer(() => hearing?.[Symbol.dispose]());
  following.use(
    bus.on("launch.finished", ({ success }) => {
      isLaunching = false;
      if (success) void showLevel();
      else close();
    }),
  );
  following.use(bus.on("playlist.opened", close));
  following.use(devices);
  following.defer(close);
  return following;
}

/** The number of tiles on one page. */
function tilesOf({ typed }: MenuList): number {
  return typed === undefined ? menuTilesMax : keysMax;
}

function firstOf({ list, chosen }: Place): number {
  return Math.floor(chosen / tilesOf(list)) * tilesOf(list);
}

/** The place in a list that replaces another one. The chosen item stays chosen, if the new list has it. */
function after(places: readonly Place[], list: MenuList): readonly Place[] {
  if (list.replaces === undefined) return [...places, { list, chosen: 0 }];
  const kept = list.typed === undefined ? 0 : (places.at(-1)?.chosen ?? 0);
  return [...places.slice(0, -1), { list, chosen: kept }];
}

/**
 * The item that an arrow leads to. An arrow to the right leads from the last column to the first column of the next page,
 * and an arrow to the left leads back.
 */
function afterArrow(place: Place, key: Arrow, columns: number): number | undefined {
  const { list, chosen } = place;
  if (list.typed !== undefined) return keyNeighbour(chosen, key);
  const first = firstOf(place);
  const count = Math.min(menuTilesMax, list.items.length - first);
  const next = menuNeighbour(chosen - first, key, count, columns);
  if (next !== undefined) return first + next;
  if (key === "right" && first + menuTilesMax < list.items.length) return first + menuTilesMax;
  if (key === "left" && first > 0) return first - 1;
  return undefined;
}

function afterPage(place: Place, key: MenuKey): number {
  const { list, chosen } = place;
  if (list.typed !== undefined) return chosen;
  const first = firstOf(place);
  const next = key === "next-page" ? first + menuTilesMax : first - menuTilesMax;
  return next >= list.items.length ? list.items.length - 1 : Math.max(0, next);
}
