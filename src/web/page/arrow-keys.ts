/** Arrow keys move the focus to the nearest control in their direction, as a remote control of a television needs. */

const controls = "button, input, select, summary, a[href]";

interface Direction {
  readonly x: -1 | 0 | 1;
  readonly y: -1 | 0 | 1;
}

const directions: Readonly<Record<string, Direction>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

export function moveFocusByArrows(): void {
  document.addEventListener("keydown", (event) => {
    const direction = directions[event.key];
    const from = document.activeElement;
    if (direction === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (from !== null && usesItself(from, direction)) return;
    const to = nextControl(from, direction);
    if (to === undefined) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  });
}

/** A text field and a slider need left and right, a list of choices up and down. */
function usesItself(element: Element, { x }: Direction): boolean {
  if (element instanceof HTMLSelectElement) return x === 0;
  return element instanceof HTMLInputElement && x !== 0;
}

function nextControl(from: Element | null, { x, y }: Direction): HTMLElement | undefined {
  const within = document.querySelector("dialog[open]") ?? document;
  const all = [...within.querySelectorAll<HTMLElement>(controls)].filter(
    (one) => one !== from && !one.matches(":disabled") && one.checkVisibility(),
  );
  if (from === null || from === document.body) return all[0];
  const start = from.getBoundingClientRect();
  const distanceTo = (one: HTMLElement) => {
    const end = one.getBoundingClientRect();
    const [right, down] = [
      gap(start.left, start.right, end.left, end.right),
      gap(start.top, start.bottom, end.top, end.bottom),
    ];
    const [along, aside] = x === 0 ? [down * y, right] : [right * x, down];
    // A control beside the way counts as farther.
    return along > 0 ? along + 3 * Math.abs(aside) : undefined;
  };
  const near = all.flatMap((one) => {
    const distance = distanceTo(one);
    return distance === undefined ? [] : [{ one, distance }];
  });
  return near.sort((a, b) => a.distance - b.distance)[0]?.one;
}

/** The space between two ranges, below 0 if the second one is before the first; 0 if they overlap. */
function gap(start: number, end: number, otherStart: number, otherEnd: number): number {
  // Neighbours touch, and are at least a pixel apart here.
  if (otherStart >= end - 1) return otherStart - end + 2;
  if (otherEnd <= start + 1) return otherEnd - start - 2;
  return 0;
}
