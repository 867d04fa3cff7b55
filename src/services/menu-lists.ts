/** The lists of the television's menu, and the pictures of their items. */
import { createConnection } from "../api/connection.ts";
import type { LibraryService } from "../api/services.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import { menuEntriesMax, picturePixelsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { scriptOf } from "../core/media.ts";
import { symbolOf } from "../core/system-symbols.ts";
import { menuTilesMax } from "../screen/menu-template.ts";
import type { MenuTile } from "../screen/picture.ts";
import type { MenuTexts } from "../screen/texts.ts";
import { bluetoothList, type MenuBluetooth } from "./menu-bluetooth.ts";
import { type MenuItem, type MenuList, menuSymbols } from "./menu-items.ts";
import { type MenuWifi, wifiList } from "./menu-wifi.ts";

export interface ListParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly library: Pick<LibraryService, "browse" | "favourites" | "history" | "image">;
  /** Runs a script as a card on a reader of the device would. */
  readonly launch: (script: string) => void;
  /** The volume that its scripts change, in percent. */
  readonly volume: () => Promise<number>;
  /** The Wi-Fi; undefined if the device has none of its own, for example before an adapter is plugged in. */
  readonly wifi: () => MenuWifi | undefined;
  /** Bluetooth; undefined without a radio. */
  readonly bluetooth: () => MenuBluetooth | undefined;
  readonly canSwitchOff: boolean;
  readonly texts: () => MenuTexts;
}

const recentMax = 24;
const browsedMax = 1000;
/** A longer folder first shows the letters of its names, unless there are too many letters. */
const withoutLettersMax = 6 * menuTilesMax;
const lettersMax = 5 * menuTilesMax;

export function createMenuLists(parts: ListParts) {
  const { clock, library, launch, wifi: wifiNow, bluetooth: bluetoothNow, canSwitchOff, texts } = parts;
  const starting = (script: string) => () => {
    launch(script);
    return undefined;
  };
  const mediaItem = (name: string, path: string, script: string): MenuItem => ({
    name,
    path,
    symbol: menuSymbols.play,
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
        return {
          name,
          path: below,
          symbol: menuSymbols.library,
          choose: () => folder(below, name, category),
        };
      const symbol = symbolOf(systemId ?? "", entry.category);
      return { name, symbol, choose: () => folder(below, name, entry.category) };
    });
    // A folder of songs or films is played as a list, and a folder of games is not.
    const isAlbum = category === "Media" && entries.some(({ type }) => type === "media");
    const all = { name: texts().playAll, symbol: menuSymbols.play, choose: starting(scriptOf(path)) };
    if (isAlbum) return { title, items: [all, ...items] };
    return { title, items: withLetters(title, items) };
  };
  const volume = (): MenuList => ({
    title: texts().volume,
    level: parts.volume,
    items: [
      { name: texts().quieter, symbol: menuSymbols.quieter, choose: starting("**volume:-10") },
      { name: texts().louder, symbol: menuSymbols.louder, choose: starting("**volume:+10") },
    ],
  });
  const leave = (): MenuList => ({
    title: texts().switchOff,
    items: [
      { name: texts().stayOn, symbol: menuSymbols.play, choose: () => "close" },
      { name: texts().switchOff, symbol: menuSymbols.power, choose: starting("**shutdown") },
    ],
  });
  const list = (name: string, symbol: string, items: readonly MenuItem[]): readonly MenuItem[] =>
    items.length === 0 ? [] : [{ name, symbol, choose: () => ({ title: name, items }) }];
  const first = (): MenuList => {
    const played = recent();
    const [last] = played;
    const words = texts();
    const wifi = wifiNow();
    const bluetooth = bluetoothNow();
    return {
      title: words.title,
      items: [
        ...(last === undefined ? [] : [{ ...last, name: `${words.continue}: ${last.name}` }]),
        ...list(words.recent, menuSymbols.recent, played),
        ...list(words.favourites, menuSymbols.favourites, favourites()),
        {
          name: words.library,
          symbol: menuSymbols.library,
          choose: () => folder("", words.library, undefined),
        },
        { name: words.volume, symbol: menuSymbols.louder, choose: volume },
        ...(wifi === undefined
          ? []
          : [
              {
                name: words.wifi,
                symbol: menuSymbols.wifi,
                choose: () => wifiList({ wifi, clock, texts }),
              },
            ]),
        ...(bluetooth === undefined
          ? []
          : [
              {
                name: words.bluetooth,
                symbol: menuSymbols.bluetooth,
                choose: () => bluetoothList({ bluetooth, clock, texts }),
              },
            ]),
        ...(canSwitchOff ? [{ name: words.switchOff, symbol: menuSymbols.power, choose: leave }] : []),
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

/** Compares marks, then digits, then letters. */
const compareLetters = new Intl.Collator("en").compare;

/** The items, or the first letters of their names if there are many items. */
function withLetters(title: string, items: readonly MenuItem[]): readonly MenuItem[] {
  if (items.length <= withoutLettersMax) return items;
  const groups = Map.groupBy(items, ({ name }) => letterOf(name));
  if (groups.size > lettersMax) return items;
  // The folders of a folder come before its files, so their letters are in no order.
  const inOrder = [...groups].sort(([one], [other]) => compareLetters(one, other));
  return inOrder.map(([letter, of]) => ({
    name: `${letter} (${of.length})`,
    choose: () => ({ title: `${title}: ${letter}`, items: of }),
  }));
}

/** The first consonants of Korean syllables, in the order of U+1100 and after. As decomposed they are half letters. */
const koreanLetters = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ";

function letterOf(name: string): string {
  const [first = ""] = name.normalize("NFD").toUpperCase();
  const korean = koreanLetters[first.charCodeAt(0) - 0x1100];
  if (korean !== undefined) return korean;
  if (/\p{L}/u.test(first)) return first;
  return /\d/.test(first) ? "0–9" : "#";
}

const pictureEdge = 320;
/** A drive that sleeps must not delay the page. */
const picturesMs = 1500;
const keptMax = 3 * menuTilesMax;

/** The pictures of tiles as PNG, which the drawing reads; those that were shown last are kept. */
export function createMenuPictures({ library, clock, log }: Pick<ListParts, "library" | "clock" | "log">) {
  const kept = new Map<string, Promise<string | undefined>>();
  const find = async (path: string) => {
    try {
      const types = ["boxart", "image", "thumbnail", "screenshot"] as const;
      const { data } = await library.image({ path, system: "", types, maxSize: pictureEdge }, ownCaller());
      // A small file may have millions of pixels.
      const png = await new Bun.Image(Buffer.from(data, "base64"), { maxPixels: picturePixelsMax })
        .resize(pictureEdge, pictureEdge, { fit: "inside", withoutEnlargement: true })
        .png()
        .bytes();
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
    /** Forgets the pictures when the menu closes, because a picture may change, and to free their memory. */
    forget: () => kept.clear(),
  };
}

/** The person at the device as a caller of the API. Each call has a connection of its own, so no call waits for another. */
function ownCaller() {
  return createConnection(
    { access: "device", grant: () => "own", from: { address: "menu" }, resultFor: undefined },
    () => {},
  );
}
