/** The mappings: a list with search, switches and conflicts, and all of them as a file. */
import { type Calls, type Client, type Notification, RpcError } from "../../client/client.ts";
import { mappingImportCharsMax } from "../../core/limits.ts";
import { normalizeUid } from "../../core/token.ts";
import { button, el, listCard, named, note, openDialog, telling } from "./dom.ts";
import { editMapping, launchWords, type MappingRow, mappingName } from "./mapping-editor.ts";
import { PageFault, refusalWords, say, sentenceOf } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

const pageRows = 40;

export function mappingsCard({ client }: Shared): PageCard {
  const texts = say.cards;
  let all: readonly MappingRow[] = [];
  let most = pageRows;
  let hearEditor: ((notification: Notification) => void) | undefined;
  const find = el("input", {
    type: "search",
    "aria-label": texts.findMapping,
    placeholder: texts.findMapping,
  });
  const count = el("p", { class: "more", role: "status" });
  const more = button(say.showMore, async () => {
    most += pageRows;
    draw();
  });
  const refresh = async () => {
    all = (await client.call("mappings")).mappings;
    draw();
  };
  const edit = async (mapping?: MappingRow) => {
    const editor = editMapping(client, all, mapping);
    hearEditor = editor.hear;
    const isSaved = await editor.closed;
    hearEditor = undefined;
    if (isSaved) await refresh();
  };
  const { card, show } = listCard(
    texts.mappings,
    texts.noMappings,
    el("div", { class: "bar" }, more),
    filesPart(client, () => all.filter(({ readOnly }) => !readOnly).length, refresh),
  );
  const fresh = button(texts.newMapping, () => edit(), { class: "main" });
  const top = [
    el("p", { class: "quiet" }, texts.mappingsHow),
    el("div", { class: "bar" }, fresh),
    find,
    count,
  ];
  card.querySelector("h2")?.after(...top);
  find.addEventListener("input", () => {
    most = pageRows;
    draw();
  });

  const row = (mapping: MappingRow, shadow: MappingRow | undefined): HTMLElement => {
    const { id, enabled, type, match, pattern, override, file } = mapping;
    const name = mappingName(mapping);
    const rule = `${texts.fields[type]} ${texts.ways[match]}: ${pattern}`;
    const facts = `${rule} · ${launchWords(override)}`;
    const notes = [
      shadow === undefined
        ? undefined
        : el("span", { class: "more bad" }, texts.shadowed(mappingName(shadow))),
      file === undefined ? undefined : el("span", { class: "more" }, texts.inFile(file)),
    ];
    const what = el("span", {}, ...named(name, facts), ...notes);
    const isOn = el("input", { type: "checkbox", role: "switch", "aria-label": texts.enabledOf(name) });
    isOn.checked = enabled;
    isOn.disabled = file !== undefined;
    const turn = telling(() =>
      client.call("mappings.update", { id, enabled: isOn.checked }).finally(() => refresh()),
    );
    isOn.addEventListener("change", turn);
    const remove = async () => {
      await client.call("mappings.delete", { id });
      const { added: _, id: __, ...fields } = mapping;
      const undo = button(texts.undo, async () => {
        await client.call("mappings.new", fields);
        await refresh();
      });
      note(texts.deletedOf(name), undo);
      await refresh();
    };
    const open = telling(() => edit(mapping));
    return el(
      "li",
      {},
      file === undefined
        ? el("button", { type: "button", class: "row", onclick: open }, what)
        : el("div", { class: "what row" }, what),
      isOn,
      file === undefined ? button(texts.delete, remove, { "aria-label": texts.deleteOf(name) }) : undefined,
    );
  };
  const draw = () => {
    const shadows = shadowsOf(all);
    const word = find.value.trim().toLowerCase();
    const fits = all.filter(({ label, pattern, override, file = "" }) =>
      [label, pattern, override, file].some((text) => text.toLowerCase().includes(word)),
    );
    show(fits.slice(0, most).map((one) => row(one, shadows.get(one.id))));
    more.hidden = fits.length <= most;
    count.textContent = all.length === 0 ? "" : texts.mappingCount(fits.length, shadows.size);
    find.hidden = all.length === 0;
  };
  return { card, refresh, hear: (notification) => hearEditor?.(notification) };
}

