/**
 * The page in German, with a mark around each text of its tables and around numbers and times that the browser itself
 * forms; and all texts that the page ever showed. A text outside the marks has no key.
 */
import type { BrowserContext, Page } from "playwright-core";
import { bundlePage } from "../../src/web/page-bundle.ts";

/**
 * A script that runs in the page before the page's own. It marks the texts that the browser forms, and collects every
 * text that appears.
 */
const inPage = `(() => {
  const mark = (text) => "⟦" + text + "⟧";
  const forms = { NumberFormat: "format", DateTimeFormat: "format", RelativeTimeFormat: "format" };
  for (const [kind, name] of Object.entries(forms)) {
    const { prototype } = Intl[kind];
    const before = Object.getOwnPropertyDescriptor(prototype, name);
    const get = before.get ?? (() => before.value);
    Object.defineProperty(prototype, name, {
      configurable: true,
      get() {
        const form = get.call(this);
        return (...given) => mark(form.apply(this, given));
      },
    });
  }
  for (const { prototype } of [Number, Date]) {
    const form = prototype.toLocaleString;
    prototype.toLocaleString = function (...given) { return mark(form.apply(this, given)); };
  }
  const attributes = ["aria-label", "aria-valuetext", "title", "placeholder", "alt"];
  const seen = globalThis.seenTexts = new Set();
  // Texts that are no part of the page, and the lines of the log, which are those of a file.
  const isOther = (element) => element?.closest("script, style, noscript, ol.log li") != null;
  const note = (text) => text != null && text.trim() !== "" && seen.add(text);
  const noteAttributes = (element) => {
    if (!isOther(element)) for (const name of attributes) note(element.getAttribute(name));
  };
  const noteAll = (node) => {
    if (node.nodeType === Node.TEXT_NODE && !isOther(node.parentElement)) note(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    noteAttributes(node);
    for (const child of node.childNodes) noteAll(child);
  };
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "attributes") noteAttributes(target);
      else if (type === "characterData") noteAll(target);
      else for (const node of addedNodes) noteAll(node);
    }
  }).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: attributes,
  });
})()`;

/** The text that replaces the part of the page with the German texts. */
const marking = (path: string) => `
import * as real from ${JSON.stringify(`${path}?real`)};
const mark = (value) => {
  if (typeof value === "string") return value === "" ? "" : "⟦" + value + "⟧";
  if (typeof value === "function") return (...given) => mark(value(...given));
  if (Array.isArray(value)) return value.map(mark);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mark(one)]));
};
export const german = (numbers) => mark(real.german(numbers));`;

/** The path of that part. Its name has a hash of its content. */
function germanPart(): string {
  const found = Object.entries(bundlePage()).find(([path, { gzip }]) => {
    const text = path.endsWith(".js") ? Bun.gunzipSync(Buffer.from(gzip, "base64")) : new Uint8Array();
    return /export\s*\{[^}]*\bas german\b/.test(new TextDecoder().decode(text));
  });
  if (found === undefined) throw new Error("no part of the page has the German texts");
  return found[0];
}

/** Adds the marks to all pages of this context, which speaks German. */
export async function markTexts(context: BrowserContext): Promise<void> {
  await context.addInitScript(inPage);
  const path = germanPart();
  const isPlain = ({ pathname, search }: URL) => pathname === path && search === "";
  await context.route(isPlain, (route) =>
    route.fulfill({ contentType: "text/javascript", body: marking(path) }),
  );
}

/** All texts that the page has shown since its load, even for a moment. */
export async function textsSeen(page: Page): Promise<readonly string[]> {
  const seen: string[] = await page.evaluate("[...seenTexts, document.title]");
  return seen;
}

/** The part of a text that is outside the marks. */
export function outsideMarks(text: string): string {
  let depth = 0;
  let outside = "";
  for (const sign of text) {
    if (sign === "⟧") depth -= 1;
    outside += depth === 0 && sign !== "⟦" && sign !== "⟧" ? sign : " ";
    if (sign === "⟦") depth += 1;
  }
  return outside;
}

/** The texts with words outside the marks, except `data`: names and values that the test knows. */
export function withoutKey(texts: readonly string[], data: readonly string[]): readonly string[] {
  const known = [...new Set(data)].filter((one) => one !== "").toSorted((a, b) => b.length - a.length);
  return texts.filter((text) => {
    const rest = known.reduce((left, one) => left.replaceAll(one, " "), outsideMarks(text));
    return /\p{L}{2}/u.test(rest);
  });
}
