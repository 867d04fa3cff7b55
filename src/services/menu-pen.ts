/** The parts of the menu that the service draws itself, because a drawing process takes too long for a key press. */
import { accents, colors } from "../screen/drawings.ts";
import { type Canvas, copyBox, drawBorder, fillBox } from "../screen/frame-buffer.ts";
import { letterIn, letterOn } from "../screen/keyboard-template.ts";
import { levelBoxes } from "../screen/level-template.ts";
import { menuBorder, menuBox, menuColumns } from "../screen/menu-template.ts";
import type { Picture, ShownMenu } from "../screen/picture.ts";

export function createMenuPen() {
  /** The menu on the screen. */
  let menu: ShownMenu | undefined;
  let canvas: Canvas | undefined;
  /** The tile with the border. */
  let bordered: number | undefined;
  let chosen = 0;
  let isStale = false;
  /** The level in percent; undefined until it is known. */
  let level: number | undefined;
  const draw = (how: (on: Canvas) => void) => {
    if (canvas === undefined) return;
    try {
      how(canvas);
    } catch {
      // The frame buffer is gone, which the next check of the screen detects.
    }
  };
  const paint = (place: number, color: string) =>
    draw((on) => drawBorder(on, menuBox(place, on, menu?.typed !== undefined), color, menuBorder(on)));
  const move = () => {
    if (menu === undefined || isStale || menu.tiles.length === 0) return;
    if (bordered !== undefined) paint(bordered, colors.background);
    paint(chosen, accents.ready);
    bordered = chosen;
  };
  const drawLevel = () => {
    if (isStale || level === undefined || menu?.hasLevel !== true) return;
    const now = level;
    draw((on) => {
      for (const { box, color } of levelBoxes(now, on)) fillBox(on, box, color);
    });
  };
  return {
    /** The menu that is drawn; undefined while another one is about to be drawn. */
    menu: () => (isStale ? undefined : menu),
    isOver: (picture: Picture | undefined) => menu !== undefined && picture?.kind !== "menu",
    choose(place: number) {
      chosen = place;
      move();
    },
    /**
     * Copies the letter of the chosen key into the field. A letter that is deleted is replaced by a piece of its
     * background.
     */
    type(index: number, isGone: boolean) {
      if (isStale) return;
      draw((on) => {
        const cell = letterIn(index, on);
        if (isGone) fillBox(on, cell, colors.tile);
        else copyBox(on, letterOn(chosen, on), cell);
      });
    },
    /** Shows the level of a page that has one, from 0 to 100. */
    level(percent: number) {
      level = percent;
      drawLevel();
    },
    /** Notes that a menu is about to be drawn. Without `place`, the choice stays on the same tile. */
    expect(place = chosen) {
      chosen = place;
      isStale = true;
    },
    /** The tiles in a row of the menu that is drawn. */
    columns: () => menuColumns(canvas ?? { width: 1, height: 1 }),
    /** Notes the menu that is on the screen. A fresh drawing has no border. */
    drawn(now: ShownMenu | undefined, on: Canvas, isFresh: boolean) {
      menu = now;
      canvas = on;
      isStale = false;
      if (isFresh) bordered = undefined;
      move();
      drawLevel();
    },
    forget() {
      menu = undefined;
      bordered = undefined;
      level = undefined;
    },
  };
}
