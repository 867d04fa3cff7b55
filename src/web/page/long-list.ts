/**
 * A list of many tiles or rows, in parts. Only some parts near the view have elements, so a wall of 5,000 covers costs no
 * more than a wall of 240. A part without elements keeps its height.
 */
import { nextTask } from "../../client/link.ts";
import { drawn, el, replaceKeepingFocus } from "./dom.ts";

/** The entries of a part. They fill lines of 2, 3, 4 or 6 tiles, and their layout takes a slow phone 30 ms. */
const partEntries = 12;
/** Parts that keep their elements, because the browser finds words in them and a screen reader reads them. */
const filledMax = 20;
/** A part is filled when it is this near to the view, in heights of the view. */
const nearViews = 1.5;
/** The entries that are made in one task. */
const sliceEntries = 6;
/** The interval at which the parts follow a scrolling page. */
const followMs = 60;

interface Part<T> {
  readonly list: HTMLUListElement;
  things: readonly T[];
  isFilled: boolean;
  filling: Promise<void> | undefined;
  /** The height, as measured when the part was filled. */
  heightPx: number | undefined;
}

interface Shape {
  readonly isWall: boolean;
  /** The list is the same as before with other facts, so the filled parts are filled again at once. */
  readonly isSame: boolean;
}

export type LongList<T> = ReturnType<typeof longList<T>>;

