/** The choice of the effect of a card: media of the library, an action, or an own text. */
import { button, el, named } from "./dom.ts";
import { PageFault, say } from "./page-texts.ts";
import type { Shared } from "./screens.ts";
import { type Listed, searchBox } from "./search-box.ts";

/** The texts of those of its controls that name the receiver of the choice. */
export type ChoiceTexts = Pick<typeof say, "chooseFor" | "saveText">;

/** `save` gets the name of the choice and its text. */
export function cardChoice(
  { client, pictures }: Pick<Shared, "client" | "pictures">,
  save: (name: string, text: string) => Promise<void>,
  { chooseFor, saveText }: ChoiceTexts = say,
) {
  const tryButton = (text: () => string, props = {}) =>
    button(say.tryIt, () => client.call("run", { text: text() }), props);
  const row = ({ name, path, systemName, zapScript }: Listed) => {
    const choose = button("", () => save(name, zapScript), {
      class: "row",
      "aria-label": chooseFor(`${name} ${systemName}`),
    });
    const [title, facts] = named(name, systemName);
    // The name of the control also contains the space.
    choose.append(pictures.inRow(path), el("span", {}, title, " ", facts));
    const test = tryButton(() => zapScript, { "aria-label": say.tryOf(name) });
    return el("li", {}, choose, test);
  };
  const { input, parts } = searchBox(client, row);
  const acts = Object.entries<string>(say.cards.actions).map(([text, name]) =>
    button(name, () => save(name, text)),
  );
  const own = el("input", {
    "aria-label": say.ownText,
    placeholder: say.ownTextExample,
    autocomplete: "off",
  });
  const typed = () => {
    const text = own.value.trim();
    if (text === "") throw new PageFault(say.typeFirst);
    return text;
  };
  const keep = button(saveText, async () => save(typed(), typed()), { class: "main" });
  const folded = (title: string, ...content: readonly HTMLElement[]) =>
    el("details", { class: "own" }, el("summary", {}, title), ...content);
  const actions = folded(say.cards.action, el("div", { class: "bar" }, ...acts));
  const ownText = folded(say.ownText, own, el("div", { class: "bar" }, keep, tryButton(typed)));
  return {
    parts: [...parts, actions, ownText],
    /** The visitor has begun to choose. */
    isBegun: () => input.value !== "" || own.value !== "",
    clear() {
      input.value = "";
      own.value = "";
      actions.open = false;
      ownText.open = false;
      input.dispatchEvent(new Event("input"));
    },
  };
}
