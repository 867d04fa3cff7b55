/** The lists of the television's menu, and the pictures of their items. */
import { createConnection } from "../api/connection.ts";
import type { LibraryService } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { menuEntriesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { scriptOf } from "../core/media.ts";
import { symbolOf } from "../core/system-symbols.ts";
import { menuTilesMax } from "../screen/menu-template.ts";
import type { MenuTile } from "../screen/picture.ts";
import type { MenuTexts } from "../screen/texts.ts";

export interface ListParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly library: Pick<LibraryService, "browse" | "favourites" | "history" | "image">;
  /** Runs a script as a card on a reader of the device would. */
  readonly launch: (script: string) => void;
  /** Opens the access point; undefined without a Wi-Fi of the device's own. */
  readonly openWifi: (() => Promise<void>) | undefined;
  readonly canSwitchOff: boolean;
  readonly texts: () => MenuTexts;
}

export interface MenuItem extends Omit<MenuTile, "picture"> {
  /** Of the media or folder whose picture is shown. */
  readonly path?: string;
  /** The list that it leads to, if any. */
  readonly choose: () => MenuList | undefined | Promise<MenuList | undefined>;
}

export interface MenuList {
  readonly title: string;
  readonly items: readonly MenuItem[];
}

const recentMax = 24;
const browsedMax = 1000;
/** A longer folder leads to its letters first, unless there are too many of these. */
const withoutLettersMax = 6 * menuTilesMax;
const lettersMax = 5 * menuTilesMax;

export function createMenuLists({ library, launch, openWifi, canSwitchOff, texts }: ListParts) {
  const starting = (script: string) => () => {
    launch(script);
    return undefined;
  };
  const mediaItem = (name: string, path: string, script: string): MenuItem => ({
    name,
    path,
    symbol: symbols.play,
    choose: starting(script),
  });
  const recent = () =>
    library
      .history({ limit: recentMax, cursor: undefined, systems: [], isDistinct: true })
      .entries.filter(({ mediaPath }) => mediaPath !== "")
      .map(({ mediaName, mediaPath }) => mediaItem(mediaName, mediaPath, scriptOf(mediaPath)));
  const favourites = () =>
    library.favourites().map(({ name, path, zapScript }) => mediaItem(name, path, zapScript));
  const folder = async (path: string, title: string, category: string | undefined): Promise<MenuList> => {
    const entries = await entriesOf(library, path);
    const items = entries.map((entry): MenuItem => {
      if (entry.type === "media")
        return mediaItem(
          entry.audio?.title ?? entry.name,
          entry.path,
          entry.zapScript ?? scriptOf(entry.path),
        );
      const { name, path: below, systemId } = entry;
      if (entry.type === "directory")
        return { name, path: below, symbol: symbols.library, choose: () => folder(below, name, category) };
      const symbol = symbolOf(systemId ?? "", entry.category);
      return { name, symbol, choose: () => folder(below, name, entry.category) };
    });
    // A folder of songs or films plays as a list; one of games does not.
    const isAlbum = category === "Media" && entries.some(({ type }) => type === "media");
    const all = { name: texts().playAll, symbol: symbols.play, choose: starting(scriptOf(path)) };
    if (isAlbum) return { title, items: [all, ...items] };
    return { title, items: withLetters(title, items) };
  };
  const volume = (): MenuList => ({
    title: texts().volume,
    items: [
      { name: texts().quieter, symbol: symbols.quieter, choose: starting("**volume:-10") },
      { name: texts().louder, symbol: symbols.louder, choose: starting("**volume:+10") },
    ],
  });
  const leave = (): MenuList => ({
    title: texts().switchOff,
    items: [
      { name: texts().stayOn, symbol: symbols.play, choose: first },
      { name: texts().switchOff, symbol: symbols.power, choose: starting("**shutdown") },
    ],
  });
  const wifi = (): MenuList => ({
    title: texts().wifi,
    items: [
      {
        name: texts().wifiByPhone,
        symbol: symbols.wifi,
        choose: async () => {
          await openWifi?.();
          return undefined;
        },
      },
    ],
  });
  const list = (name: string, symbol: string, items: readonly MenuItem[]): readonly MenuItem[] =>
    items.length === 0 ? [] : [{ name, symbol, choose: () => ({ title: name, items }) }];
  const first = (): MenuList => {
    const played = recent();
    const [last] = played;
    const words = texts();
    return {
      title: words.title,
      items: [
        ...(last === undefined ? [] : [{ ...last, name: `${words.continue}: ${last.name}` }]),
        ...list(words.recent, symbols.recent, played),
        ...list(words.favourites, symbols.favourites, favourites()),
        { name: words.library, symbol: symbols.library, choose: () => folder("", words.library, undefined) },
        { name: words.volume, symbol: symbols.louder, choose: volume },
        ...(openWifi === undefined ? [] : [{ name: words.wifi, symbol: symbols.wifi, choose: wifi }]),
        ...(canSwitchOff ? [{ name: words.switchOff, symbol: symbols.power, choose: leave }] : []),
      ],
    };
  };
  return { first };
}

