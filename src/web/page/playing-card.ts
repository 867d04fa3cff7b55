/**
 * The card for playing media: cover, position, and the buttons that the player and the rights allow; and the card of a
 * playlist.
 */
import type { Calls } from "../../client/client.ts";
import { type ActiveMedia, audioTitleOf, lengthText, performerOf } from "../../core/media.ts";
import { button, el, icon, replaceKeepingFocus, section, telling } from "./dom.ts";
import { clockOf } from "./local-forms.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

type Playlist = Calls["media"]["result"]["playlists"][number];

// The player reports its position only on request, and the page counts on between the requests.
const countMs = 1000;
const requestEveryCounts = 5;
const seekStepMs = 5000;

export function playingCard({ client, canPlay, pictures }: Shared): PageCard {
  const key = (name: Key, run: () => Promise<unknown>, props = {}) => {
    const one = button("", run, { "aria-label": say[name], title: say[name], ...props });
    one.append(icon(keyIcons[name]));
    return one;
  };
  const control = (name: Key, props = {}) => key(name, () => act(name), props);
  const act = async (action: string, args?: readonly [string | number] | { readonly positionMs: number }) => {
    await client.call("media.control", {
      action,
      ...(args === undefined ? {} : { args: "positionMs" in args ? { ...args } : [...args] }),
    });
    await refresh();
  };
  const none = el("p", { class: "quiet" }, say.nothingPlays(canPlay));
  const cover = el("img", { class: "cover", alt: "", hidden: "" });
  const what = el("div", { class: "what", role: "status" });
  const seek = slider(say.position, canPlay, (value) => act("seek", { positionMs: value }));
  const clock = el("span", { class: "more" });
  const volume = slider(say.volume, canPlay, (value) => act("volume", [value]));
  const previous = control("previous");
  const pause = control("pause", { class: "main" });
  const resume = control("resume", { class: "main" });
  const next = control("next");
  const stop = key("stop", () => client.call("stop"));
  const buttons = canPlay ? el("div", { class: "bar keys" }, previous, pause, resume, next, stop) : undefined;
  const place = el("div", { class: "seek" }, seek.input, clock);
  const loudness = el("label", { class: "seek" }, el("span", { class: "more" }, say.volume), volume.input);
  const sleep = sleepChoice(client);
  const body = el("div", { class: "playing" }, cover, el("div", { class: "rows what" }, what), buttons);
  const card = section(say.now, none, body, place, loudness, canPlay ? sleep.element : undefined);

  let shown: ActiveMedia | null = null;
  let shownAt = 0;
  const count = () => {
    const { positionMs, durationMs = 0, playbackState } = shown ?? {};
    place.hidden = positionMs === undefined || durationMs === 0;
    if (positionMs === undefined) return;
    const passed = playbackState === "playing" ? performance.now() - shownAt : 0;
    const now = Math.min(positionMs + passed, durationMs);
    seek.show(now, durationMs);
    const position = lengthText(now);
    const duration = lengthText(durationMs);
    seek.input.setAttribute("aria-valuetext", say.positionOf(position, duration));
    clock.textContent = `${position} / ${duration}`;
  };
  const show = (media: ActiveMedia | null, playlist: Playlist | undefined) => {
    const hasChanged = media?.started !== shown?.started || media?.mediaPath !== shown?.mediaPath;
    shown = media;
    shownAt = performance.now();
    none.hidden = media !== null;
    body.hidden = media === null;
    sleep.element.hidden = media === null;
    const { volume: percent, playbackState = "loading" } = media ?? {};
    loudness.hidden = percent === undefined || !canPlay;
    if (percent !== undefined) volume.show(percent, 100);
    count();
    const isListed = playlist !== undefined && playlist.count > 1;
    showIf(previous, isListed || (media?.disc?.number ?? 1) > 1);
    showIf(next, isListed || (media?.disc !== undefined && media.disc.number < media.disc.of));
    // A player that reports no state cannot be paused.
    showIf(pause, playbackState === "playing" || playbackState === "buffering", resume);
    showIf(resume, playbackState === "paused", pause);
    if (media === null) return;
    const since = clockOf(media.started);
    const facts = say.playingSince(media.systemName, since);
    const state = media.playbackState === undefined ? "" : say.state[media.playbackState];
    const item = isListed && playlist.state === "playing" ? say.placeOf(playlist.place, playlist.count) : "";
    const disc = media.disc === undefined ? "" : say.discOf(media.disc.number, media.disc.of);
    const label = [item, disc, facts, state].filter(Boolean).join(" · ");
    const { mediaName, audio, streamTitle = performerOf(audio) } = media;
    const title = audioTitleOf(mediaName, audio);
    // An equal text is not announced again.
    if (what.textContent !== title + streamTitle + label)
      what.replaceChildren(
        el("span", { class: "name" }, title),
        el("span", { class: "more here" }, streamTitle),
        el("span", { class: "more" }, label),
      );
    if (hasChanged) pictures.show(cover, media.mediaPath);
  };
  const refresh = async () => {
    const { active, playlists } = await client.call("media");
    show(active[0] ?? null, playlists[0]);
    if (canPlay && active.length > 0) await sleep.refresh();
  };
  let counts = 0;
  const timer = setInterval(() => {
    if (shown?.playbackState === undefined || document.hidden || !card.isConnected) return;
    counts += 1;
    // The end of a start has no event of its own.
    const isStarting = shown.playbackState === "loading";
    if (isStarting || counts % requestEveryCounts === 0) refresh().catch(() => {});
    else count();
  }, countMs);
  void client.closed.then(() => clearInterval(timer));
  return { card, refresh, hears: ["media.started", "media.paused", "media.resumed", "media.stopped"] };
}

