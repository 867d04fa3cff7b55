/** The buttons, knobs and keypads that run scripts: an owner adds one by pressing it, and chooses as for a card. */
import type { Calls } from "../../client/client.ts";
import { buttonTeachingMs } from "../../core/limits.ts";
import { type ChoiceTexts, cardChoice } from "./card-choice.ts";
import { button, el, listCard, named, note, openDialog, telling } from "./dom.ts";
import { launchWords } from "./mapping-editor.ts";
import { actionOf } from "./page-status.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Button = Calls["buttons"]["result"]["buttons"][number];
type Place = Pick<Button, "device" | "key">;

export function buttonsCard(shared: Shared): PageCard {
  const { client } = shared;
  const texts = say.buttons;
  const add = button(texts.add, () => teach(), { class: "main" });
  const { card, show } = listCard(say.places.buttons.name, texts.none, el("div", { class: "bar" }, add));
  card.querySelector("h2")?.after(el("p", { class: "quiet" }, texts.how));

  const rowOf = (one: Button) => {
    const what = el("span", {}, ...named(wordsOf(one), placeText(one)));
    const open = telling(async () => showButton(one));
    return el("li", {}, el("button", { type: "button", class: "row", onclick: open }, what));
  };
  const refresh = async () => show((await client.call("buttons")).buttons.map(rowOf));
  /** Waits for a press, and then asks for the effect of the button. */
  const teach = async () => {
    const state = el("p", { role: "status" }, texts.pressNow);
    const dialog = openDialog(texts.add, say.cancel, state, el("p", { class: "quiet" }, texts.pressHow));
    let isWaiting = true;
    void dialog.closed.then(() => {
      if (isWaiting) client.call("buttons.learn.cancel").catch(() => {});
      isWaiting = false;
    });
    const { device, key } = await client.call("buttons.learn", { waitMs: buttonTeachingMs }).finally(() => {
      isWaiting = false;
      dialog.close();
    });
    if (key === undefined) return note(texts.nonePressed);
    choose(device === undefined ? { key } : { device, key });
  };
  const choose = (place: Place) => {
    const save = async (_name: string, script: string) => {
      await client.call("buttons.save", { ...place, script });
      dialog.close();
      note(say.device.saved);
      await refresh();
    };
    const labels: ChoiceTexts = { chooseFor: texts.chooseFor, saveText: texts.saveText };
    const { parts } = cardChoice(shared, save, labels);
    const dialog = openDialog(
      texts.choose,
      say.cancel,
      el("p", { class: "quiet" }, placeText(place)),
      ...parts,
    );
  };
  const showButton = (one: Button) => {
    const { script, ...place } = one;
    const remove = async () => {
      await client.call("buttons.remove", place);
      const undo = button(say.cards.undo, async () => {
        await client.call("buttons.save", one);
        await refresh();
      });
      note(texts.removed(one.key), undo);
      await refresh();
    };
    const list = el(
      "div",
      { class: "acts own" },
      button(say.cards.change, async () => choose(place), { class: "main" }),
      button(say.tryIt, () => client.call("run", { text: script })),
      button(say.cards.remove, remove),
    );
    const words = el("p", {}, wordsOf(one));
    const dialog = openDialog(placeText(one), say.done, words, list);
    // An act may open its own dialog.
    const close = ({ target }: Event) => target instanceof HTMLButtonElement && dialog.close();
    list.addEventListener("click", close, { capture: true });
  };
  return { card, refresh };
}

const wordsOf = ({ script }: Button) => actionOf(script) ?? say.cards.itDoes(launchWords(script));

function placeText({ device, key }: Place): string {
  return `${key} · ${device ?? say.buttons.everyDevice}`;
}