export function longList<T>(make: (thing: T) => HTMLElement) {
  const element = el("div");
  let parts: Part<T>[] = [];
  let isWall = true;
  /** The height of an entry, for parts that were never filled. */
  let entryPx: number | undefined;
  /** The parts near the view, the nearest first. */
  let near: readonly Part<T>[] = [];
  let isFilling = false;

  const fill = (part: Part<T>) => {
    part.filling ??= fillNow(part).finally(() => {
      part.filling = undefined;
    });
    return part.filling;
  };
  const fillNow = async (part: Part<T>) => {
    const { list } = part;
    let filledWith: readonly T[] | undefined;
    // An entry may be removed meanwhile.
    while (filledWith !== part.things) {
      filledWith = part.things;
      list.replaceChildren();
      for (let at = 0; at < filledWith.length && filledWith === part.things; at += sliceEntries) {
        list.append(...filledWith.slice(at, at + sliceEntries).map(make));
        await (list.isConnected ? drawn() : nextTask());
      }
    }
    part.isFilled = true;
    list.style.height = "";
    // Out of view the browser does no layout of the part, and assumes this height.
    const height = heightOf(part);
    if (height !== undefined) list.style.containIntrinsicBlockSize = `auto ${height}px`;
  };
  /** After a drawing this costs no layout. */
  const measure = (part: Part<T>) => {
    const { height } = part.list.getBoundingClientRect();
    if (height === 0) return;
    part.heightPx = height;
    entryPx = height / part.things.length;
  };
  const heightOf = ({ things, heightPx }: Part<T>) =>
    heightPx ?? (entryPx === undefined ? undefined : entryPx * things.length);
  const keepHeight = (part: Part<T>) => {
    const height = heightOf(part);
    if (height !== undefined) part.list.style.height = `${height}px`;
  };
  const empty = (part: Part<T>) => {
    part.isFilled = false;
    part.list.replaceChildren();
    keepHeight(part);
  };
  /** Empties the parts out of view, each in a task of its own: the end of 240 tiles takes a slow phone 40 ms. */
  const leave = async () => {
    if (!element.isConnected) return;
    findNear();
    for (const part of parts) {
      if (!part.isFilled || near.includes(part) || part.list.contains(document.activeElement)) continue;
      empty(part);
      await nextTask();
    }
  };
  /** Empties the parts that are farthest from this one, but none near the view and none with the focus. */
  const thin = (from: Part<T>) => {
    const at = parts.indexOf(from);
    const filled = parts.filter(({ isFilled }) => isFilled);
    const distanceTo = (part: Part<T>) => Math.abs(parts.indexOf(part) - at);
    const free = filled.filter((part) => !near.includes(part) && !part.list.contains(document.activeElement));
    free.sort((one, other) => distanceTo(other) - distanceTo(one));
    for (const part of free.slice(0, Math.max(0, filled.length - filledMax))) empty(part);
  };
  const findNear = () => {
    const marginPx = innerHeight * nearViews;
    const first = indexBelow(parts, ({ list }) => list, -marginPx);
    const found: { part: Part<T>; farPx: number }[] = [];
    for (const part of parts.slice(first)) {
      const { top, bottom } = part.list.getBoundingClientRect();
      if (top > innerHeight + marginPx) break;
      found.push({ part, farPx: Math.max(0, top - innerHeight, -bottom) });
    }
    near = found.sort((one, other) => one.farPx - other.farPx).map(({ part }) => part);
  };
  /** Fills the parts near the view, and then others if there is room, each in a task of its own. */
  const fillNear = async () => {
    if (isFilling) return;
    isFilling = true;
    try {
      for (;;) {
        findNear();
        const isEmpty = ({ isFilled }: Part<T>) => !isFilled;
        const hasRoom = parts.filter(({ isFilled }) => isFilled).length < filledMax;
        const part = near.find(isEmpty) ?? (hasRoom ? parts.find(isEmpty) : undefined);
        if (part === undefined) return;
        await fill(part);
        await drawn();
        measure(part);
        thin(part);
      }
    } finally {
      isFilling = false;
    }
  };
  let isFollowing = false;
  const follow = () => {
    // A list outside the document is shown again before it is seen.
    if (!element.isConnected) for (const event of ["scroll", "resize"]) removeEventListener(event, follow);
    if (isFollowing) return;
    isFollowing = true;
    setTimeout(async () => {
      await drawn();
      isFollowing = false;
      await fillNear();
    }, followMs);
  };
  /** The first part has its height now, and the parts below it get theirs. */
  const settle = async () => {
    await drawn();
    const [first] = parts;
    if (first?.isFilled) measure(first);
    for (const part of parts) if (!part.isFilled) keepHeight(part);
    await fillNear();
  };
  const partsOf = (things: readonly T[]): Part<T>[] => {
    const made: Part<T>[] = [];
    for (let at = 0; at < things.length; at += partEntries) {
      const list = el("ul", { class: isWall ? "tiles wall" : "rows" });
      const some = things.slice(at, at + partEntries);
      made.push({ list, things: some, isFilled: false, filling: undefined, heightPx: undefined });
    }
    return made;
  };

  return {
    element,
    /** Makes another list, and resolves with the function that shows it. */
    async prepare(things: readonly T[], shape: Shape): Promise<() => void> {
      const before = parts;
      if (isWall !== shape.isWall) entryPx = undefined;
      isWall = shape.isWall;
      const next = partsOf(things);
      for (const [at, part] of next.entries()) {
        const old = shape.isSame ? before[at] : undefined;
        part.heightPx = old?.heightPx;
        if (at === 0 || old?.isFilled) await fill(part);
        else keepHeight(part);
      }
      await leave();
      return () => {
        parts = next;
        near = [];
        replaceKeepingFocus(
          element,
          parts.map(({ list }) => list),
        );
        for (const event of ["scroll", "resize"]) addEventListener(event, follow, { passive: true });
        void settle();
      };
    },
    /** Adds entries at the end. */
    add(things: readonly T[]): void {
      for (const part of partsOf(things)) {
        keepHeight(part);
        parts.push(part);
        element.append(part.list);
      }
      void settle();
    },
    /** Removes entries. */
    remove(fits: (thing: T) => boolean): void {
      for (const part of parts) {
        const isGone = part.things.map(fits);
        if (!isGone.includes(true)) continue;
        part.things = part.things.filter((_, at) => !isGone[at]);
        if (!part.isFilled) continue;
        for (const [at, one] of [...part.list.children].entries()) if (isGone[at]) one.remove();
      }
    },
    /** The element of the first entry that fits. It is made if it does not exist. */
    async reveal(fits: (thing: T) => boolean): Promise<Element | undefined> {
      const part = parts.find(({ things }) => things.some(fits));
      if (part === undefined) return undefined;
      if (!part.isFilled) await fill(part);
      return part.list.children[part.things.findIndex(fits)];
    },
    /** The entry at this place of the view, or the first one below it. */
    at(y: number): T | undefined {
      const part = parts[indexBelow(parts, ({ list }) => list, y)];
      if (part === undefined) return undefined;
      const children = part.isFilled ? [...part.list.children] : [];
      return part.things[indexBelow(children, (one) => one, y)] ?? part.things[0];
    },
  };
}

/** The index of the first element, from the top, whose lower edge is below `y`. A binary search needs few measurements. */
function indexBelow<One>(all: readonly One[], elementOf: (one: One) => Element, y: number): number {
  let from = 0;
  let to = all.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const one = all[middle];
    if (one !== undefined && elementOf(one).getBoundingClientRect().bottom > y) to = middle;
    else from = middle + 1;
  }
  return from;
}
