/** Every setting with its explanation and the control that fits it. A change is saved at once. */
import type { Calls } from "../../client/client.ts";
import { button, el, madeInSlices, named, note, section, showInSlices, telling } from "./dom.ts";
import { languages } from "./page-language.ts";
import { PageFault, say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Setting = Calls["settings.describe"]["result"]["settings"][number];
type Value = NonNullable<Setting["value"]>;
type Item = string | number;
type Sound = Calls["device"]["result"]["sound"];

/** True if `playtime.limits.update` changes the setting, and not `settings.update`. */
export function isLimit({ key, name }: Pick<Setting, "key" | "name">): boolean {
  return key.startsWith("playtime.") || name === "volumeMax";
}

/** The places by the beginnings of keys; the first one that fits counts. */
const places = {
  "audio.quiet_": "quiet",
  "audio.": "sound",
  "television.": "television",
  "log.": "log",
  "systems.": "media",
  "playback.": "media",
  "device.": "time",
} as const;
export type SettingsPlace = (typeof places)[keyof typeof places] | "readers";

/**
 * The place of a setting that the API can change. Limits of play time, and the broker, have cards of their own. All others
 * are settings of readers and cards.
 */
export function settingsPlace({ key, name = "" }: Pick<Setting, "key" | "name">): SettingsPlace | undefined {
  if (name === "" || key.startsWith("playtime.")) return undefined;
  const found = Object.entries(places).find(([start]) => key.startsWith(start));
  return found?.[1] ?? "readers";
}

/** True if the setting changes something on this device: places of sound are chosen only on the image. */
export function hasEffect({ name = "" }: Pick<Setting, "name">, sound: Sound): boolean {
  if (name === "soundPlace") return sound !== undefined;
  const place = soundCeilings[name];
  return place === undefined || sound?.there.some((there) => there === place) === true;
}

const soundCeilings: Readonly<Record<string, string>> = {
  televisionVolumeMax: "television",
  usbVolumeMax: "usb",
  jackVolumeMax: "jack",
  bluetoothVolumeMax: "bluetooth",
};

export function settingsCard({ client, rights }: Shared, place: SettingsPlace): PageCard {
  const list = el("ul", { class: "rows settings" });
  const experts = el("ul", { class: "rows settings" });
  const more = el("details", { class: "own", hidden: "" }, el("summary", {}, say.device.forExperts), experts);
  const titles: Partial<Readonly<Record<SettingsPlace, string>>> = {
    sound: say.device.sound,
    quiet: say.device.quietHours,
    television: say.device.choices.television,
    media: say.places.media.name,
  };
  const card = section(titles[place] ?? say.device.settings, list, more);
  /** Where sound plays, on the image. */
  let sound: Sound;
  /** The settings in the list; empty after a change here. */
  let shown = "";

  const save = async ({ key, name = "" }: Setting, value: Value) => {
    const [member = "", field] = name.split(".");
    shown = "";
    const params = field === undefined ? { [name]: value } : { [member]: { [field]: value } };
    await client.callAny(isLimit({ key, name }) ? "playtime.limits.update" : "settings.update", params);
    note(say.device.saved);
  };
  const rowOf = (one: Setting) => {
    const { name = "", right = "own", value = "" } = one;
    const names: Readonly<Record<string, string>> = say.device.names;
    const effects: Readonly<Record<string, string>> = say.device.effects;
    const title = names[name] ?? name;
    const choices: Readonly<Record<string, string>> = say.device.choices;
    const now = name === "soundPlace" && sound?.plays !== undefined ? choices[sound.plays] : undefined;
    const explanation = el(
      "p",
      { class: "more" },
      [effects[name] ?? "", ...(now === undefined ? [] : [say.device.soundNow(now)])].join(" "),
    );
    const isLocked = !rights.includes(right);
    const control =
      isLocked && Array.isArray(value)
        ? el("span", {}, value.join(", "))
        : controlOf(one, title, value, (now) => save(one, now));
    if (isLocked) control.toggleAttribute("disabled", true);
    const locked = isLocked ? el("span", { class: "more" }, say.device.ownerChanges) : undefined;
    return el(
      "li",
      { class: `wrap ${one.kind}` },
      el("div", { class: "what" }, el("span", { class: "name" }, title), explanation, locked),
      el("div", { class: "control" }, control),
    );
  };
  const refresh = async () => {
    // A control that is in use stays unchanged.
    if (card.contains(document.activeElement)) return;
    const hasTimes = rights.includes("own") && (place === "quiet" || place === "time");
    if (hasTimes) await giveTimeZone(client);
    const described = (await client.call("settings.describe")).settings;
    if (place === "sound") ({ sound } = await client.call("device"));
    const settings = described.filter((one) => settingsPlace(one) === place && hasEffect(one, sound));
    // An unchanged list keeps the place of the visitor.
    const found = JSON.stringify([settings, sound]);
    if (found === shown) return;
    shown = found;
    const rows = await madeInSlices(settings, rowOf);
    if (found !== shown) return;
    await showInSlices(
      list,
      rows.filter((_, at) => !isForExperts(settings[at])),
    );
    experts.replaceChildren(...rows.filter((_, at) => isForExperts(settings[at])));
    more.hidden = experts.childElementCount === 0;
  };
  return { card, refresh };
}

/** The value of this setting names drivers and paths. */
const isForExperts = (setting: Setting | undefined) => setting?.name === "reader";

/** The settings that only the file has, each with its explanation. */
export function fileSettingsCard({ client }: Shared): PageCard {
  const list = el("ul", { class: "rows" });
  const rows = el("details", { class: "own" }, el("summary", {}, say.device.forExperts), list);
  const card = section(say.device.inFile, el("p", { class: "quiet" }, say.device.inFileHow), rows);
  const refresh = async () => {
    const { settings } = await client.call("settings.describe");
    const ofFile = settings.filter(({ name = "" }) => name === "");
    const { settingDocs = {} } = say;
    const made = await madeInSlices(ofFile, ({ key, docs, default: standard }) => {
      const what = named(key, say.device.defaultIs(standard));
      return el(
        "li",
        {},
        el("div", { class: "what" }, ...what, el("p", { class: "more" }, settingDocs[key] ?? docs)),
      );
    });
    await showInSlices(list, made);
  };
  return { card, refresh };
}

/** The names of the browser's time zones, to choose from while one is typed. */
function zonesFor({ name }: Setting): HTMLElement | undefined {
  if (name !== "timeZone") return undefined;
  // Browsers before 2022 have no list.
  const names = "supportedValuesOf" in Intl ? Intl.supportedValuesOf("timeZone") : [];
  const zones = names.map((value) => el("option", { value }));
  return el("datalist", { id: "zones" }, ...zones);
}

/** The SD image has no time zone at first, and gets the time zone of the first owner who looks at its times. */
async function giveTimeZone(client: Shared["client"]): Promise<void> {
  if ((await client.call("settings")).timeZone !== "") return;
  if (!(await client.call("device")).actions.includes("shutdown")) return;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  // The settings are shown nevertheless. The card of the device's state has the reason.
  await client.call("settings.update", { timeZone }).catch(() => {});
}

type Save = (value: Value) => Promise<void>;

function controlOf(setting: Setting, title: string, value: Value, save: Save): HTMLElement {
  const { kind, choices = [], min, max, isWhole } = setting;
  if (Array.isArray(value)) return listOf(title, value, save);
  const label = { "aria-label": title };
  if (kind === "choice") {
    const isLanguage = setting.name === "televisionLanguage";
    const named = Object.entries(languages).map(([code, { name }]) => [code, name]);
    const names: Readonly<Record<string, string>> = isLanguage
      ? Object.fromEntries(named)
      : say.device.choices;
    const options = choices.map((one) => el("option", { value: one }, names[one] ?? one));
    const select = el("select", label, ...options);
    const chosen = () => (typeof value === "number" ? Number(select.value) : select.value);
    return saving(select, `${value}`, () => save(chosen()));
  }
  if (kind === "switch") {
    const input = el("input", { type: "checkbox", role: "switch", ...label });
    input.checked = value === true;
    const onChange = () =>
      save(input.checked).catch((error) => {
        input.checked = !input.checked;
        throw error;
      });
    input.addEventListener("change", telling(onChange));
    return input;
  }
  if (kind === "time") {
    const input = el("input", { type: "time", ...label });
    return saving(input, `${value}`, () => save(input.value));
  }
  if (kind === "text") {
    const input = el("input", { ...label, ...(setting.name === "timeZone" && { list: "zones" }) });
    return el(
      "span",
      {},
      saving(input, `${value}`, () => save(input.value)),
      zonesFor(setting),
    );
  }
  const range = { min: `${min ?? ""}`, max: `${max ?? ""}`, step: isWhole ? "1" : "any" };
  const input = el("input", { type: "number", required: "", ...range, ...label });
  return saving(input, `${value}`, async () => {
    if (!input.checkValidity()) throw new PageFault(say.device.rangeOf(min ?? 0, max ?? 0));
    await save(input.valueAsNumber);
  });
}

/** Saves each change. A refused value is replaced by the previous one. */
function saving<Control extends HTMLInputElement | HTMLSelectElement>(
  control: Control,
  value: string,
  save: () => Promise<void>,
): Control {
  let before = value;
  control.value = value;
  /** A change waits for the previous one. */
  let working = Promise.resolve();
  const apply = async () => {
    // Another value may be typed meanwhile.
    const { value: typed } = control;
    try {
      await save();
      before = typed;
    } catch (error) {
      control.value = before;
      throw error;
    }
  };
  const onChange = () => {
    working = working.catch(() => {}).then(apply);
    return working;
  };
  control.addEventListener("change", telling(onChange));
  return control;
}

/** The items as buttons that remove them, and a field for another one. */
function listOf(title: string, first: readonly Item[], save: Save): HTMLElement {
  let items = first;
  const isNumber = typeof first[0] === "number";
  const input = el("input", { "aria-label": say.device.addTo(title), placeholder: say.device.add });
  const row = el("div", { class: "bar" });
  const change = async (next: readonly Item[]) => {
    await save([...next]);
    items = next;
    show();
  };
  const show = () => {
    const buttons = items.map((item, place) =>
      button(`${item} ×`, () => change(items.toSpliced(place, 1)), {
        "aria-label": say.device.remove(`${item}`),
      }),
    );
    row.replaceChildren(...buttons, form);
  };
  const submit = async () => {
    const typed = input.value.trim();
    if (typed === "") return;
    await change([...items, isNumber ? Number(typed) : typed]);
    input.value = "";
    input.focus();
  };
  const add = el("button", { "aria-label": say.device.addTo(title) }, "+");
  const form = el("form", { class: "pair", onsubmit: telling(submit) }, input, add);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
  return row;
}
