/**
 * The card of the Wi-Fi of the SD image: its state, the networks that were set up here, and a new one. No caller can read
 * a password back.
 */
import type { Calls } from "../../client/client.ts";
import { filled } from "../../core/text.ts";
import { button, el, named, note, openDialog, replaceKeepingFocus, section } from "./dom.ts";
import { labelled } from "./mapping-editor.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Facts = Calls["wifi"]["result"];

const searchMs = 15_000; // The longest time that a search takes.

export function wifiCard({ client }: Shared): PageCard {
  const texts = say.wifi;
  const state = el("p", { class: "quiet", role: "status" });
  const known = el("ul", { class: "rows" });
  const network = el("select");
  const password = el("input", { type: "password", autocomplete: "off", maxlength: "64" });
  const secret = labelled(texts.password, password);
  let facts: Facts = { state: "none", networks: [], known: [] };
  const chosen = () => facts.networks.find(({ id }) => id === network.value);
  const showSecret = () => {
    secret.hidden = chosen()?.security !== "password";
  };
  network.addEventListener("change", showSecret);

  const forget = (id: string, name: string) => {
    const sure = button(
      texts.forget,
      async () => {
        await client.call("wifi.forget", { id });
        dialog.close();
        await refresh();
      },
      { class: "main wide" },
    );
    const dialog = openDialog(
      filled(texts.forgetOf, { network: name }),
      say.cancel,
      el("p", {}, texts.mayEnd),
      sure,
    );
  };
  const rowOf = ({ id, name }: Facts["known"][number], place: number) => {
    const prefer = async () => {
      await client.call("wifi.prefer", { id });
      await refresh();
    };
    return el(
      "li",
      {},
      ...named(name, place === 0 ? texts.isFirst : ""),
      place === 0
        ? undefined
        : button(texts.prefer, prefer, { class: "letter", "aria-label": `${texts.prefer}: ${name}` }),
      button(texts.forget, async () => forget(id, name), {
        class: "letter",
        "aria-label": `${texts.forget}: ${name}`,
      }),
    );
  };
  const show = (now: Facts) => {
    facts = now;
    card.hidden = now.state === "none";
    state.textContent = stateOf(now);
    state.classList.toggle("bad", now.fault !== undefined);
    replaceKeepingFocus(known, now.known.map(rowOf));
    const before = network.value;
    const usable = now.networks.filter(({ security }) => security !== "other");
    network.replaceChildren(...usable.map(({ id, name }) => el("option", { value: id }, name)));
    if (usable.some(({ id }) => id === before)) network.value = before;
    for (const one of [network, connect]) one.disabled = usable.length === 0;
    showSecret();
  };
  const refresh = async () => show(await client.call("wifi"));
  const search = button(texts.search, async () => {
    await client.call("wifi.search");
    state.textContent = texts.searching;
    await new Promise((done) => setTimeout(done, searchMs));
    await refresh();
  });
  const connect = button(
    texts.connect,
    async () => {
      const one = chosen();
      if (one === undefined) return;
      await client.call("wifi.join", { id: one.id, password: secret.hidden ? "" : password.value });
      password.value = "";
      note(texts.mayEnd);
      await refresh();
    },
    { class: "main" },
  );
  const card = section(
    say.device.wifi,
    state,
    known,
    labelled(texts.network, network),
    secret,
    el("div", { class: "bar" }, connect, search),
  );
  card.hidden = true;
  return { card, refresh };
}

function stateOf({ state, network = "", fault, point }: Facts): string {
  const texts = say.wifi;
  const failed = fault === undefined ? "" : filled(texts.faults[fault], { network });
  if (state === "joining") return filled(texts.joining, { network });
  if (state === "point") return `${filled(texts.point, { network: point?.name ?? "" })} ${failed}`.trim();
  return `${state === "joined" ? texts.joined : texts.away} ${failed}`.trim();
}
