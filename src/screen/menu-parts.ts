/** Parts that the pictures of the menu, of its keyboard and of the status have in common. */
import { colors } from "./drawings.ts";
import type { Box } from "./frame-buffer.ts";
import { escapeXml } from "./screen-lines.ts";

/** Televisions cut the edges off, so this margin stays empty. */
export const marginShare = 0.05;

/** The margin, the title above, and the line below, in pixels. Sizes are parts of `unit`, the shorter side. */
export function menuMeasures({ width, height }: Pick<Box, "width" | "height">) {
  const unit = Math.min(width, height);
  return {
    unit,
    margin: marginShare * unit,
    titleHeight: 0.1 * unit,
    hintHeight: 0.07 * unit,
  };
}

/** True for an upright screen. */
export function isUpright({ width, height }: Pick<Box, "width" | "height">): boolean {
  return height > width;
}

const symbolUnits = 24;

/** A line in a square of 24 units, in the middle of its room. */
export function drawnSymbol(symbol: string, room: Box): string {
  const side = Math.min(room.width, room.height) * 0.8;
  const x = room.x + (room.width - side) / 2;
  const y = room.y + (room.height - side) / 2;
  return `<path transform="translate(${px(x)} ${px(y)}) scale(${(side / symbolUnits).toFixed(4)})" d="${symbol}" fill="none" stroke="${colors.quiet}" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>`;
}

interface Words {
  readonly x: number;
  /** The y of the baseline. */
  readonly y: number;
  readonly size: number;
  readonly color: string;
  readonly anchor: "start" | "middle" | "end";
}

export function words(text: string, { x, y, size, color, anchor }: Words): string {
  return `<text x="${px(x)}" y="${px(y)}" font-size="${px(size)}" text-anchor="${anchor}" fill="${color}">${escapeXml(text)}</text>`;
}

export function px(length: number): string {
  return length.toFixed(1);
}
