/** Search as you type, with pages. */
import type { Calls, Client } from "../../client/client.ts";
import { findMedia, foundMax } from "../../client/finding.ts";
import { type AudioTags, scriptOf } from "../../core/media.ts";
import { button, el, madeInSlices, replaceKeepingFocus } from "./dom.ts";
import { say, sentenceOf } from "./page-texts.ts";

const waitMs = 120;
const pageRows = 40;
const foldersMax = 6;

/** A row with a file of the library. */
export interface Listed {
  readonly name: string;
  readonly path: string;
  readonly zapScript: string;
  readonly systemName: string;
  readonly audio?: AudioTags;
}

/** A field with the rows of its results below it, each made by `row`. A few folders come first, which play as lists. */
export function searchBox(
  client: Client,
  row: (found: Listed) => HTMLElement,
  folderRow: (found: Listed) => HTMLElement = row,
  onQuery: (query: string) => void = () => {},
) {
  const input = el("input", {
    type: "search",
    placeholder: say.find,
    "aria-label": say.find,
    autocomplete: "off",
    enterkeyhint: "search",
  });
  const list = el("ul", { class: "rows" });
  const count = el("p", { class: "more later", role: "status" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;
  let most = pageRows;
  let foldersShown = 0;
  let systems: Promise<Calls["systems"]["result"]> | undefined;

  const search = async () => {
    const query = input.value.trim();
    asked += 1;
    const number = asked;
    if (query === "") {
      list.replaceChildren();
      count.textContent = "";
      more.hidden = true;
      return;
    }
    systems ??= client.call("systems");
    const isFirst = most === pageRows;
    if (isFirst) foldersShown = 0;
    const [found, { folders }] = await Promise.all([
      findMedia(client, query, (await systems).systems, most),
      isFirst ? client.call("media.folders", { query, maxResults: foldersMax }) : { folders: [] },
    ]);
    if (number !== asked) return;
    const { results, total, instead } = found;
    const before = isFirst ? 0 : list.childElementCount - foldersShown;
    foldersShown += folders.length;
    const rows = [
      ...folders.map(({ name, path, systemName, fileCount }) =>
        folderRow({
          name,
          path,
          zapScript: scriptOf(path),
          systemName: `${systemName} · ${say.files(fileCount)}`,
        }),
      ),
      ...(await madeInSlices(results.slice(before), ({ system, ...item }) =>
        row({ ...item, systemName: system.name }),
      )),
    ];
    // A later query may have been answered first.
    if (number !== asked) return;
    if (isFirst) replaceKeepingFocus(list, rows);
    else list.append(...rows);
    more.hidden = results.length >= total || most >= foundMax;
    const isEmpty = total === 0 && foldersShown === 0;
    const shown = isEmpty ? say.nothingFits : total === 0 ? "" : say.shownOf(results.length, total);
    count.textContent = instead === undefined ? shown : say.foundInstead(instead, shown);
  };
  const more = button(
    say.showMore,
    async () => {
      most += pageRows;
      const before = list.childElementCount;
      await search();
      list.children[before]?.querySelector("button")?.focus();
    },
    { class: "later" },
  );
  more.hidden = true;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      most = pageRows;
      onQuery(input.value.trim());
      search().catch((error: unknown) => {
        count.textContent = sentenceOf(error);
      });
    }, waitMs);
  });
  const forget = () => {
    systems = undefined;
  };
  return { input, parts: [input, count, list, more], search, forget };
}
