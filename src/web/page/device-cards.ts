/** The cards of the device itself: its health with advice, its disks and networks, restarts and updates, and its log. */
import type { Calls } from "../../client/client.ts";
import type { UpdateState } from "../../core/device-shapes.ts";
import { filled } from "../../core/text.ts";
import { button, el, listCard, named, openDialog, section, telling } from "./dom.ts";
import { bytesOf, clockOf, dateOf, spanOf } from "./local-forms.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Facts = Calls["device"]["result"];
type LogLine = Calls["logs"]["result"]["lines"][number];

/** The faults, each with advice. */
export function healthCard({ client }: Shared): PageCard {
  const { card, show } = listCard(say.device.health, "");
  const refresh = async () => {
    const { checks } = await client.call("health");
    const bad = checks.filter(({ ok }) => !ok);
    const rows = bad.map(({ name, faults = [], ...check }) => {
      const { faults: texts } = say;
      const translated = texts && faults.map((fault) => filled(texts[fault.code], fault)).join("; ");
      const reason = translated ?? check.reason ?? "";
      // MQTT has this name in all languages, and its advice is in the reason.
      const [label, more] =
        name === "mqtt" ? ["MQTT", ""] : [say.device.checks[name], say.device.advice[name]];
      const what = el(
        "div",
        { class: "what" },
        ...named(label, reason, true),
        el("span", { class: "more" }, more),
      );
      return el("li", {}, el("span", { class: "dot bad" }), what);
    });
    const well = el("li", {}, el("span", { class: "dot on" }), say.device.allWell);
    show(bad.length === 0 ? [well] : rows);
  };
  return { card, refresh, hears: ["readers.added", "readers.removed"] };
}

const row = (title: string, ...parts: readonly (string | undefined)[]) =>
  el("li", {}, el("div", { class: "what" }, ...named(title, parts.filter(Boolean).join(" · "))));

/** The version, the memory and the disks of the machine. */
export function aboutCard({ client }: Shared): PageCard {
  const { card, show } = listCard(say.places.about.name, "");
  return { card, refresh: async () => show(factRows(await client.call("device"))) };
}

/** The machine's networks with their addresses. */
export function networkCard({ client }: Shared): PageCard {
  const { card, show } = listCard(say.device.network, say.noNetwork);
  const refresh = async () => {
    const { networks } = await client.call("device");
    const rows = networks.map(({ name, isWireless, isUp, addresses, signalDbm }) =>
      row(
        `${isWireless ? say.device.wifi : say.device.network} ${name}`,
        isUp ? addresses.join(", ") : say.device.noCable,
        signalDbm === undefined ? undefined : `${signalDbm} dBm`,
      ),
    );
    show(rows);
  };
  return { card, refresh };
}

function versionRow({ version, name, board, slot = "" }: Facts): HTMLElement {
  return row(`Tapdeck ${version}`, name, board === undefined ? undefined : say.device.image(board, slot));
}

function factRows(facts: Facts): readonly HTMLElement[] {
  const { uptime, systemUptime, memory, temperature } = facts;
  return [
    versionRow(facts),
    row(say.device.running, say.device.service(spanOf(uptime)), say.device.system(spanOf(systemUptime))),
    row(
      say.device.memory,
      say.device.freeOf(bytesOf(memory.availableBytes), bytesOf(memory.totalBytes)),
      say.device.ownMemory(bytesOf(memory.serviceBytes)),
      temperature === undefined ? undefined : `${temperature} °C`,
    ),
    ...facts.disks.map(({ folders, freeBytes, totalBytes }) => {
      const full = el("meter", { "aria-label": say.device.disk });
      full.max = totalBytes;
      full.value = totalBytes - freeBytes;
      const free = say.device.freeOf(bytesOf(freeBytes), bytesOf(totalBytes));
      const what = named(say.device.disk, `${free} · ${folders.join(", ")}`);
      return el("li", {}, el("div", { class: "what" }, ...what, full));
    }),
  ];
}

