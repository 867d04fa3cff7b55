/** The dialog for a mapping: its fields, and a test with a card or a typed value before anything is stored. */
import type { Calls, Client, Notification } from "../../client/client.ts";
import { button, el, note, openDialog, telling } from "./dom.ts";
import { meaningOf, nameOfText } from "./page-status.ts";
import { PageFault, say, sentenceOf } from "./page-texts.ts";

export type MappingRow = Calls["mappings"]["result"]["mappings"][number];
type Token = Calls["tokens"]["result"]["active"][number];
type Fields = Calls["mappings.new"]["params"];

/** The effect in words, such as `starts Super Game`. */
export function launchWords(script: string): string {
  const act = /^\*\*(?:playlist\.)?(stop|next|previous)$/.exec(script)?.[1];
  if (act === "stop" || act === "next" || act === "previous") return say.cards.acts[act];
  const meaning = meaningOf(script);
  return /^(\*\*|https?:)/.test(meaning) ? say.cards.runs(meaning) : say.cards.starts(meaning);
}

export function mappingName({ label, override }: Pick<MappingRow, "label" | "override">): string {
  return label || nameOfText(override);
}

/** A name for a control, above it. */
export function labelled(text: string, control: HTMLElement, kind = "field"): HTMLElement {
  control.setAttribute("aria-label", text);
  return el("label", { class: kind }, text, control);
}

/** English uses the sentence of the service. */
const warningText = (warning: string) => (say.refusals === undefined ? warning : say.cards.wouldFail);

function choice<Word extends string>(words: Readonly<Record<Word, string>>) {
  const options = Object.entries<string>(words).map(([value, text]) => el("option", { value }, text));
  return el("select", {}, ...options);
}

/** Opens the dialog; without `before`, for a new mapping. `hear` receives the notifications while the dialog is open. */
export function editMapping(client: Client, all: readonly MappingRow[], before: MappingRow | undefined) {
  const texts = say.cards;
  const text = () => el("input", { autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const label = text();
  const pattern = text();
  const override = text();
  const value = text();
  const type = choice(texts.fields);
  const match = choice(texts.ways);
  type.value = before?.type ?? "uid";
  match.value = before?.match ?? "exact";
  label.value = before?.label ?? "";
  pattern.value = before?.pattern ?? "";
  override.value = before?.override ?? "";
  const found = el("p", { role: "status", class: "later" });
  const refused = el("p", { role: "alert", class: "bad" });
  value.setAttribute("aria-label", texts.testHow);
  value.className = "typed";
  const state = { isSaved: false };

  const fields = (): Fields => ({
    enabled: before?.enabled ?? true,
    label: label.value.trim(),
    type: type.value === "text" || type.value === "data" ? type.value : "uid",
    match: match.value === "partial" || match.value === "regex" ? match.value : "exact",
    pattern: pattern.value,
    override: override.value.trim(),
  });
  /** Runs the function, and shows its error in the dialog. */
  const trying = async (run: () => Promise<void>) => {
    refused.textContent = "";
    await run().catch((error: unknown) => {
      refused.textContent = sentenceOf(error);
    });
  };
  const test = async (token: Calls["mappings.test"]["params"]) => {
    const draft = { ...fields(), ...(before === undefined ? {} : { id: before.id }) };
    const { matches, script, warning } = await client.call("mappings.test", { ...token, draft });
    const names = matches.map((id) => {
      const one = all.find((other) => other.id === id);
      return id === (before?.id ?? 0)
        ? texts.thisMapping
        : one === undefined
          ? String(id)
          : `“${mappingName(one)}”`;
    });
    const [first, ...others] = names;
    const what = launchWords(script);
    const own = script === "" ? texts.wouldNothing : texts.wouldOwn(what);
    const parts = [first === undefined ? own : texts.wouldStart(what, first)];
    if (others.length > 0) parts.push(texts.idleToo(others.join(", ")));
    if (warning !== undefined && script !== "") parts.push(warningText(`(${warning})`));
    found.textContent = parts.join(" ");
  };
  const testValue = () =>
    trying(async () => {
      const typed = value.value.trim() || (match.value === "regex" ? "" : pattern.value);
      await test({ [fields().type]: typed });
    });
  const takeCard = () =>
    trying(async () => {
      const { active, last } = await client.call("tokens");
      const token = active[0] ?? last;
      if (token === null) throw new PageFault(texts.noCard);
      type.value = token.uid === "" ? "text" : "uid";
      match.value = "exact";
      pattern.value = token.uid || token.text;
    });
  const save = () =>
    trying(async () => {
      const warning =
        before === undefined
          ? (await client.call("mappings.new", fields())).warning
          : ((await client.call("mappings.update", { ...fields(), id: before.id })) ?? undefined);
      note(warning === undefined ? say.device.saved : warningText(warning));
      state.isSaved = true;
      dialog.close();
    });
  const dialog = openDialog(
    before === undefined ? texts.newMapping : texts.editMapping,
    say.cancel,
    button(texts.takeCard, takeCard, { class: "wide" }),
    labelled(texts.compare, type),
    labelled(texts.how, match),
    labelled(texts.pattern, pattern),
    labelled(texts.instead, override),
    labelled(texts.label, label),
    el(
      "fieldset",
      {},
      el("legend", {}, texts.test),
      el("p", { class: "quiet" }, texts.testHow),
      el("div", { class: "bar" }, value, button(texts.test, testValue)),
      found,
    ),
    refused,
    button(texts.save, save, { class: "main" }),
  );
  return {
    /** Resolves with true if the mapping was saved. */
    closed: dialog.closed.then(() => state.isSaved),
    hear({ method, params }: Notification): void {
      if (method !== "tokens.added") return;
      const { uid, text, data }: Token = params;
      telling(() => trying(() => test({ uid, text, data })))();
    },
  };
}