/** All entries of a folder, at most `menuEntriesMax`. */
async function entriesOf(library: Pick<LibraryService, "browse">, path: string) {
  const entries: Awaited<ReturnType<LibraryService["browse"]>>["entries"][number][] = [];
  let cursor: string | undefined;
  do {
    const page = await library.browse(
      {
        path,
        systems: [],
        maxResults: Math.min(browsedMax, menuEntriesMax - entries.length),
        cursor,
        tags: [],
        letter: undefined,
        isDescending: false,
      },
      ownCaller(),
    );
    entries.push(...page.entries);
    cursor = page.pagination.nextCursor;
  } while (cursor !== undefined && entries.length < menuEntriesMax);
  return entries;
}

/** The items, or the letters with which they begin. */
function withLetters(title: string, items: readonly MenuItem[]): readonly MenuItem[] {
  if (items.length <= withoutLettersMax) return items;
  const groups = Map.groupBy(items, ({ name }) => letterOf(name));
  if (groups.size > lettersMax) return items;
  return [...groups].map(([letter, of]) => ({
    name: `${letter} (${of.length})`,
    choose: () => ({ title: `${title}: ${letter}`, items: of }),
  }));
}

function letterOf(name: string): string {
  const [first = ""] = name.normalize("NFD").toUpperCase();
  if (/\p{L}/u.test(first)) return first;
  return /\d/.test(first) ? "0–9" : "#";
}

const pictureEdge = 320;
/** A drive that sleeps must not keep the page back. */
const picturesMs = 1500;
const keptMax = 3 * menuTilesMax;

/** The pictures of tiles as PNG, which the drawing reads; those that were shown last are kept. */
export function createMenuPictures({ library, clock, log }: Pick<ListParts, "library" | "clock" | "log">) {
  const kept = new Map<string, Promise<string | undefined>>();
  const find = async (path: string) => {
    try {
      const types = ["boxart", "image", "thumbnail", "screenshot"] as const;
      const { data } = await library.image({ path, system: "", types, maxSize: pictureEdge }, ownCaller());
      const png = await new Bun.Image(Buffer.from(data, "base64")).png().bytes();
      return Buffer.from(png).toString("base64");
    } catch (error) {
      log.debug("menu", messageOf(error), { path });
      return undefined;
    }
  };
  const pictureOf = (path: string) => {
    const picture = kept.get(path) ?? find(path);
    kept.delete(path);
    kept.set(path, picture);
    for (const oldest of kept.keys()) if (kept.size > keptMax) kept.delete(oldest);
    return picture;
  };
  return {
    async tileOf({ name, symbol, path }: MenuItem): Promise<MenuTile> {
      const late = Promise.withResolvers<undefined>();
      using _timer = clock.after(picturesMs, () => late.resolve(undefined));
      const picture = path && (await Promise.race([pictureOf(path), late.promise]));
      return { name, ...(symbol && { symbol }), ...(picture && { picture }) };
    },
    /** A picture may have changed, and the memory is for something else. */
    forget: () => kept.clear(),
  };
}

/** The person at the device. Each call is a caller of its own, so none waits for another. */
function ownCaller() {
  return createConnection(
    { access: "device", grant: () => "own", from: { address: "menu" }, resultFor: undefined },
    () => {},
  );
}

/** Lines in a square of 24 units. */
const symbols = {
  play: "M7 4.5v15l12-7.5z",
  recent: "M12 4a8 8 0 1 1-8 8M4 5v4h4M12 8v4.5l3 2",
  favourites: "M12 4l2.5 5 5.5.8-4 3.9.9 5.5L12 16.6 7.1 19.2 8 13.7 4 9.8 9.5 9z",
  library: "M5 5h5.5v5.5H5zM13.5 5H19v5.5h-5.5zM5 13.5h5.5V19H5zM13.5 13.5H19V19h-5.5z",
  quieter: "M4 9.5v5h3.5l5 4v-13l-5 4zM16 12h4",
  louder: "M4 9.5v5h3.5l5 4v-13l-5 4zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11",
  wifi: "M3 9.500a13 13 0 0 1 18 0M6 13a8.500 8.500 0 0 1 12 0M9 16.200a4 4 0 0 1 6 0M12 19.500h.01",
  power: "M8 6.500a7.500 7.500 0 1 0 8 0M12 3.500v8",
} as const;
