/** The folders of the library, a page at a time, so that a folder of 100,000 files costs no more than one of forty. */
import type { Calls } from "../../client/client.ts";
import { button, el, madeInSlices, named, replaceKeepingFocus, section, telling } from "./dom.ts";
import { fileActions } from "./file-actions.ts";
import { playRows } from "./page-search.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

const pageRows = 40;
type Entry = Calls["media.browse"]["result"]["entries"][number];

export function browseCard(shared: Shared): PageCard {
  const { client } = shared;
  const row = playRows(shared);
  const place = el("p", { class: "more", role: "status" });
  const list = el("ul", { class: "rows" });
  const letter = el("select", { "aria-label": say.startingWith, class: "letter" });
  const letters = ["0-9", ..."ABCDEFGHIJKLMNOPQRSTUVWXYZ", "#"];
  letter.append(el("option", { value: "" }, say.allLetters), ...letters.map((one) => el("option", {}, one)));
  /** The names of the open folders, from the system on, with their paths. */
  let way: readonly Pick<Entry, "name" | "path">[] = [];
  /** The cursors of the pages up to the one in view; the first page has none. */
  let pages: readonly (string | undefined)[] = [undefined];
  let following: string | undefined;
  let asked = 0;
  /** The index has changed while a row had the focus. */
  let isStale = false;
  /** Paths of files that were moved or deleted here and may be in the index yet. The list follows it although a row has the focus. */
  const gone = new Set<string>();

  const load = async () => {
    asked += 1;
    const number = asked;
    const { path = "" } = way.at(-1) ?? {};
    const page = await client.call("media.browse", {
      path,
      maxResults: pageRows,
      ...(letter.value === "" ? {} : { letter: letter.value }),
      cursor: pages.at(-1) ?? null,
    });
    const rows = await madeInSlices(page.entries, rowOf);
    // A later press may have been answered first.
    if (number !== asked) return;
    for (const one of gone) if (!page.entries.some((entry) => entry.path === one)) gone.delete(one);
    following = page.pagination.nextCursor;
    later.hidden = following === undefined;
    earlier.hidden = pages.length === 1;
    up.hidden = way.length === 0;
    const count = page.totalDirs + page.totalFiles;
    letter.hidden = letter.value === "" && count <= pageRows;
    const here = way.map(({ name }) => name).join(" › ");
    place.textContent = count === 0 ? say.nothingHere : say.browsed(here, count);
    replaceKeepingFocus(list, rows);
    return rows[0];
  };
  const focusFirst = (first: HTMLElement | undefined) => (first?.querySelector("button") ?? up).focus();
  const go = async (to: typeof way, at: typeof pages = [undefined]) => {
    const before = { way, pages, letter: letter.value };
    if (to !== way) letter.value = "";
    way = to;
    pages = at;
    try {
      focusFirst(await load());
    } catch (error) {
      ({ way, pages } = before);
      letter.value = before.letter;
      throw error;
    }
  };
  const rowOf = (entry: Entry): HTMLElement => {
    const { type, name, path, zapScript = "", systemName = "", fileCount = 0 } = entry;
    if (type === "media") {
      const file = { name, path, zapScript, systemName };
      const shown = row(file);
      shown.dataset.path = path;
      const remove = () => {
        gone.add(path);
        // An index that ended during the dialog has replaced the row.
        for (const now of [...list.children])
          if (now instanceof HTMLElement && now.dataset.path === path) now.remove();
        catchUp();
      };
      if (shared.canChange) shown.append(fileActions(shared, file, remove));
      return shown;
    }
    const open = telling(() => go([...way, { name, path }]));
    const what = el("span", {}, ...named(name, say.files(fileCount)));
    return el("li", {}, el("button", { type: "button", class: "row", onclick: open }, what));
  };
  const up = button(say.back, () => go(way.slice(0, -1)));
  const later = button(say.nextPage, () => go(way, [...pages, following]));
  const earlier = button(say.previousPage, () => go(way, pages.slice(0, -1)));
  const turn = el("div", { class: "bar" }, earlier, later);
  const choose = telling(() => {
    pages = [undefined];
    return load();
  });
  letter.addEventListener("change", choose);
  for (const hidden of [up, earlier, later, letter]) hidden.hidden = true;
  /** Loads the open folder again; a folder that is gone leads back to the systems. */
  const refresh = async () => {
    await shared.lookForWriters();
    if (way.length === 0) return void (await load());
    isStale = gone.size === 0 && list.contains(document.activeElement);
    if (isStale) return;
    await load().catch(() => {
      way = [];
      pages = [undefined];
      return load();
    });
  };
  const catchUp = () => {
    if (isStale && !list.contains(document.activeElement)) telling(refresh)();
  };
  // The next control gets the focus after this event.
  list.addEventListener("focusout", () => setTimeout(catchUp));
  const card = section(say.browse, el("div", { class: "bar" }, up, letter), place, list, turn);
  return {
    card,
    hears: ["readers.added", "readers.removed"],
    hear({ method, params }) {
      if (method === "media.indexing" && !params.indexing) telling(refresh)();
    },
    refresh,
  };
}
