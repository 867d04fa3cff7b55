/** The card of the MQTT broker: its address, its account and its authority, which an owner writes and nobody reads back. */
import type { Calls } from "../../client/client.ts";
import { roles } from "../../core/rights.ts";
import { filled } from "../../core/text.ts";
import { button, el, note, section } from "./dom.ts";
import { labelled } from "./mapping-editor.ts";
import { say } from "./page-texts.ts";
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
  const state = el("p", { class: "quiet", role: "status" });
  /** A visitor's changes stay until they are saved. */
  let isTouched = false;
  for (const field of [url, user, password, ca, role])
    field.addEventListener("input", () => {
      isTouched = true;
    });
  const show = (facts: Facts) => {
    state.textContent = stateOf(facts);
    state.classList.toggle("bad", facts.fault !== undefined);
    for (const field of [url, user, password, ca, role, save]) field.disabled = facts.isSetByImage;
    test.hidden = facts.url === "";
    if (isTouched) return;
    url.value = facts.url;
    user.value = facts.user;
    role.value = facts.role;
    password.value = "";
    password.placeholder = facts.hasPassword ? texts.kept : "";
    ca.value = "";
  };
  const refresh = async () => show(await client.call("broker"));
  const save = button(
    texts.save,
    async () => {
      const [file] = ca.files ?? [];
      await client.call("broker.update", {
        ...{ url: wholeAddress(url.value.trim()), user: user.value.trim() },
        role: roles.find((one) => one === role.value) ?? "player",
        ...(password.value === "" ? {} : { password: password.value }),
        ...(file === undefined ? {} : { ca: await file.text() }),
      });
      isTouched = false;
      note(say.device.saved);
      await refresh();
    },
    { class: "main" },
  );
  const test = button(texts.test, async () => {
    state.textContent = texts.testing;
    const result = await client.call("broker.test");
    state.classList.toggle("bad", !result.connected);
    state.textContent = result.connected ? texts.connected : reasonIn(result);
  });
  const card = section(
    texts.title,
    el("p", { class: "quiet" }, texts.what),
    labelled(texts.url, url),
    labelled(texts.user, user),
    labelled(texts.password, password),
    labelled(texts.ca, ca),
    labelled(texts.role, role),
    state,
    el("div", { class: "bar" }, save, test),
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
  if (text === "" || text.includes("://")) return text;
  return `${text.endsWith(":8883") ? "mqtts" : "mqtt"}://${text}`;
}

/** The fault in the page's language, or the service's sentence, with the fields of this card instead of the keys of the settings. */
function reasonIn({ fault, reason = "" }: Pick<Facts, "fault" | "reason">): string {
  if (fault === undefined) return (say.faults === undefined ? reason : "") || say.broker.trying;
  const text = say.faults === undefined ? reason : filled(say.faults[fault.code], fault);
  const { url, user, password } = say.broker;
  return text
    .replaceAll("mqtt.url", `"${url}"`)
    .replaceAll("mqtt.user", `"${user}"`)
    .replaceAll("mqtt.password_file", `"${password}"`);
}
