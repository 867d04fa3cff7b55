/** The last taps and what came of them, and the readers. */
import type { Client } from "../../client/client.ts";
import type { LaunchEntry } from "../../core/launch-entry.ts";
import { el, section, telling } from "./dom.ts";

const shownMax = 10;

export function tapsCard(client: Client) {
  const list = el("ul", { class: "rows" });
  const card = section("Last taps", list);
  const row = ({ time, text, uid, data, success, error }: LaunchEntry) => {
    const when = new Date(time).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
    const again = telling(() => client.call("launch", { text, uid, data }));
    const outcome = success ? when : `${when} · ${error ?? "it did not start"}`;
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "row", title: "Launch it again", onclick: again },
        el("span", { class: "name" }, text || `Card ${uid}`),
        el("span", { class: success ? "more" : "more bad" }, outcome),
      ),
    );
  };
  const refresh = async () => {
    const { entries } = await client.call("tokens.history", { limit: shownMax });
    list.replaceChildren(
      ...(entries.length === 0
        ? [el("li", { class: "quiet" }, "No card was tapped yet.")]
        : entries.map(row)),
    );
  };
  return { card, refresh };
}

export function readersCard(client: Client, onChange: (canWrite: boolean) => void) {
  const list = el("ul", { class: "rows" });
  const card = section("Readers", list);
  const refresh = async () => {
    const { readers } = await client.call("readers");
    const rows = readers.map(({ connected, info, driver, path }) =>
      el(
        "li",
        {},
        el("span", { class: connected ? "dot on" : "dot" }),
        el(
          "div",
          { class: "what" },
          el("span", { class: "name" }, info || driver),
          el("span", { class: "more" }, connected ? path : `${path} · not connected`),
        ),
      ),
    );
    list.replaceChildren(
      ...(rows.length === 0 ? [el("li", { class: "quiet" }, "No reader is plugged in.")] : rows),
    );
    onChange(readers.some(({ connected, capabilities }) => connected && capabilities.includes("write")));
  };
  return { card, refresh };
}