const sleepMinutes = [15, 30, 60, 90];

/** The sleep timer: a time from a list, and the time at which the media stop. */
function sleepChoice(client: Shared["client"]) {
  const options = sleepMinutes.map((minutes) =>
    el("option", { value: `${minutes}` }, say.sleep.after(minutes)),
  );
  const running = el("option", { value: "running", hidden: "" });
  const select = el(
    "select",
    { "aria-label": say.sleep.title, class: "letter" },
    el("option", { value: "0" }, say.sleep.off),
    running,
    ...options,
  );
  const show = ({ endsAt }: Calls["sleep"]["result"]) => {
    if (document.activeElement === select && endsAt === undefined) return;
    running.textContent = endsAt === undefined ? "" : say.sleep.at(clockOf(endsAt));
    select.value = endsAt === undefined ? "0" : "running";
  };
  const change = async () => {
    if (select.value !== "running")
      show(await client.call("sleep.update", { minutes: Number(select.value) }));
  };
  select.addEventListener("change", telling(change));
  const element = el("label", { class: "seek" }, el("span", { class: "more" }, say.sleep.title), select);
  return { element, refresh: async () => show(await client.call("sleep")) };
}

const keyIcons = {
  previous: "M18 6v12l-9-6zM6 6v12",
  pause: "M8 6v12M16 6v12",
  resume: "M8 5v14l11-7z",
  next: "M6 6v12l9-6zM18 6v12",
  stop: "M7 7h10v10H7z",
} as const;
type Key = keyof typeof keyIcons;

/** Shows an element or hides it. The focus of a hidden element moves to `other`. */
function showIf(element: HTMLElement | undefined, isShown: boolean, other?: HTMLElement): void {
  if (element === undefined) return;
  const hadFocus = document.activeElement === element;
  if (other !== undefined && !isShown && hadFocus) {
    other.hidden = false;
    other.focus();
  }
  element.hidden = !isShown;
}

/** A slider whose handle does not follow the player while a person moves it. */
function slider(label: string, isEnabled: boolean, change: (value: number) => Promise<void>) {
  const input = el("input", { type: "range", min: "0", "aria-label": label });
  input.disabled = !isEnabled;
  let isHeld = false;
  input.addEventListener("input", () => {
    isHeld = true;
  });
  input.addEventListener("change", () => {
    isHeld = false;
    telling(() => change(Number(input.value)))();
  });
  return {
    input,
    show(value: number, max: number) {
      if (isHeld) return;
      input.max = String(max);
      input.step = String(max > 100 ? seekStepMs : 5);
      input.value = String(value);
    },
  };
}

// The card shows the items around the playing one; a press shows as many as the API returns in one answer.
const shownItems = 12;
const itemsBefore = 2;
const pageItems = 100;

/**
 * The items of a playlist that plays, or that a card opened to choose from; a press starts one. The list is hidden if it
 * is empty.
 */
export function playlistCard({ client, canPlay }: Shared): PageCard {
  const list = el("ul", { class: "rows" });
  const name = el("p", { class: "quiet" });
  const heading = el("h2");
  let isWhole = false;
  const more = button(say.showMore, async () => {
    isWhole = true;
    await refresh();
  });
  const card = el("section", { hidden: "" }, heading, name, list, el("div", { class: "bar" }, more));
  const row = (item: { readonly place: number; readonly name: string }, playing: number) => {
    const start = telling(() => client.call("launch", `**playlist.goto:${item.place}`));
    // Names of files often begin with their number.
    const label = /^\d/.test(item.name) ? item.name : `${item.place}. ${item.name}`;
    const what = el("span", { class: "name" }, label);
    const element = canPlay ? el("button", { type: "button", class: "row", onclick: start }, what) : what;
    if (item.place === playing) element.setAttribute("aria-current", "true");
    return el("li", {}, element);
  };
  const show = (playlist: Playlist | undefined, playing = 0) => {
    const { items, count = 0 } = playlist ?? {};
    const title = playing === 0 ? say.chooseOne : say.playingList;
    card.hidden = items === undefined;
    card.setAttribute("aria-label", title);
    heading.textContent = title;
    name.textContent = playlist === undefined ? "" : say.playlistFacts(playlist.name, count);
    more.hidden = playing === 0 || isWhole || count <= shownItems;
    replaceKeepingFocus(
      list,
      (items ?? []).map((item) => row(item, playing)),
    );
  };
  const refresh = async () => {
    const [loaded] = (await client.call("media")).playlists;
    if (loaded?.state !== "playing" || loaded.count < 2 || loaded.items !== undefined) {
      isWhole = false;
      return show(loaded);
    }
    const { place, count } = loaded;
    const size = isWhole ? pageItems : shownItems;
    const from = Math.max(1, Math.min(place - itemsBefore, count - size + 1));
    const listed = await client.call("media.playlist", { from });
    if (listed === null) return show(undefined);
    show({ ...listed, items: listed.items?.slice(0, size) ?? [] }, listed.place);
  };
  return {
    card,
    hears: ["media.started", "media.stopped"],
    hear: ({ method, params }) => method === "playlist.opened" && show(params),
    refresh,
  };
}
