/** Search as you type, with pages. */
import type { Calls, Client } from "../../client/client.ts";
import { messageOf } from "../../core/errors.ts";
import { button, el, madeInSlices, replaceKeepingFocus } from "./dom.ts";
import { findMedia, foundMax } from "./finding.ts";
import { say } from "./page-texts.ts";

const waitMs = 120;
const pageRows = 40;

/** A file of the library, in a row. */
export interface Listed {
  readonly name: string;
  readonly path: string;
  readonly zapScript: string;
  readonly systemName: string;
}

/** A field with the rows of its results below, each made by `row`. */
export function searchBox(client: Client, row: (found: Listed) => HTMLElement) {
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
    const found = await findMedia(client, query, (await systems).systems, most);
    if (number !== asked) return;
    const { results, total, instead } = found;
    const isFirst = most === pageRows;
    const before = isFirst ? 0 : list.childElementCount;
    const rows = await madeInSlices(results.slice(before), ({ system, ...item }) =>
      row({ ...item, systemName: system.name }),
    );
    // A later query may have been answered first.
    if (number !== asked) return;
    if (isFirst) replaceKeepingFocus(list, rows);
    else list.append(...rows);
    more.hidden = results.length >= total || most >= foundMax;
    const shown = total === 0 ? say.nothingFits : say.shownOf(results.length, total);
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
      search().catch((error: unknown) => {
        count.textContent = messageOf(error);
      });
    }, waitMs);
  });
  const forget = () => {
    systems = undefined;
  };
  return { input, parts: [input, count, list, more], search, forget };
}
