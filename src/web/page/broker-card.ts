/** The card of the MQTT broker: its address, its account and its authority, which an owner writes and nobody reads back. */
import type { Calls } from "../../client/client.ts";
import { roles } from "../../core/rights.ts";
import { filled } from "../../core/text.ts";
import { button, el, note, section } from "./dom.ts";
import { labelled } from "./mapping-editor.ts";
import { PageFault, say, textFor } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Facts = Calls["broker"]["result"];

export function brokerCard({ client }: Shared): PageCard {
  const texts = say.broker;
  const url = el("input", { type: "url", placeholder: "mqtt://homeassistant.local:1883" });
  const user = el("input", { autocomplete: "off", maxlength: "255" });
  // A password manager may offer to store it.
  const password = el("input", { type: "password", autocomplete: "new-password", maxlength: "1024" });
  const ca = el("input", { type: "file", accept: ".pem,.crt,.cer" });
  const role = el("select", {}, ...roles.map((one) => el("option", { value: one }, say.roles[one])));
  const experts = el(
    "details",
    { class: "own" },
    el("summary", {}, say.device.forExperts),
    labelled(texts.ca, ca),
    labelled(texts.role, role),
    el("p", { class: "quiet" }, texts.roleWhat),
  );
  const state = el("p", { class: "quiet", role: "status" });
  let hasCa = false;
  /** A visitor's changes stay until they are saved, also those made during that. */
  let changes = 0;
  for (const field of [url, user, password, ca, role])
    field.addEventListener("input", () => {
      changes++;
    });
  const show = (facts: Facts) => {
    state.textContent = stateOf(facts);
    state.classList.toggle("bad", facts.fault !== undefined);
    for (const field of [url, user, password, ca, role, save]) field.disabled = facts.isSetByImage;
    test.hidden = facts.url === "";
    hasCa = facts.hasCa;
    if (changes > 0) return;
    url.value = facts.url;
    user.value = facts.user;
    role.value = facts.role;
    password.value = "";
    password.placeholder = facts.hasPassword ? texts.kept : "";
    ca.value = "";
  };
  const refresh = async () => show(await client.call("broker"));
  /** The number of connections that were tried. Only the latest one is shown. */
  let tries = 0;
  /** Shows what the broker answers to a new connection; undefined if a later one was tried meanwhile. */
  const tryNow = async () => {
    tries += 1;
    const mine = tries;
    state.classList.remove("bad");
    state.textContent = texts.testing;
    try {
      const result = await client.call("broker.test");
      if (mine !== tries) return undefined;
      state.classList.toggle("bad", !result.connected);
      state.textContent = result.connected ? texts.connected : reasonIn(result);
      return result.connected;
    } catch (error) {
      if (mine === tries) state.textContent = texts.trying;
      throw error;
    }
  };
  const save = button(
    texts.save,
    async () => {
      const [file] = ca.files ?? [];
      const saved = changes;
      const address = wholeAddress(url.value.trim());
      // An address without TLS is refused together with an authority, and the kept one is not shown.
      const isLeft = hasCa && file === undefined && !/^mqtts:/i.test(address);
      await client.call("broker.update", {
        url: address,
        user: user.value.trim(),
        role: roles.find((one) => one === role.value) ?? "player",
        ...(password.value === "" ? {} : { password: password.value }),
        ...(file === undefined ? {} : { ca: await file.text() }),
        ...(isLeft ? { ca: "" } : {}),
      });
      if (changes === saved) changes = 0;
      await refresh();
      // The device may still have the answer of the former broker.
      const isConnected = address === "" || (await tryNow());
      if (isConnected !== undefined) note(isConnected ? say.device.saved : texts.unconnected);
    },
    { class: "main" },
  );
  const test = button(texts.test, tryNow);
  const card = section(
    texts.title,
    el("p", { class: "quiet" }, texts.what),
    labelled(texts.url, url),
    labelled(texts.user, user),
    labelled(texts.password, password),
    state,
    el("div", { class: "bar" }, save, test),
    experts,
  );
  return { card, refresh };
}

function stateOf(facts: Facts): string {
  if (facts.isSetByImage) return say.broker.byImage;
  if (facts.url === "") return say.broker.none;
  return facts.connected ? say.broker.connected : reasonIn(facts);
}

/** People type `192.168.1.5` or `broker.lan:8883`; the port tells whether it has TLS. */
function wholeAddress(text: string): string {
  if (text === "" || /^mqtts?:\/\//i.test(text)) return text;
  // Some copy the address of Home Assistant's page.
  if (text.includes("://")) throw new PageFault(say.broker.wrong);
  return `${text.endsWith(":8883") ? "mqtts" : "mqtt"}://${text}`;
}

/** The fault in the words of this card, else in the page's language, or the service's sentence. */
function reasonIn({ fault, reason = "" }: Pick<Facts, "fault" | "reason">): string {
  if (fault === undefined) return (say.faults === undefined ? reason : "") || say.broker.trying;
  const known = textFor(fault.code, say.broker.faults, say.faults ?? {});
  return known === undefined ? reason : filled(known, fault);
}