/** By id: the earlier mapping that matches the same tokens, so this one has no effect. */
function shadowsOf(all: readonly MappingRow[]): ReadonlyMap<number, MappingRow> {
  const firsts = new Map<string, MappingRow>();
  const shadows = new Map<number, MappingRow>();
  for (const mapping of all) {
    const { id, enabled, type, match, pattern } = mapping;
    if (!enabled) continue;
    const isPlain = type === "text" || match === "regex";
    const key = [type, match, isPlain ? pattern : normalizeUid(pattern)].join(" ");
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, mapping);
    else shadows.set(id, first);
  }
  return shadows;
}

type Format = "toml" | "csv";

/** Saves all mappings as a file, and reads them from one. `count` is the number of those that a file would replace. */
function filesPart(client: Client, count: () => number, refresh: () => Promise<void>): HTMLElement {
  const texts = say.cards;
  const answer = el("div", { role: "status", class: "later" });
  const save = (format: Format) =>
    button(texts.saveAs(format.toUpperCase()), async () => {
      const { content } = await client.call("mappings.export", { format });
      const link = el("a", {
        download: `mappings.${format}`,
        href: URL.createObjectURL(new Blob([content])),
      });
      link.click();
      URL.revokeObjectURL(link.href);
    });
  const pick = el("input", { type: "file", accept: ".toml,.csv", "aria-label": texts.readFile, hidden: "" });
  const read = async (name: string, content: string, replace: boolean) => {
    const format = /\.csv$/i.test(name) ? "csv" : "toml";
    const before = await client.call("mappings.export", { format: "toml" });
    try {
      const { added, removed, notes } = await client.call("mappings.import", { format, content, replace });
      const undo = button(texts.undo, async () => {
        await client.call("mappings.import", { format: "toml", content: before.content, replace: true });
        answer.replaceChildren();
        await refresh();
      });
      const lines = notes.map((one) => lineText(one, texts.wouldFail));
      answer.replaceChildren(el("p", {}, texts.imported(added, removed)), linesOf(lines), undo);
    } catch (error) {
      const lines = faultsOf(error);
      const sentences = lines.length === 0 ? [sentenceOf(error)] : lines;
      answer.replaceChildren(el("p", { class: "bad" }, texts.notImported), linesOf(sentences));
    }
    await refresh();
  };
  const choose = async () => {
    const file = pick.files?.[0];
    pick.value = "";
    if (file === undefined) return;
    if (file.size > mappingImportCharsMax) throw new PageFault(texts.tooLong);
    const content = await file.text();
    if (count() === 0) return await read(file.name, content, false);
    const take = (replace: boolean) => async () => {
      dialog.close();
      await read(file.name, content, replace);
    };
    const dialog = openDialog(
      texts.readFile,
      say.cancel,
      el("p", {}, texts.readHow(file.name, count())),
      button(texts.add, take(false), { class: "main" }),
      button(texts.replaceAll, take(true)),
    );
  };
  pick.addEventListener("change", telling(choose));
  const open = button(texts.readFile, async () => pick.click());
  return el(
    "details",
    { class: "own" },
    el("summary", {}, texts.files),
    el("div", { class: "bar" }, save("csv"), save("toml"), open, pick),
    answer,
  );
}

function linesOf(sentences: readonly string[]): HTMLElement {
  return el("ul", { class: "lines" }, ...sentences.map((one) => el("li", {}, one)));
}

function faultsOf(error: unknown): readonly string[] {
  const data: unknown = error instanceof RpcError ? error.data : undefined;
  if (typeof data !== "object" || data === null || !("faults" in data) || !Array.isArray(data.faults))
    return [];
  return data.faults.map((fault: LineNote) => lineText(fault, say.refusals?.["mapping-line"] ?? ""));
}

type LineNote = Calls["mappings.import"]["result"]["notes"][number];

/** English uses the sentence of the service, which has more details than `otherwise`. */
function lineText(note: LineNote, otherwise: string): string {
  const { refusals } = say;
  const words = refusals === undefined ? note.message : (refusalWords(note, refusals) ?? otherwise);
  return say.cards.inLine(Number(note.line), words);
}
