/** One page of the menu as an SVG: tiles with pictures, and names that are legible from three metres. */
import { screenNameCharsMax } from "../core/console-limits.ts";
import { colors } from "./drawings.ts";
import type { Box } from "./frame-buffer.ts";
import { keyAt, keyRows } from "./keyboard-template.ts";
import { drawnSymbol, isUpright, menuMeasures, px, words } from "./menu-parts.ts";
import type { MenuTile, ShownMenu } from "./picture.ts";
import { fitText, plainText } from "./screen-lines.ts";
import type { MenuTexts } from "./texts.ts";

const gapShare = 0.03;
export const menuTilesMax = 8;

type Size = Pick<Box, "width" | "height">;

/** The tiles in a row. */
export function menuColumns(size: Size): number {
  return isUpright(size) ? 2 : 4;
}

function measures(size: Size) {
  const { unit, margin, titleHeight, hintHeight } = menuMeasures(size);
  const { width, height } = size;
  const columns = menuColumns(size);
  const rows = menuTilesMax / columns;
  const gap = gapShare * unit;
  return {
    columns,
    margin,
    gap,
    titleHeight,
    tileWidth: (width - 2 * margin - (columns - 1) * gap) / columns,
    tileHeight: (height - 2 * margin - titleHeight - hintHeight - (rows - 1) * gap) / rows,
  };
}

/** The border of a chosen tile, which is outside of the tile. */
export function menuBorder(size: Size): number {
  return Math.max(2, Math.round(gapShare * menuMeasures(size).unit * 0.35));
}

/** The box of the border of the tile or key at this place. */
export function menuBox(place: number, size: Size, hasKeys = false): Box {
  const tile = hasKeys ? keyAt(place, size) : tileAt(place, size);
  const border = menuBorder(size);
  return {
    x: Math.round(tile.x) - border,
    y: Math.round(tile.y) - border,
    width: Math.round(tile.width) + 2 * border,
    height: Math.round(tile.height) + 2 * border,
  };
}

function tileAt(place: number, size: Size): Box {
  const { columns, margin, gap, titleHeight, tileWidth, tileHeight } = measures(size);
  return {
    x: margin + (place % columns) * (tileWidth + gap),
    y: margin + titleHeight + Math.floor(place / columns) * (tileHeight + gap),
    width: tileWidth,
    height: tileHeight,
  };
}

/** The room of the second row of tiles, which a page with a level leaves free. */
export function secondRow(size: Size): Box {
  const { columns, margin } = measures(size);
  return { ...tileAt(columns, size), width: size.width - 2 * margin };
}

/** The tile to which a press of an arrow leads; undefined if this page has none. */
export function menuNeighbour(
  place: number,
  key: "up" | "down" | "left" | "right",
  count: number,
  columns: number,
): number | undefined {
  const column = place % columns;
  switch (key) {
    case "left":
      return column > 0 ? place - 1 : undefined;
    case "right":
      return column < columns - 1 && place + 1 < count ? place + 1 : undefined;
    case "up":
      return place >= columns ? place - columns : undefined;
    case "down":
      // A last row that is not full has a tile for each column of the row above.
      return Math.floor(place / columns) < Math.floor((count - 1) / columns)
        ? Math.min(place + columns, count - 1)
        : undefined;
  }
}

export function menuRows(menu: ShownMenu, size: Size, texts: MenuTexts): readonly string[] {
  const { margin, titleHeight, hintHeight } = menuMeasures(size);
  const { width, height } = size;
  const top = margin + titleHeight * 0.62;
  const bottom = height - margin - hintHeight * 0.2;
  const right = width - margin;
  const pagesWidth = menu.pages < 2 ? 0 : titleHeight * 3;
  const title = fitText(plainText(menu.title, screenNameCharsMax), {
    width: width - 2 * margin - pagesWidth,
    linesMax: 1,
    sizeMax: titleHeight * 0.62,
    sizeMin: titleHeight * 0.3,
  });
  const hint = fitText(texts.hint, {
    width: width - 2 * margin,
    linesMax: 1,
    sizeMax: hintHeight * 0.55,
    sizeMin: hintHeight * 0.3,
  });
  return [
    ...title.lines.map((line) =>
      words(line, { x: margin, y: top, size: title.size, color: colors.text, anchor: "start" }),
    ),
    ...(menu.pages < 2
      ? []
      : [
          words(`${menu.page} / ${menu.pages}`, {
            x: right,
            y: top,
            size: titleHeight * 0.5,
            color: colors.quiet,
            anchor: "end",
          }),
        ]),
    ...(menu.typed === undefined
      ? menu.tiles.flatMap((tile, place) => drawnTile(tile, tileAt(place, size)))
      : keyRows(menu, size)),
    ...(menu.tiles.length === 0 ? noteRows(menu.note ?? texts.empty, size) : []),
    ...hint.lines.map((line) =>
      words(line, { x: width / 2, y: bottom, size: hint.size, color: colors.quiet, anchor: "middle" }),
    ),
  ];
}

function noteRows(note: string, size: Size): readonly string[] {
  const { unit, margin } = menuMeasures(size);
  const { width, height } = size;
  const fitted = fitText(note, {
    width: width - 2 * margin,
    linesMax: 3,
    sizeMax: unit * 0.06,
    sizeMin: unit * 0.04,
  });
  return fitted.lines.map((line, at) =>
    words(line, {
      x: width / 2,
      y: height / 2 + at * fitted.size * 1.2,
      size: fitted.size,
      color: colors.quiet,
      anchor: "middle",
    }),
  );
}

const picturePart = 0.68;

function drawnTile({ name, symbol, picture }: MenuTile, box: Box): readonly string[] {
  const pad = box.height * 0.05;
  const room = {
    x: box.x + pad,
    y: box.y + pad,
    width: box.width - 2 * pad,
    height: box.height * picturePart - pad,
  };
  const hasPicture = picture !== undefined || symbol !== undefined;
  const { x, y, width, height } = box;
  return [
    `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" rx="${px(height * 0.04)}" fill="${colors.tile}"/>`,
    ...(picture !== undefined
      ? [
          `<image x="${px(room.x)}" y="${px(room.y)}" width="${px(room.width)}" height="${px(room.height)}" href="data:image/png;base64,${picture}"/>`,
        ]
      : symbol !== undefined
        ? [drawnSymbol(symbol, room)]
        : []),
    ...nameRows(name, box, pad, hasPicture ? picturePart : 0),
  ];
}

/**
 * The rows of a name in the middle of the space below the picture. Without a picture, the name is larger and in the
 * middle of the tile.
 */
function nameRows(name: string, box: Box, pad: number, from: number): readonly string[] {
  const height = box.height * (1 - from) - pad;
  const fitted = fitText(plainText(name, screenNameCharsMax), {
    width: box.width - 2 * pad,
    linesMax: from === 0 ? 4 : 2,
    sizeMax: box.height * (from === 0 ? 0.14 : 0.115),
    sizeMin: box.height * 0.075,
  });
  const line = fitted.size * 1.2;
  const top = box.y + box.height * from + (height - fitted.lines.length * line) / 2;
  return fitted.lines.map((text, at) =>
    words(text, {
      x: box.x + box.width / 2,
      y: top + at * line + fitted.size * 0.95,
      size: fitted.size,
      color: colors.text,
      anchor: "middle",
    }),
  );
}
