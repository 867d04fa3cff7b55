/** The parts of the lists in the television's menu. */
import type { MenuTile } from "../screen/picture.ts";

export interface MenuItem extends Omit<MenuTile, "picture"> {
  /** The path of the media or folder whose picture is shown. */
  readonly path?: string;
  /** Returns the list to which the item leads, if any; `close` ends the menu. */
  readonly choose: () => MenuStep | Promise<MenuStep>;
}

type MenuStep = MenuList | "close" | undefined;

export interface MenuList {
  readonly title: string;
  readonly items: readonly MenuItem[];
  /** True if it replaces the previous list, and keeps the chosen item. */
  readonly replaces?: true;
  /** Returns the typed text, for a list whose items are the keys of a keyboard. */
  readonly typed?: () => string;
  /** Returns the level in percent, for a list whose items change one. */
  readonly level?: () => Promise<number>;
  /** The text of a list without items. */
  readonly note?: string;
  /** Makes the list that follows this one without a key press. */
  readonly follow?: () => Promise<MenuList>;
}

/** The symbols of items: lines in a square of 24 units. */
export const menuSymbols = {
  play: "M7 4.5v15l12-7.5z",
  recent: "M12 4a8 8 0 1 1-8 8M4 5v4h4M12 8v4.5l3 2",
  favourites: "M12 4l2.5 5 5.5.8-4 3.9.9 5.5L12 16.6 7.1 19.2 8 13.7 4 9.8 9.5 9z",
  library: "M5 5h5.5v5.5H5zM13.5 5H19v5.5h-5.5zM5 13.5h5.5V19H5zM13.5 13.5H19V19h-5.5z",
  quieter: "M4 9.5v5h3.5l5 4v-13l-5 4zM16 12h4",
  louder: "M4 9.5v5h3.5l5 4v-13l-5 4zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11",
  wifi: "M3 9.5a13 13 0 0 1 18 0M6 13a8.5 8.5 0 0 1 12 0M9 16.2a4 4 0 0 1 6 0M12 19.5h.01",
  bluetooth: "M7 7.5l10 9-5 4.5v-18l5 4.5-10 9",
  phone: "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1M11 18h2",
  search: "M10.5 4.5a6 6 0 1 1 0 12a6 6 0 1 1 0-12M15 15l5 5",
  locked: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  space: "M4 12v4h16v-4",
  erase: "M9 6h11v12H9l-6-6zM12 9.5l5 5M17 9.5l-5 5",
  done: "M4 12.5l5 5 11-11",
  power: "M8 6.5a7.5 7.5 0 1 0 8 0M12 3.5v8",
} as const;
