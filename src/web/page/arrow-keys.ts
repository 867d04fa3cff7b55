/**
 * Arrow keys move the focus to the nearest control in their direction, as a remote control of a television needs. A
 * control that is hidden or removed passes its focus to the nearest one, so there is always a control that has the focus.
 */

const controls = "button, input, select, textarea, summary, a[href], [tabindex='0']";
/** Text fields open the keyboard of a phone, so they get the focus only by a key or a touch. */
const typing = "input:not([type=range], [type=checkbox], [type=radio], [type=file]), textarea";

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

/** The control that had the focus last, and its place. */
let last: { readonly element: HTMLElement; readonly place: DOMRect } | undefined;

export function moveFocusByArrows(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target instanceof HTMLSelectElement) {
      event.preventDefault();
      return event.target.showPicker();
    }
    // Browsers toggle a checkbox by the space bar, which a remote control lacks.
    if (
      event.key === "Enter" &&
      event.target instanceof HTMLInputElement &&
      event.target.type === "checkbox"
    ) {
      event.preventDefault();
      return event.target.click();
    }
    const direction = directions[event.key];
    if (direction === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const from = document.activeElement;
    if (from !== null && usesItself(from, direction)) return;
    const to = nextControl(direction);
    // The arrows would change a closed list of choices while the focus passes it.
    if (to !== undefined || from instanceof HTMLSelectElement) event.preventDefault();
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLElement && target.matches(controls))
      last = { element: target, place: target.getBoundingClientRect() };
  });
  new MutationObserver(() => {
    if (last === undefined || isThere(last.element)) return;
    const { place } = last;
    last = undefined;
    const active = document.activeElement;
    if (active === null || active === document.body || !isThere(active)) nearestTo(place)?.focus();
  }).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter: ["hidden", "disabled", "open"],
  });
}

/**
 * Whether a control can have the focus. The check does not compute the layout, because it runs after every change of the
 * page.
 */
function isThere(element: Element): boolean {
  const isClosed =
    element.parentElement?.closest("details:not([open])") != null && !element.matches("summary");
  return element.isConnected && !element.matches(":disabled") && !element.closest("[hidden]") && !isClosed;
}

/**
 * A text field needs left and right within its text, and a number, a time and a slider always. A field of several lines also needs
 * up and down within its text, and a list that scrolls needs them until its end.
 */
function usesItself(element: Element, { x, y }: Direction): boolean {
  if (element.matches("[tabindex='0']")) {
    const { scrollTop, clientHeight, scrollHeight } = element;
    return y < 0 ? scrollTop > 0 : y > 0 && scrollTop + clientHeight < scrollHeight - 1;
  }
  if (element instanceof HTMLTextAreaElement)
    return x !== 0 || (y < 0 ? element.selectionStart > 0 : element.selectionEnd < element.value.length);
  if (!(element instanceof HTMLInputElement) || x === 0 || /^(checkbox|file|button)$/.test(element.type))
    return false;
  // Numbers, times and sliders have no selection.
  const { selectionStart, selectionEnd, value } = element;
  return x < 0 ? selectionEnd !== 0 : selectionStart === null || selectionStart < value.length;
}

/** The controls in view that may be used, in the order of the page. While a dialog is open, only its controls. */
function usable(): readonly HTMLElement[] {
  const within = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
  return [...within.querySelectorAll<HTMLElement>(controls)].filter(
    (one) => !one.matches(":disabled") && one.checkVisibility({ visibilityProperty: true }),
  );
}

function nearestTo(place: DOMRect): HTMLElement | undefined {
  const distanceTo = (one: HTMLElement) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    const x = left + width / 2 - place.left - place.width / 2;
    return Math.hypot(x, top + height / 2 - place.top - place.height / 2);
  };
  return nearest(
    usable().filter((one) => !one.matches(typing)),
    distanceTo,
  );
}

function nextControl({ x, y }: Direction): HTMLElement | undefined {
  const all = usable();
  const active = all.find((one) => one === document.activeElement);
  const from = active ?? all.find((one) => one === last?.element);
  if (from === undefined) return all[0];
  // After a touch beside all controls, the first key shows where the focus was.
  if (active === undefined) return from;
  const start = from.getBoundingClientRect();
  const spacesTo = (one: HTMLElement) => {
    const end = one.getBoundingClientRect();
    const right = gap(start.left, start.right, end.left, end.right);
    const down = gap(start.top, start.bottom, end.top, end.bottom);
    return x === 0
      ? { along: down * y, aside: Math.abs(right) }
      : { along: right * x, aside: Math.abs(down) };
  };
  const distanceTo = (one: HTMLElement) => {
    const { along, aside } = spacesTo(one);
    // A control beside the way counts as farther.
    return along > 0 ? along + 3 * aside : undefined;
  };
  const others = all.filter((one) => one !== from);
  // On a phone the bar of screens covers a part of the page, so the focus moves between the two only where its own part
  // has no further control.
  const near = others.filter((one) => partOf(one) === partOf(from));
  // The button of a note disappears after some seconds, so every edge of the page leads to it.
  const note = others.find((one) => one.closest("#notes") !== null);
  if (x !== 0) return nearest(near, distanceTo) ?? note;
  // Within a card the focus skips no line, even if the controls of the line are far to one side.
  const ofCard = near.filter((one) => cardOf(one) === cardOf(from));
  const first = nearest(ofCard, (one) => {
    const { along } = spacesTo(one);
    return along > 0 ? along : undefined;
  });
  if (first === undefined) return nearest(near, distanceTo) ?? nearest(others, distanceTo) ?? note;
  const { top, bottom } = first.getBoundingClientRect();
  const line = ofCard.filter((one) => {
    const place = one.getBoundingClientRect();
    return gap(top, bottom, place.top, place.bottom) === 0;
  });
  return nearest(line, (one) => spacesTo(one).aside) ?? first;
}

const cardOf = (element: Element) => element.closest("section, dialog, nav, footer, .back");

const partOf = (element: Element) => element.closest("nav, dialog, #notes") ?? document.body;

function nearest(
  elements: readonly HTMLElement[],
  distanceTo: (one: HTMLElement) => number | undefined,
): HTMLElement | undefined {
  let best: HTMLElement | undefined;
  let least: number = Number.POSITIVE_INFINITY;
  for (const one of elements) {
    const distance = distanceTo(one) ?? Number.POSITIVE_INFINITY;
    if (distance < least) [best, least] = [one, distance];
  }
  return best;
}

/** The space between two ranges, below 0 if the second one is before the first; 0 if they overlap by a quarter or more. */
function gap(start: number, end: number, otherStart: number, otherEnd: number): number {
  // Neighbours may touch, and the last button of a tile overlaps its picture. They count as at least a pixel apart.
  const edge = Math.min(end - start, otherEnd - otherStart) / 4;
  if (otherStart >= end - edge) return Math.max(otherStart - end + 2, 1);
  if (otherEnd <= start + edge) return Math.min(otherEnd - start - 2, -1);
  return 0;
}
