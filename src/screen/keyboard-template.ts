/**
 * The keyboard on the television, and the field with the text that is typed on it. A letter in the field is as large as
 * on its key, so the service shows it by a copy of the pixels of the key.
 */
import { colors } from "./drawings.ts";
import type { Box } from "./frame-buffer.ts";
import { drawnSymbol, isUpright, menuMeasures, words } from "./menu-parts.ts";
import type { ShownMenu } from "./picture.ts";

type Size = Pick<Box, "width" | "height">;

const columns = 10;
const rows = 4;
/** The number of keys of one letter, which stand row by row. Further keys below them are twice as wide. */
export const letterKeys = columns * rows;
const actionKeys = columns / 2;
export const keysMax = letterKeys + actionKeys;

/** The number of letters that the field has room for. */
export const typedMax = 72;

function measures(size: Size) {
  const { unit, margin, titleHeight, hintHeight } = menuMeasures(size);
  const { width, height } = size;
  const fieldColumns = isUpright(size) ? 14 : 24;
  const fieldRows = Math.ceil(typedMax / fieldColumns);
  const gap = 0.024 * unit;
  const cell = { width: (width - 2 * margin) / fieldColumns, height: 0.062 * unit };
  const top = margin + titleHeight + fieldRows * cell.height + 2 * gap;
  const keyWidth = (width - 2 * margin - (columns - 1) * gap) / columns;
  const keyRoom = (height - margin - hintHeight - top - rows * gap) / (rows + 1);
  return {
    fieldColumns,
    fieldRows,
    gap,
    cell,
    top,
    field: { x: margin, y: margin + titleHeight },
    letterSize: Math.min(cell.height * 0.72, cell.width * 0.8),
    keyWidth,
    keyHeight: Math.min(keyRoom, 2 * keyWidth),
  };
}

export function keyAt(place: number, size: Size): Box {
  const { field, gap, top, keyWidth, keyHeight } = measures(size);
  if (place < letterKeys) {
    const x = field.x + (place % columns) * (keyWidth + gap);
    return {
      x,
      y: top + Math.floor(place / columns) * (keyHeight + gap),
      width: keyWidth,
      height: keyHeight,
    };
  }
  const width = 2 * keyWidth + gap;
  return {
    x: field.x + (place - letterKeys) * (width + gap),
    y: top + rows * (keyHeight + gap),
    width,
    height: keyHeight,
  };
}

/** The letters of a key, in whole pixels. */
export function letterOn(place: number, size: Size): Box {
  const { cell } = measures(size);
  const key = keyAt(place, size);
  const width = Math.floor(cell.width);
  const height = Math.floor(Math.min(cell.height, key.height));
  return {
    x: Math.round(key.x + (key.width - width) / 2),
    y: Math.round(key.y + (key.height - height) / 2),
    width,
    height,
  };
}

/** The box, in whole pixels, for the letter with this index in the field, counted from 0. */
export function letterIn(index: number, size: Size): Box {
  const { cell, field, fieldColumns } = measures(size);
  const { width, height } = letterOn(0, size);
  return {
    x: Math.round(field.x + (index % fieldColumns) * cell.width + (cell.width - width) / 2),
    y: Math.round(field.y + Math.floor(index / fieldColumns) * cell.height + (cell.height - height) / 2),
    width,
    height,
  };
}

/** The key that an arrow leads to. Left and right continue at the other end of a row. */
export function keyNeighbour(place: number, key: "up" | "down" | "left" | "right"): number | undefined {
  const isAction = place >= letterKeys;
  const width = isAction ? actionKeys : columns;
  const column = isAction ? place - letterKeys : place % columns;
  switch (key) {
    case "left":
      return place - column + ((column + width - 1) % width);
    case "right":
      return place - column + ((column + 1) % width);
    case "up":
      if (isAction) return letterKeys - columns + 2 * column;
      return place >= columns ? place - columns : undefined;
    case "down":
      if (isAction) return undefined;
      return place + columns < letterKeys ? place + columns : letterKeys + Math.floor(column / 2);
  }
}

export function keyRows({ tiles, typed = "" }: ShownMenu, size: Size): readonly string[] {
  const { cell, field, fieldColumns, fieldRows, letterSize } = measures(size);
  const letter = (text: string, { x, y, width, height }: Box, most = letterSize) =>
    words(text, {
      x: x + width / 2,
      y: y + height / 2 + most * 0.36,
      size: most,
      color: colors.text,
      anchor: "middle",
    });
  return [
    // A letter covers the corner of the field on which it stands.
    rect({ ...field, width: fieldColumns * cell.width, height: fieldRows * cell.height }, cell.height),
    ...[...typed].map((text, at) => letter(text, letterIn(at, size))),
    ...tiles.flatMap(({ name, symbol }, place) => {
      const key = keyAt(place, size);
      if (symbol !== undefined) return [rect(key), drawnSymbol(symbol, key)];
      return [rect(key), letter(name, letterOn(place, size))];
    }),
  ];
}

function rect({ x, y, width, height }: Box, roundness = height): string {
  const [left, top, wide, high] = [x, y, width, height].map((length) => length.toFixed(1));
  return `<rect x="${left}" y="${top}" width="${wide}" height="${high}" rx="${(0.1 * roundness).toFixed(1)}" fill="${colors.tile}"/>`;
}
