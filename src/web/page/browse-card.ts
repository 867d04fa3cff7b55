/**
 * The folders of the library, as a wall of tiles or a list. The address names the folder, so the Back button leads up,
 * and a link can be shared. Further entries load when their place comes into view, so a folder of 100,000 files costs no
 * more than one of forty.
 */
import { type Calls, RpcError } from "../../client/client.ts";
import { lengthText, scriptOf } from "../../core/media.ts";
import { symbolOf } from "../../core/system-symbols.ts";
import { button, drawn, el, icon, named, section, telling } from "./dom.ts";
import { longList } from "./long-list.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import {
  cardButton,
  folderAddress,
  itemRow,
  itemTile,
  type LibraryItem,
  namedBy,
  playButton,
} from "./tiles.ts";

const pageEntries = 48;
/**
 * At most this many entries, the maximum of one answer, are shown again after a return to a folder or a change of the index.
 */
const shownAgainMax = 1000;
const viewKey = "tapdeck.library";
const letters = ["", "0-9", ..."ABCDEFGHIJKLMNOPQRSTUVWXYZ", "#"];
type Entry = Calls["media.browse"]["result"]["entries"][number];

export function browseCard(shared: Shared): PageCard {
  const { client } = shared;
  const place = el("p", { role: "status" });
  const acts = el("div", { class: "bar" });
  /** The entries in view begin with this letter, and continue with the letters after it. */
  let letter = "";
  /** The letter of the first entries in view. */
  let shownLetter = "";
  /** The letter of the entries that were loaded last. */
  let reached = "";
  /** The path in view; undefined before the first one. */
  let path: string | undefined;
  /** The cursor of the entries after those in view. */
  let following: string | undefined;
  let asked = 0;
  /** The number of loads that run. */
  let loads = 0;
  /** The number of entries in view, by path. */
  const depths = new Map<string, number>();
  /** The index has changed while an entry had the focus. */
  let isStale = false;
  /**
   * Paths of files that were moved or deleted here, and that the index may still have. The list follows the change
   * although an entry has the focus.
   */
  const gone = new Set<string>();
  let systems: Promise<Calls["systems"]["result"]> | undefined;

  const entryOf = (entry: Entry): HTMLElement => {
    const { type, name, path: at, zapScript = "", fileCount = 0, audio, systemId, category } = entry;
    const remove = () => {
      gone.add(at);
      // An index that ended during the dialog has replaced the entry.
      list.remove((one) => one.path === at);
      catchUp();
    };
    const isFile = type === "media";
    const symbol = type === "root" ? { symbol: symbolOf(systemId, category) } : {};
    const item: LibraryItem = isFile
      ? { ...namedBy(name, audio, ""), path: at, script: zapScript }
      : {
          name,
          path: at,
          facts: say.files(fileCount),
          script: folderScript(at),
          address: folderAddress(at),
          ...symbol,
        };
    return (isWall() ? itemTile : itemRow)(shared, item, isFile ? { onGone: remove } : {});
  };
  const list = longList(entryOf);
  const ask = (at: string, maxResults: number, start: string, cursor?: string) =>
    client.call("media.browse", {
      path: at,
      maxResults,
      ...(start === "" ? {} : { letter: start }),
      cursor: cursor ?? null,
    });
  /** Whether entries of later letters follow those of the letter that was reached. */
  const hasLater = () => reached !== "" && reached !== letters.at(-1);
  /** Further entries wait for it, because the list that they would follow is about to be replaced. */
  const alone = async <Result>(work: () => Promise<Result>) => {
    loads += 1;
    const result = await work().finally(() => {
      loads -= 1;
    });
    watchEnd();
    return result;
  };
  /** Shows the folder of the address. */
  const load = (depth = pageEntries) => alone(() => loadFirst(depth));
  const loadFirst = async (depth: number) => {
    asked += 1;
    const number = asked;
    const at = pathInAddress();
    if (at === undefined) return;
    const start = letter;
    // A folder that had a few entries may have more by now.
    const page = await ask(at, Math.min(Math.max(depth, pageEntries), shownAgainMax), start);
    const names = await namesOf(at);
    const show = await list.prepare(page.entries, {
      isWall: isWall(),
      isSame: path === at && shownLetter === start,
    });
    // A later press may have been answered first.
    if (number !== asked) return;
    for (const one of gone) if (!page.entries.some((entry) => entry.path === one)) gone.delete(one);
    // A reader that writes may have come or gone.
    if (path !== at || !acts.contains(document.activeElement)) showActs(at, names.at(-1) ?? "");
    path = at;
    shownLetter = start;
    reached = start;
    following = page.pagination.nextCursor;
    depths.set(at, page.entries.length);
    const count = page.totalDirs + page.totalFiles;
    strip.hidden = letter === "" && count <= pageEntries;
    for (const one of strip.children)
      one.setAttribute("aria-pressed", String(one.getAttribute("data-letter") === letter));
    const length = page.durationMs === undefined ? "" : lengthText(page.durationMs);
    const facts = [
      names.slice(0, -1).join(" › "),
      count === 0 ? say.nothingHere : say.browsed(at, count),
      length,
    ];
    place.replaceChildren(...named(names.at(-1) ?? "", facts.filter(Boolean).join(" · ")));
    show();
    markSoon();
  };
  const loadMore = async () => {
    const at = path;
    if (loads > 0 || at === undefined || (following === undefined && !hasLater())) return;
    return alone(() => loadFollowing(at));
  };
  const loadFollowing = async (at: string) => {
    const number = asked;
    const start = following === undefined ? (letters[letters.indexOf(reached) + 1] ?? "") : reached;
    const page = await ask(at, pageEntries, start, following);
    // Another folder or letter was chosen meanwhile.
    if (number !== asked) return;
    reached = start;
    following = page.pagination.nextCursor;
    depths.set(at, (depths.get(at) ?? 0) + page.entries.length);
    list.add(page.entries);
    return page.entries[0];
  };
  const more = button(
    say.showMore,
    async () => {
      const first = await loadMore();
      focusOn(await list.reveal((entry) => entry === first));
    },
    { class: "later" },
  );
  const end = new IntersectionObserver(
    (seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) telling(loadMore)();
    },
    { rootMargin: "0px 0px 600px" },
  );
  const watchEnd = () => {
    more.hidden = following === undefined && !hasLater();
    markSoon();
    // After it is observed again, the observer reports once more if it is still in view.
    end.unobserve(more);
    end.observe(more);
  };
  /** The systems by name, and the folders below them. */
  const namesOf = async (at: string): Promise<readonly string[]> => {
    const [id = "", ...below] = at.split("/");
    if (id === "") return [];
    systems ??= client.call("systems");
    const system = (await systems).systems.find((one) => one.id === id);
    return [system?.name ?? id, ...below];
  };
  const showActs = (at: string, name: string) => {
    if (at === "") return acts.replaceChildren();
    const up = at.split("/").slice(0, -1).join("/");
    const script = folderScript(at);
    const item = { name, path: at, facts: "", script };
    acts.replaceChildren(
      el("a", { href: up === "" ? "#library" : folderAddress(up), class: "up" }, `‹ ${say.back}`),
      ...(shared.canPlay && script !== "" ? [playButton(shared, item)] : []),
      ...(shared.canWrite() && script !== "" ? [cardButton(shared, item)] : []),
    );
  };
  const strip = el(
    "div",
    { class: "letters", role: "group", "aria-label": say.startingWith },
    ...letters.map((one) =>
      button(
        one === "" ? say.allLetters : one,
        () => {
          letter = one;
          return load();
        },
        { "data-letter": one },
      ),
    ),
  );
  /** Marks the letter of the entry at the upper edge of the view. */
  const markPlace = () => {
    if (strip.hidden) return;
    const { bottom } = strip.getBoundingClientRect();
    const entry = list.at(Math.max(0, bottom) + placeInsetPx);
    if (entry === undefined) return;
    const here = letterOf(entry.name);
    for (const one of strip.children) {
      const isHere = here !== "" && one.getAttribute("data-letter") === here;
      if (isHere === one.hasAttribute("aria-current")) continue;
      if (isHere) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
      if (isHere && one instanceof HTMLElement)
        strip.scrollTo({ left: one.offsetLeft - strip.offsetLeft - strip.clientWidth / 2 });
    }
  };
  let isMarking = false;
  const markSoon = () => {
    if (isMarking) return;
    isMarking = true;
    setTimeout(async () => {
      // After a drawing all places are known, and a measurement costs no layout.
      await drawn();
      isMarking = false;
      markPlace();
    }, markMs);
  };
  const onScroll = () => {
    // A card outside the document belongs to another screen or to an earlier connection.
    if (!card.isConnected) removeEventListener("scroll", onScroll);
    markSoon();
  };
  const views = viewChoice(() => load(depths.get(path ?? "")));
  /** Shows the folder of the address, or loads the one in view again. */
  const refresh = async () => {
    addEventListener("scroll", onScroll, { passive: true });
    await shared.lookForWriters();
    const left = path;
    const at = pathInAddress();
    // Another screen was chosen meanwhile, and this one refreshes when it is shown again.
    if (at === undefined) return;
    if (left !== undefined && left !== at) return follow(left, at);
    isStale = gone.size === 0 && at !== "" && list.element.contains(document.activeElement);
    if (isStale) return;
    await load(depths.get(at)).catch(upwardsFrom(at));
  };
  /** Follows a press on a folder, or on Back. */
  const follow = async (left: string, at: string) => {
    letter = "";
    const isBack = left === at || left.startsWith(at === "" ? "" : `${at}/`);
    await load(isBack ? depths.get(at) : pageEntries).catch(upwardsFrom(at));
    const next = isBack ? left.slice(at === "" ? 0 : at.length + 1).split("/")[0] : undefined;
    const wanted = at === "" ? next : `${at}/${next}`;
    const entry = (await list.reveal((one) => one.path === wanted)) ?? (await list.reveal(() => true));
    // The layout of the shown rows must not be a part of this task.
    await drawn();
    focusOn(entry ?? acts);
  };
  /** A folder that no longer exists leads to the systems. */
  const upwardsFrom = (at: string) => async (error: unknown) => {
    if (!(error instanceof RpcError) || at === "") throw error;
    // Another folder or screen was chosen meanwhile.
    if (at !== pathInAddress()) return;
    history.replaceState(null, "", "#library");
    await load();
  };
  const catchUp = () => {
    if (isStale && !list.element.contains(document.activeElement)) telling(refresh)();
  };
  // The list is updated a moment later, because the next control gets the focus only after this event.
  list.element.addEventListener("focusout", () => setTimeout(catchUp));
  const where = el("div", { class: "bar where" }, place, views);
  const card = section(say.browse, acts, where, strip, list.element, more);
  return {
    card,
    hears: ["readers.added", "readers.removed"],
    hear({ method, params }) {
      if (method !== "media.indexing" || params.indexing) return;
      systems = undefined;
      telling(refresh)();
    },
    refresh,
  };
}

