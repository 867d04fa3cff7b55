/** Adds media: files and folders by drag and drop or a picker, with progress. The system follows from folder or extension. */
import { deferred } from "../../client/link.ts";
import type { UploadSource } from "../../client/upload.ts";
import { button, el, named, section, telling } from "./dom.ts";
import { bytesOf } from "./local-forms.ts";
import { say } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";
import {
  coverPlace,
  endingOf,
  isLoosePicture,
  placeOf,
  systemsFor,
  type UploadSystem,
} from "./upload-guess.ts";
import { type UploadJob, uploadQueue } from "./upload-queue.ts";

/** A chosen file, and its path from the chosen folder on. */
interface Chosen {
  readonly file: File;
  readonly path: string;
}

const rowsMax = 20;
const guessesMax = 3;
const drawMs = 200;

export function uploadCard({ client }: Shared): PageCard {
  let systems: readonly UploadSystem[] = [];
  /** Resolves when the systems are loaded: without them, every file would be asked about. */
  const loaded = deferred<void>();
  /** Ids of systems with media in the library. */
  let used: readonly string[] = [];
  /** Files of no known system. */
  let unknown: readonly Chosen[] = [];
  let isDrawing = false;
  const system = el("select", { "aria-label": say.upload.system });
  const free = el("p", { class: "more" });
  const status = el("p", { role: "status" });
  const asked = el("div");
  const bar = el("progress", { "aria-label": say.upload.progress });
  const list = el("ul", { class: "rows" });
  const left = el("p", { class: "more" });
  const discard = button(say.upload.discard, async () => {
    for (const { id } of await unfinished()) await client.call("uploads.cancel", { id });
    await refresh();
  });
  const stop = button(say.upload.stop, async () => uploadQueue.stop());
  const replace = button("", async () => {
    const there = uploadQueue.jobs().filter(({ state }) => state === "there");
    uploadQueue.add(there.map(({ source }) => ({ ...source, replace: true })));
  });

  const unfinished = async () => {
    const { uploads, freeBytes } = await client.call("uploads");
    free.textContent = say.upload.free(bytesOf(freeBytes));
    const mine = new Set(uploadQueue.jobs().map(({ source }) => `${source.system}/${source.path}`));
    return uploads.filter((one) => !uploadQueue.isBusy() || !mine.has(`${one.system}/${one.path}`));
  };
  const send = () => {
    const sources: UploadSource[] = [];
    const rest: Chosen[] = [];
    for (const one of unknown) {
      const at = placeOf(one.path, systems, system.value);
      if (at === undefined) rest.push(one);
      else sources.push({ ...at, file: one.file });
    }
    unknown = rest;
    if (sources.length > 0) uploadQueue.add(sources);
    draw();
  };
  const take = async (chosen: readonly Chosen[]) => {
    await loaded.promise;
    const wanted = chosen.filter(({ path }) => !isJunk(path));
    const isCover = ({ path }: Chosen) => system.value === "" && isLoosePicture(path, systems);
    unknown = [...unknown, ...wanted.filter((one) => !isCover(one))];
    const placed = unknown.flatMap(({ path }) => placeOf(path, systems, system.value) ?? []);
    send();
    for (const one of wanted.filter(isCover)) {
      const at = await coverPlace(client, one.path, placed);
      if (at === undefined) unknown = [...unknown, one];
      else uploadQueue.add([{ ...at, file: one.file }]);
    }
    send();
  };
  const choose = (chosen: readonly Chosen[]) => telling(() => take(chosen))();
  /** A line for each kind of file that no system is known for, with the likeliest systems. */
  const questions = () =>
    [...Map.groupBy(unknown, ({ path }) => endingOf(path))].map(([ending, files]) => {
      const guesses = systemsFor(ending, systems, used).slice(0, guessesMax);
      const answer = (id: string) => async () => {
        unknown = unknown.filter((one) => !files.includes(one));
        uploadQueue.add(files.map(({ path, file }) => ({ system: id, path, file })));
        draw();
      };
      const buttons = guesses.map(({ id, name }) => button(name, answer(id)));
      const what = el("span", { class: "more" }, `${files.length} × ${ending || files[0]?.path}`);
      return el("div", { class: "bar later" }, what, ...buttons);
    });
  system.addEventListener("change", send);

  const draw = () => {
    isDrawing = false;
    const jobs = uploadQueue.jobs();
    const isBusy = uploadQueue.isBusy();
    const sizes = jobs.map(({ source }) => source.file.size);
    const sent = jobs.reduce((sum, job) => sum + sentOf(job), 0);
    const size = sizes.reduce((sum, one) => sum + one, 0);
    const done = jobs.filter(({ state }) => state !== "waiting" && state !== "sending").length;
    const there = jobs.filter(({ state }) => state === "there").length;
    const arrived = jobs.filter(({ state }) => state === "done").length;
    bar.max = size || 1;
    bar.value = sent;
    bar.hidden = stop.hidden = !isBusy;
    replace.hidden = isBusy || there === 0;
    replace.textContent = say.upload.replace(there);
    const facts = isBusy
      ? say.upload.sent(done, jobs.length, bytesOf(sent), bytesOf(size))
      : jobs.length > 0
        ? say.upload.arrived(arrived)
        : "";
    asked.replaceChildren(...questions());
    status.textContent = unknown.length > 0 ? `${facts} ${say.upload.unknown(unknown.length)}`.trim() : facts;
    const order = ["failed", "sending", "there"];
    const rows = jobs
      .filter(({ state }) => order.includes(state))
      .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
      .slice(0, rowsMax);
    list.replaceChildren(...rows.map(rowOf));
  };
  let wasBusy = false;
  const changed = () => {
    if (!isDrawing) setTimeout(draw, drawMs);
    isDrawing = true;
    if (wasBusy && !uploadQueue.isBusy()) telling(refresh)();
    wasBusy = uploadQueue.isBusy();
  };
  const refresh = async () => {
    uploadQueue.attach(client, changed);
    if (systems.length === 0) {
      const known = await client.call("uploads.systems");
      used = (await client.call("systems")).systems.map(({ id }) => id);
      ({ systems } = known);
      const byName = [...systems].sort((a, b) => a.name.localeCompare(b.name));
      system.replaceChildren(
        el("option", { value: "" }, say.upload.automatic),
        ...byName.map(({ id, name }) => el("option", { value: id }, name)),
      );
      loaded.resolve();
    }
    const others = await unfinished();
    left.textContent = others.length === 0 ? "" : say.upload.unfinished(others.length);
    discard.hidden = others.length === 0;
    draw();
  };

  const files = picker({ multiple: "" }, choose);
  const folder = picker({ webkitdirectory: "" }, choose);
  const card = section(
    say.upload.title,
    el("p", { class: "more" }, say.upload.drop),
    el(
      "div",
      { class: "bar" },
      button(say.upload.files, async () => files.click(), { class: "main" }),
      button(say.upload.folder, async () => folder.click()),
    ),
    ...[files, folder],
    el("div", { class: "own" }, el("label", {}, say.upload.system, system)),
    ...[status, asked, bar, el("div", { class: "bar" }, stop, replace), list, left, discard, free],
  );
  for (const hidden of [bar, stop, replace, discard, files, folder]) hidden.hidden = true;
  takeDrops(card, choose);
  return {
    card,
    refresh,
    hear({ method, params }) {
      const isOthers = method === "media.uploading" && params.state !== "progress" && !uploadQueue.isBusy();
      if (isOthers || (method === "media.indexing" && !params.indexing)) telling(refresh)();
    },
  };
}

