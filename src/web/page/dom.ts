/** Creates elements. Texts become text nodes, so the text of a card cannot become markup. */
import { nextTask } from "../../client/link.ts";
import { sentenceOf } from "./page-texts.ts";

type Child = Node | string | undefined;

/** Attributes by name, and listeners by `on` and the event. */
type Props = Readonly<Record<string, string | (() => void) | undefined>>;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

export function section(title: string, ...children: readonly Child[]): HTMLElement {
  return el("section", { "aria-label": title }, el("h2", {}, title), ...children);
}

/** A button that runs `onclick`; an error of it becomes a note. */
export function button(text: string, run: () => Promise<unknown>, props: Props = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick: telling(run), ...props }, text);
}

/** A picture of lines, 24 units wide. */
export function icon(path: string): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** The name of a thing, and a line of facts below it. */
export function named(name: string, facts: string, isBad = false): readonly HTMLElement[] {
  return [el("span", { class: "name" }, name), el("span", { class: isBad ? "more bad" : "more" }, facts)];
}

/** A card with a list. `show` replaces its rows; without rows it shows the sentence `empty`. */
export function listCard(title: string, empty: string, ...below: readonly Child[]) {
  const list = el("ul", { class: "rows" });
  const show = (rows: readonly HTMLElement[]) =>
    replaceKeepingFocus(list, rows.length === 0 ? [el("li", { class: "quiet" }, empty)] : rows);
  return { card: section(title, list, ...below), show };
}

/** Replaces the rows of a list. If a control of the list had the focus, the new control in its place gets the focus. */
export function replaceKeepingFocus(list: HTMLElement, rows: readonly Node[]): void {
  // A long list has hundreds of controls.
  if (!list.contains(document.activeElement)) {
    list.replaceChildren(...rows);
    return;
  }
  const controls = () => [...list.querySelectorAll<HTMLElement>("a, button, select")];
  const before: (Element | null)[] = controls();
  const place = before.indexOf(document.activeElement);
  list.replaceChildren(...rows);
  if (place < 0) return;
  const now = controls();
  now[Math.min(place, now.length - 1)]?.focus();
}

const sliceRows = 8;

/** Makes rows a few to a task, because 40 at once keep a slow phone busy for 100 ms. */
export async function madeInSlices<T>(
  things: readonly T[],
  make: (thing: T) => HTMLElement,
): Promise<readonly HTMLElement[]> {
  const made: HTMLElement[] = [];
  for (const thing of things) {
    if (made.length % sliceRows === 0) await nextTask();
    made.push(make(thing));
  }
  await nextTask();
  return made;
}

/** Replaces the rows of a list, a few to a frame: the layout of 25 settings takes a slow phone 70 ms. */
export async function showInSlices(list: HTMLElement, rows: readonly HTMLElement[]): Promise<void> {
  list.replaceChildren();
  for (let at = 0; at < rows.length; at += sliceRows) {
    list.append(...rows.slice(at, at + sliceRows));
    await drawn();
  }
}

/** Resolves after the browser has drawn, and at once in a hidden window, which draws nothing. */
export async function drawn(): Promise<void> {
  if (!document.hidden) await new Promise(requestAnimationFrame);
  await nextTask();
}

/** An element of the page's own HTML. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

const noteMs = 6000;

/** Shows a sentence at the foot of the page for some seconds, with a button if there is an action. */
export function note(text: string, action?: HTMLButtonElement, ms = noteMs): void {
  const shown = el("p", {}, text, action);
  action?.addEventListener("click", () => shown.remove());
  byId("notes").append(shown);
  setTimeout(() => shown.remove(), ms);
}

/** A click handler that shows the error if `run` rejects. */
export function telling(run: () => Promise<unknown>): () => void {
  return () => void run().catch((error: unknown) => note(sentenceOf(error)));
}

/** Opens a dialog over the page; Escape and its last button close it. */
export function openDialog(title: string, last: string, ...children: readonly Child[]) {
  const close = el("button", { type: "button" }, last);
  const dialog = el("dialog", { "aria-label": title }, el("h2", {}, title), ...children, close);
  const closed = new Promise<void>((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
  });
  close.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return { closed, close: () => dialog.close() };
}
