/** Play time: the time that is left today, and the limits, which an owner may change. */
import type { Calls } from "../../client/client.ts";
import { playTimeMinutesMax } from "../../core/limits.ts";
import { button, el, note, section } from "./dom.ts";
import { labelled } from "./mapping-editor.ts";
import { PageFault, say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type State = Calls["playtime"]["result"];
type Limits = State["limits"];

const minuteMs = 60_000;

export function limitsCard({ client, rights }: Shared): PageCard {
  const texts = say.cards;
  const day = account(texts.today);
  const session = account(texts.session);
  const clock = el("p", { class: "more bad" }, texts.noClock);
  const update = async (limits: Calls["playtime.limits.update"]["params"]) => {
    await client.call("playtime.limits.update", limits);
    await refresh();
  };
  const form = rights.includes("own") ? limitsForm(update) : undefined;
  const rest = form === undefined ? el("p", { class: "more" }, say.device.ownerChanges) : form.element;
  const card = section(texts.limits, ...day.parts, ...session.parts, clock, rest);
  const refresh = async () => {
    const state = await client.call("playtime");
    day.show(state, state.day, state.limits.dailyMinutes);
    session.show(state, state.session, state.limits.sessionMinutes);
    clock.hidden = state.clockBelieved;
    form?.show(state.limits);
  };
  return { card, refresh, hears: ["media.started", "media.stopped", "playtime.warning"] };
}

/** The used and the remaining time, with a bar if there is a limit. The service counts only while a limit is in force. */
function account(title: string) {
  const text = el("p", { class: "account" });
  const bar = el("progress", { "aria-label": title });
  const show = ({ enabled }: State, { usedMs, remainingMs }: State["day" | "session"], limit: number) => {
    const left = remainingMs === undefined ? undefined : Math.ceil(remainingMs / minuteMs);
    const used = say.cards.usedOf(Math.floor(usedMs / minuteMs), left);
    text.textContent = `${title}: ${enabled ? used : say.cards.uncounted}`;
    bar.hidden = left === undefined;
    bar.max = Math.max(limit, 1);
    bar.value = limit - (left ?? 0);
  };
  return { parts: [text, bar], show };
}

function limitsForm(update: (limits: Calls["playtime.limits.update"]["params"]) => Promise<unknown>) {
  const texts = say.cards;
  const isOn = el("input", { type: "checkbox", role: "switch" });
  const minutes = () => el("input", { type: "number", required: "", min: "0", max: `${playTimeMinutesMax}` });
  const daily = minutes();
  const each = minutes();
  const reset = minutes();
  const warnings = el("input", { inputmode: "numeric", placeholder: "5, 1" });
  const fields = [isOn, daily, each, reset, warnings];
  /** A visitor's changes stay until they are saved. */
  let isTouched = false;
  for (const field of fields)
    field.addEventListener("input", () => {
      isTouched = true;
    });
  const save = button(
    texts.save,
    async () => {
      const warningMinutes = numbersOf(warnings.value);
      const isWarning = (one: number) => Number.isInteger(one) && one >= 1 && one <= playTimeMinutesMax;
      for (const field of [daily, each, reset]) if (!field.checkValidity()) refuse(field, 0);
      if (!warningMinutes.every(isWarning)) refuse(warnings, 1);
      await update({
        limitsEnabled: isOn.checked,
        dailyMinutes: Number(daily.value),
        sessionMinutes: Number(each.value),
        sessionResetMinutes: Number(reset.value),
        warningMinutes,
      });
      isTouched = false;
      note(say.device.saved);
    },
    { class: "main" },
  );
  const show = (limits: Limits) => {
    element.hidden = false;
    if (isTouched) return;
    isOn.checked = limits.limitsEnabled;
    daily.value = String(limits.dailyMinutes);
    each.value = String(limits.sessionMinutes);
    reset.value = String(limits.sessionResetMinutes);
    warnings.value = limits.warningMinutes.join(", ");
  };
  // Empty fields would be saved as limits, so they are left out.
  const element = el(
    "div",
    { hidden: "" },
    labelled(texts.limitsCount, isOn, "field switch"),
    labelled(texts.perDay, daily),
    labelled(texts.perSession, each),
    labelled(texts.newSession, reset),
    labelled(texts.warnings, warnings),
    el("div", { class: "bar" }, save),
  );
  return { element, show };
}

const numbersOf = (list: string): number[] =>
  list
    .split(/[\s,;、]+/)
    .filter(Boolean)
    .map(Number);

/** Leads to the field with the wrong number, because the note does not name it. */
function refuse(field: HTMLInputElement, min: number): never {
  field.focus();
  throw new PageFault(say.device.rangeOf(min, playTimeMinutesMax));
}