/** The version, and update, restart and shutdown as far as the device offers them, each with its effect. */
export function powerCard({ client }: Shared): PageCard {
  const text = el("p", { class: "later", role: "status" });
  const meter = el("progress", { "aria-label": say.device.update, max: "100" });
  const { card, show: list } = listCard(say.device.power, "", text, meter);
  meter.hidden = true;
  const show = (state: UpdateState | undefined) => {
    const { step, percent, at = "checking", why } = state ?? {};
    const failure = say.refusals === undefined ? why : undefined;
    text.textContent =
      step === undefined
        ? ""
        : step === "failed"
          ? (failure ?? say.device.failedAt[at])
          : say.device.steps[step];
    meter.hidden = step === undefined || step === "failed";
    if (percent === undefined) meter.removeAttribute("value");
    else meter.value = percent;
  };
  const asking = (title: string, sentence: string, run: () => Promise<unknown>, ...fields: HTMLElement[]) =>
    el(
      "li",
      { class: "wrap" },
      el("span", { class: "what quiet" }, sentence),
      button(title, async () => {
        const yes = button(
          title,
          async () => {
            await run();
            dialog.close();
          },
          { class: "main wide" },
        );
        const dialog = openDialog(title, say.cancel, el("p", {}, sentence), ...fields, yes);
      }),
    );
  const refresh = async () => {
    const facts = await client.call("device");
    const { actions, updating, updates } = facts;
    const url = el("input", { type: "url", "aria-label": say.device.address, placeholder: "https://" });
    const buttons = {
      restart: () =>
        asking(
          actions.includes("shutdown") ? say.device.restart : say.device.restartService,
          say.device.restartSure,
          () => client.call("device.restart"),
        ),
      shutdown: () =>
        asking(say.device.shutdown, say.device.shutdownSure, () => client.call("device.shutdown")),
      update: () =>
        asking(
          say.device.update,
          say.device.updateSure,
          () => client.call("device.update", { url: url.value.trim() }),
          url,
        ),
    };
    const latest = updates?.latest;
    list([
      versionRow(facts),
      ...(latest === undefined ? [] : [row(say.device.update, latest.version, latest.summary)]),
      ...actions.toReversed().map((action) => buttons[action]()),
    ]);
    show(updating);
    if (actions.length === 0) text.textContent = say.device.noActions;
  };
  return {
    card,
    refresh,
    hear({ method, params }) {
      if (method === "device.updating") show(params);
    },
  };
}

const shownMax = 400;
const pageLines = 100;
const waitMs = 20_000;

/** The log, live while it is in view. */
export function logCard({ client }: Shared): PageCard {
  const level = el(
    "select",
    { "aria-label": say.device.level },
    ...(["info", "warn", "error"] as const).map((one) =>
      el("option", { value: one }, say.device.levels[one]),
    ),
  );
  const text = el("input", {
    type: "search",
    "aria-label": say.device.filter,
    placeholder: say.device.filter,
    maxlength: "200",
  });
  // The role belongs to a box around the list, because a list with another role has no items.
  const list = el("ol", { class: "log", tabindex: "0", "aria-label": say.device.log });
  const box = el("div", { role: "log", "aria-label": say.device.log }, list);
  const earlier = button(say.device.earlier, () => loadEarlier());
  const download = button(say.device.download, () => save());
  const filter = el("div", { class: "bar filter" }, level, text);
  const card = section(say.device.log, filter, box, el("div", { class: "bar later" }, earlier, download));
  let cursor: string | undefined;
  /** Counts the filters; only the latest one may fill the list. */
  let asked = 0;

  const query = () => {
    const chosen = level.value;
    const known = chosen === "error" || chosen === "warn" ? chosen : "info";
    return { level: known, text: text.value, limit: pageLines } as const;
  };
  const add = (lines: readonly LogLine[]) => {
    const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 4;
    list.append(...lines.map(rowOf));
    while (list.childElementCount > shownMax) list.firstElementChild?.remove();
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  };
  const follow = async (mine: number, from: number) => {
    let last = from;
    while (mine === asked && list.isConnected) {
      const page = await client.call("logs", { ...query(), after: last, waitMs });
      if (mine !== asked) return;
      last = page.last;
      add(page.lines);
    }
  };
  const refresh = async () => {
    asked += 1;
    const mine = asked;
    const page = await client.call("logs", query());
    if (mine !== asked) return;
    cursor = page.pagination.nextCursor;
    earlier.hidden = cursor === undefined;
    list.replaceChildren();
    add(page.lines);
    list.scrollTop = list.scrollHeight;
    // It ends with the connection, which has its own line on the page.
    follow(mine, page.last).catch(() => {});
  };
  const loadEarlier = async () => {
    if (cursor === undefined) return;
    const page = await client.call("logs", { ...query(), cursor });
    cursor = page.pagination.nextCursor;
    earlier.hidden = cursor === undefined;
    list.prepend(...page.lines.map(rowOf));
    list.scrollTop = 0;
  };
  const save = async () => {
    let lines: readonly LogLine[] = [];
    let next: string | undefined;
    do {
      const at = next === undefined ? {} : { cursor: next };
      const page = await client.call("logs", { ...query(), limit: 500, ...at });
      lines = [...page.lines, ...lines];
      next = page.pagination.nextCursor;
    } while (next !== undefined);
    const whole = lines.map(({ time, level, area, text }) => `${time} ${level} ${area}: ${text}\n`).join("");
    const address = URL.createObjectURL(new Blob([whole], { type: "text/plain" }));
    el("a", { href: address, download: "tapdeck.log" }).click();
    URL.revokeObjectURL(address);
  };
  for (const field of [level, text]) field.addEventListener("input", telling(refresh));
  return { card, refresh };
}

function rowOf({ time, level, area, text }: LogLine): HTMLElement {
  const when = el("time", { datetime: time, title: dateOf(time) }, clockOf(time));
  return el("li", { "data-level": level }, when, ` ${area}: ${text}`);
}