function sentOf({ state, sentBytes, source }: UploadJob): number {
  return state === "waiting" || state === "sending" ? sentBytes : source.file.size;
}

function rowOf({ source, state, sentBytes, why }: UploadJob): HTMLElement {
  const facts = {
    waiting: say.upload.waiting,
    sending: `${bytesOf(sentBytes)} / ${bytesOf(source.file.size)}`,
    done: "✓",
    there: say.upload.thereAlready,
    failed: why,
  }[state];
  return el(
    "li",
    {},
    el("span", {}, ...named(`${source.system} · ${source.path}`, facts, state === "failed")),
  );
}

/** Files that systems of computers leave in folders. */
function isJunk(path: string): boolean {
  return path.split("/").some((name) => name.startsWith(".") || /^(thumbs\.db|desktop\.ini)$/i.test(name));
}

function picker(kind: Readonly<Record<string, string>>, choose: (chosen: readonly Chosen[]) => void) {
  const input = el("input", { type: "file", ...kind });
  input.addEventListener("change", () => {
    choose([...(input.files ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    // The same files may be chosen again.
    input.value = "";
  });
  return input;
}

/** Ignores files that are dropped beside the card. The browser would open them in place of the page, or in another tab. */
export function ignoreStrayFiles(): void {
  document.addEventListener("dragover", (event) => {
    const { dataTransfer } = event;
    if (event.defaultPrevented || !dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    dataTransfer.dropEffect = "none";
  });
}

function takeDrops(card: HTMLElement, choose: (chosen: readonly Chosen[]) => void): void {
  const mark = (isOver: boolean) => card.classList.toggle("new", isOver);
  card.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  card.addEventListener("dragleave", () => mark(false));
  card.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    const entries = [...(event.dataTransfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry() ?? []);
    telling(async () => choose((await Promise.all(entries.map(filesBelow))).flat()))();
  });
}

async function filesBelow(entry: FileSystemEntry): Promise<readonly Chosen[]> {
  const path = entry.fullPath.replace(/^\//, "");
  if (isFile(entry))
    return [{ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) }];
  if (!isDirectory(entry)) return [];
  const reader = entry.createReader();
  const found: Chosen[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    for (const one of some) found.push(...(await filesBelow(one)));
  }
}

// Chromium has no constructors of these names, so `instanceof` throws there.
const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isDirectory = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
