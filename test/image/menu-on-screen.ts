/** The menu of the television in a picture of the board, and a controller inside the guest that operates it. */
import { join } from "node:path";
import type { Box } from "../../src/screen/frame-buffer.ts";
import { keyNeighbour, letterKeys } from "../../src/screen/keyboard-template.ts";
import { levelBoxes } from "../../src/screen/level-template.ts";
import { menuBorder, menuBox } from "../../src/screen/menu-template.ts";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";
import type { Board } from "./board.ts";
import { type Color, type Picture, type Region, shareOf } from "./picture.ts";
import { until } from "./until.ts";

// Colors of src/screen/drawings.ts.
const border: Color = [0x5e, 0xe6, 0xb5];
const tile: Color = [0x24, 0x2a, 0x5c];

/** Codes of the kernel's gamepad protocol (linux/input-event-codes.h). */
export const button = { south: 304, east: 305, select: 314, start: 315 } as const;
const across = 16;
const upright = 17;
const ways = { left: [across, -1], right: [across, 1], up: [upright, -1], down: [upright, 1] } as const;
type Arrow = keyof typeof ways;

/** Compiles the program that emulates a controller. */
export async function makePad(folder: string): Promise<void> {
  await run([
    ...["aarch64-linux-gnu-gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-s"],
    ...[join(root, "test/image/pad.c"), "-o", join(folder, "pad")],
  ]);
}

/** Starts the program, which is at /run/pad of the guest. */
export async function startPad(board: Board): Promise<void> {
  await board.shell("chmod 755 /run/pad; mkfifo /run/buttons");
  await board.shell('/run/pad 045e 028e "Xbox 360 Controller" 0<>/run/buttons >/run/pad.log 2>&1 &');
  // The service opens the controller once its node has a group.
  const heard = "logread | grep -c 'an input device is heard.*Xbox 360 Controller' || true";
  await until("the controller", async () => Number(await board.shell(heard)) > 0);
}

async function tell(board: Board, lines: readonly string[]): Promise<void> {
  await board.shell(`(${lines.map((line) => `echo ${line}`).join("; ")}) >/run/buttons`);
}

export const press = (board: Board, ...codes: readonly number[]) =>
  tell(
    board,
    codes.map((code) => `${code} 1`),
  );
export const release = (board: Board, ...codes: readonly number[]) =>
  tell(
    board,
    codes.map((code) => `${code} 0`),
  );

/**
 * Presses and releases buttons, and moves and releases the pad, no faster than a person does, because the kernel keeps
 * only 64 events.
 */
export async function tap(board: Board, ...keys: readonly (number | Arrow)[]): Promise<void> {
  for (let at = 0; at < keys.length; at += 20) {
    const commands = keys.slice(at, at + 20).map((key) => {
      const [code, value] = typeof key === "number" ? [key, 1] : ways[key];
      return `echo ${code} ${value}; echo ${code} 0; usleep 50000`;
    });
    await board.shell(`(${commands.join("; ")}) >/run/buttons`);
  }
}

/**
 * Opens the menu by an arrow. The menu hears no key until a moment after the media, so the arrow is pressed until the menu
 * is there. In an open menu it leads nowhere from the first tile.
 */
export async function openMenu(board: Board): Promise<void> {
  const isThere = isMenuAt(0);
  await until("the menu", async () => {
    await tap(board, "left");
    return isThere(await board.picture());
  });
}

/** Whether the menu is shown, with a whole border around this tile or key, and none around the others of `count`. */
export const isMenuAt = (chosen: number, count = 4, hasKeys = false) => {
  return (picture: Picture) => {
    if (shareOf(picture, tile) < 0.1) return false;
    return Array.from({ length: count }, (_, at) => at).every((at) => {
      const box = menuBox(at, picture, hasKeys);
      const { width, height } = box;
      const thickness = menuBorder(picture);
      const share = shareOf(picture, border, regionOf(box, picture));
      const whole = 1 - ((width - 2 * thickness) * (height - 2 * thickness)) / (width * height);
      return at === chosen ? share > 0.9 * whole : share < 0.05;
    });
  };
};

/** True if the picture has a tile in the second row. */
export const hasSecondRow = (picture: Picture) =>
  shareOf(picture, tile, regionOf(menuBox(4, picture), picture)) > 0.1;

/** The share of the level's bar that is filled. */
export function levelIn(picture: Picture): number {
  const [bar] = levelBoxes(100, picture);
  return bar === undefined ? 0 : shareOf(picture, border, regionOf(bar.box, picture));
}

function regionOf({ x, y, width, height }: Box, picture: Picture): Region {
  return {
    left: x / picture.width,
    top: y / picture.height,
    right: (x + width) / picture.width,
    bottom: (y + height) / picture.height,
  };
}

/** The arrows from one key of the keyboard to another, by the shortest way. */
export function arrowsTo(from: number, to: number): readonly Arrow[] {
  const ways: { readonly place: number; readonly arrows: readonly Arrow[] }[] = [{ place: from, arrows: [] }];
  const seen = new Set([from]);
  for (const { place, arrows } of ways) {
    if (place === to) return arrows;
    for (const arrow of ["left", "right", "up", "down"] as const) {
      const next = keyNeighbour(place, arrow);
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      ways.push({ place: next, arrows: [...arrows, arrow] });
    }
  }
  throw new Error(`no way from key ${from} to key ${to}`);
}

/**
 * The keys that type a text of small letters and spaces, from the key of the first letter on, and then complete it, each with
 * the arrows that lead to it.
 */
export function typing(text: string): readonly { readonly arrows: readonly Arrow[]; readonly key: number }[] {
  const letters = "1234567890qwertyuiopasdfghjkl-zxcvbnm._@";
  const space = letterKeys + 2;
  const done = letterKeys + 4;
  let at = 0;
  return [...[...text].map((letter) => (letter === " " ? space : letters.indexOf(letter))), done].map(
    (key) => {
      const arrows = arrowsTo(at, key);
      at = key;
      return { arrows, key };
    },
  );
}
