/** The start page below the current media: the search, recently played media, favourites, and the systems. */
import { scriptOf } from "../../core/media.ts";
import { symbolOf } from "../../core/system-symbols.ts";
import { el, madeInSlices, section, telling } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import { type Listed, searchBox } from "./search-box.ts";
import { folderAddress, itemRow, itemTile, type LibraryItem, namedBy } from "./tiles.ts";

const recentMax = 12;

export function searchCard(shared: Shared): PageCard {
  const item = ({ name, path, systemName, zapScript, audio }: Listed): LibraryItem => ({
    ...namedBy(name, audio, systemName),
    path,
    script: zapScript,
  });
  let inAddress = "";
  /**
   * Puts the query into the address, so the Back button leads from an entry to the results, and a link to them can be
   * shared.
   */
  const intoAddress = (query: string) => {
    const address = query === "" ? "#now" : `${found}${encodeURIComponent(query)}`;
    if (inAddress === "" && query !== "") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    inAddress = query;
  };
  const { input, parts, search, forget } = searchBox(
    shared.client,
    (found) => itemRow(shared, item(found)),
    (found) => itemRow(shared, { ...item(found), address: folderAddress(found.path) }),
    intoAddress,
  );
  return {
    card: section(shared.canPlay ? say.play : say.search, ...parts),
    hears: ["readers.added", "readers.removed"],
    hear: ({ method, params }) => method === "media.indexing" && !params.indexing && forget(),
    async refresh() {
      forget();
      const query = queryInAddress();
      // A link in the bar of screens leads back to the results that were shown, and Back leads from the results to the start.
      if (query === "" && inAddress !== "" && !before.startsWith("#now"))
        history.replaceState(null, "", `${found}${encodeURIComponent(inAddress)}`);
      else {
        if (query !== inAddress) input.value = query;
        inAddress = query;
      }
      before = location.hash;
      await shared.lookForWriters();
      await search();
    },
  };
}

const found = "#now/find/";

/** The address before the present one. */
let before = location.hash;
addEventListener("hashchange", (event) => {
  if (event instanceof HashChangeEvent) before = new URL(event.oldURL).hash;
});

/** The search that the address names; empty for none. */
function queryInAddress(): string {
  try {
    return location.hash.startsWith(found) ? decodeURIComponent(location.hash.slice(found.length)) : "";
  } catch {
    return "";
  }
}

/** A card of tiles in one line, which scrolls sideways; hidden without tiles. */
function shelf(title: string, shared: Shared, load: () => Promise<readonly LibraryItem[]>) {
  const list = el("ul", { class: "tiles shelf" });
  const card = section(title, list);
  card.hidden = true;
  let shown = "";
  const refresh = async () => {
    const items = await load();
    card.hidden = items.length === 0;
    // Equal tiles stay: their pictures would flash, and the focus would be lost. Their buttons depend on the readers.
    const facts = JSON.stringify([items, shared.canWrite()]);
    if (facts === shown) return;
    shown = facts;
    list.replaceChildren(
      ...(await madeInSlices(items, (item) => itemTile(shared, item, { onFavourite: telling(refresh) }))),
    );
  };
  return { card, refresh };
}

/** The newest plays, each file once. */
export function recentCard(shared: Shared): PageCard {
  const load = async () => {
    // Played media can only be written to a card, so their tiles have no further button if no reader can write.
    await shared.lookForWriters();
    const { entries } = await shared.client.call("media.history", { limit: recentMax, distinctMedia: true });
    return entries
      .filter(({ mediaPath }) => mediaPath !== "")
      .map(({ mediaName, systemName, mediaPath, audio }) => ({
        ...namedBy(mediaName, audio, systemName),
        path: mediaPath,
        script: scriptOf(mediaPath),
      }));
  };
  const hears = ["media.started", "readers.added", "readers.removed"] as const;
  return { ...shelf(say.playedLately, shared, load), hears };
}

export function favouritesCard(shared: Shared): PageCard {
  const load = async () => {
    const { favourites } = await shared.client.call("media.favourites");
    return favourites.map(({ type, name, path, systemName, zapScript }) => ({
      name,
      facts: systemName,
      path,
      script: zapScript,
      ...(type === "directory" && { address: folderAddress(path) }),
    }));
  };
  return shelf(say.favourites, shared, load);
}

export function systemsCard(shared: Shared): PageCard {
  const load = async () => {
    const { entries } = await shared.client.call("media.browse", { path: "" });
    return entries.map(({ name, path, fileCount = 0, systemId, category }) => ({
      name,
      facts: say.files(fileCount),
      symbol: symbolOf(systemId, category),
      path,
      script: "",
      address: folderAddress(path),
    }));
  };
  const { card, refresh } = shelf(say.systems, shared, load);
  return {
    card,
    refresh,
    hear({ method, params }) {
      if (method === "media.indexing" && !params.indexing) telling(refresh)();
    },
  };
}