const placeInsetPx = 24;
/** The interval at which the marked letter follows a scrolling page. */
const markMs = 100;

/** The place of a name in the strip; nothing for a letter that the strip lacks. */
function letterOf(name: string): string {
  const [first = ""] = name.normalize("NFD").toUpperCase();
  if (/[A-Z]/.test(first)) return first;
  if (/\p{N}/u.test(first)) return "0-9";
  return /\p{L}/u.test(first) ? "" : "#";
}

const focusOn = (entry: Element | undefined) => entry?.querySelector<HTMLElement>("a, button")?.focus();

/** Plays a folder as a list; a whole system is only opened. */
const folderScript = (path: string) => (path.includes("/") ? scriptOf(path) : "");

/**
 * The folder that the address names: `SNES/RPG` for `#library/SNES/RPG`; empty for the systems, and undefined for another
 * screen.
 */
function pathInAddress(): string | undefined {
  const [screen, ...folders] = location.hash.split("/");
  if (screen !== "#library") return undefined;
  try {
    return folders.map(decodeURIComponent).join("/");
  } catch {
    return "";
  }
}

const viewIcons = {
  wall: "M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z",
  list: "M5 6h14M5 12h14M5 18h14",
};

const isWall = () => localStorage.getItem(viewKey) !== "list";

/** The buttons that choose between wall and list, which this browser remembers. */
function viewChoice(onChange: () => Promise<unknown>): HTMLElement {
  const choose = (view: "wall" | "list") => {
    const title = view === "list" ? say.list : say.covers;
    const choice = button(
      "",
      () => {
        localStorage.setItem(viewKey, view);
        mark();
        return onChange();
      },
      { "aria-label": title, title, "data-view": view },
    );
    choice.append(icon(viewIcons[view]));
    return choice;
  };
  const choices = [choose("wall"), choose("list")];
  const mark = () => {
    for (const one of choices)
      one.setAttribute("aria-pressed", String((one.dataset.view === "list") !== isWall()));
  };
  mark();
  return el("div", { class: "views", role: "group", "aria-label": say.view }, ...choices);
}
