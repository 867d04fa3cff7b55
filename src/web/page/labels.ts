/** A sheet of labels for cards, with covers and marks to cut at, which the browser prints or saves as PDF. */
import { button, el, openDialog } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { Shared } from "./screens.ts";

interface Labelled {
  readonly name: string;
  /** The path of the media whose picture is on the label; may be empty. */
  readonly picture: string;
}

/** Asks which cards, and for the size of the labels; then opens the print dialog of the browser. */
export async function printLabels({ pictures }: Shared, cards: readonly Labelled[]): Promise<void> {
  const texts = say.cards;
  const sizes = Object.entries<string>(texts.sizes).map(([value, name]) => el("option", { value }, name));
  const size = el("select", { "aria-label": texts.labelSize }, ...sizes);
  const choices = cards.map((card) => {
    const box = el("input", { type: "checkbox", role: "switch", "aria-label": card.name, checked: "" });
    const row = el("label", { class: "what row" }, box, el("span", {}, card.name));
    return { card, box, row: el("li", {}, row) };
  });
  const print = async () => {
    const chosen = choices.filter(({ box }) => box.checked).map(({ card }) => card);
    const labels: HTMLElement[] = [];
    // One after another, as the device sends them.
    for (const { name, picture } of chosen) {
      const address = picture === "" ? "" : await pictures.address(picture);
      const image = address === "" ? undefined : el("img", { alt: "", src: address });
      await image?.decode().catch(() => undefined);
      labels.push(el("figure", { class: `label ${size.value}` }, image, el("figcaption", {}, name)));
    }
    dialog.close();
    const sheet = el("div", { class: "sheet" }, ...labels);
    document.body.append(sheet);
    addEventListener("afterprint", () => sheet.remove(), { once: true });
    globalThis.print();
  };
  const list = el("ul", { class: "rows" }, ...choices.map(({ row }) => row));
  const dialog = openDialog(
    texts.labels,
    say.cancel,
    size,
    list,
    button(texts.print, print, { class: "main" }),
  );
}
