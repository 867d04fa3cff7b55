/** Changes of the media folders over the API: uploads with their keys, deletions and moves. The index is updated after them. */
import { constants } from "node:fs";
import { lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, relative } from "node:path";
import type { MethodCaller } from "../../api/connection.ts";
import type { UploadService } from "../../api/services.ts";
import type { Bus } from "../../bus.ts";
import type { Config } from "../../config/shape.ts";
import type { Clock } from "../../core/clock.ts";
import { coded, failed, messageOf, publicError, ServiceError } from "../../core/errors.ts";
import { toHex } from "../../core/hex.ts";
import type { Log } from "../../core/log.ts";
import { extensionOf, type MediaFolders } from "../../core/media.ts";
import { allows } from "../../core/rights.ts";
import { findMediaEntry } from "../../launch/media-file.ts";
import { fsPath } from "../../media/file-names.ts";
import {
  knownSystems,
  systemByFolder,
  systemByName,
  systemOfFile,
  withGuests,
} from "../../media/known-systems.ts";
import { programStartBytes } from "../../media/program-files.ts";
import { indexWhenFree } from "../../media/scan/indexer.ts";
import type { MediaWithSticks } from "../../media/sticks/stick-library.ts";
import { keyBytes, loadPrimitives } from "../../secure/primitives.ts";
import { ForgedFrame, openUpload } from "../../secure/upload-frames.ts";
import { ownPictures } from "./own-pictures.ts";
import { startOf, type Upload } from "./upload-files.ts";
import {
  refuseLinks,
  syncFolder,
  type UploadPlace,
  uploadPlace,
  uploadTarget,
  writeFailure,
} from "./upload-place.ts";
import { refuseContent, refuseName, senderOf } from "./upload-rules.ts";
import { type HeldFile, holdFile, inFolder, openTargetFolder } from "./upload-store.ts";
import { createUploads, refuseOthers } from "./uploads.ts";

interface UploadSources {
  readonly media: Pick<MediaWithSticks, "index" | "bases">;
  /** The media folders, with those of the plugged-in sticks, and the closed places. */
  readonly folders: () => MediaFolders;
  /** The favourites, which keep a file that is moved, and drop a deleted one. */
  readonly favourites: {
    move(path: string, to: string, systemId: string): void;
    remove(path: string): void;
  };
  readonly config: () => Pick<Config, "launchers">;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}

/** The caller that started an upload last, and the key that it got. */
interface Owner {
  readonly key: Uint8Array;
  readonly caller: MethodCaller;
}

export function createUploadService(sources: UploadSources): UploadService & { close(): Promise<void> } {
  const { media, bus, clock, folders, favourites, config } = sources;
  // Sticks are left out, because their owner would miss the file on the device.
  const stated = () => ({ ...folders(), sticks: [] });
  const isIndexed = (root: string) => media.bases().some((base) => base.root === root);
  const uploads = createUploads({ folders: stated, isIndexed, clock });
  const owners = new Map<string, Owner>();
  const tell = createTeller(bus, clock);
  const follow = createFollower(sources);

  const startOne: UploadService["start"] = async (wanted, caller) => {
    refuseName(wanted, caller, config().launchers);
    const upload = await uploads.start({ ...wanted, sender: senderOf(caller) });
    const key = crypto.getRandomValues(new Uint8Array(keyBytes));
    // A start with another size has replaced its upload, or an upload was left for a week.
    for (const id of owners.keys()) if (!uploads.has(id)) owners.delete(id);
    owners.set(upload.id, { key, caller });
    tell(upload, "started");
    return { ...shown(upload), key: toHex(key) };
  };
  return {
    start: startOne,
    async list(caller) {
      const all = await uploads.list();
      const freeBytes = await uploads.freeBytes();
      const by = senderOf(caller);
      return { uploads: all.filter(({ sender }) => by === "" || sender === by).map(shown), freeBytes };
    },
    systems: () =>
      knownSystems().map(({ id, name, folders: names, extensions }) => ({
        id,
        name,
        folders: names,
        extensions,
      })),
    clientOf: (id) => owners.get(id)?.caller.from.client,
    async write({ id, offset, by }, pieces, signal, onBytes) {
      const upload = await uploads.find(id).catch(() => undefined);
      const owner = owners.get(id);
      if (upload === undefined) return { kind: "unknown" };
      if (by !== "sealed") refuseOthers(upload, senderOf(by));
      const note = async function* (bytes: AsyncIterable<Uint8Array>) {
        for await (const piece of bytes) {
          onBytes();
          yield piece;
          tell(upload, "progress");
        }
      };
      try {
        const sound = by === "sealed" ? await opened(owner, id, offset, pieces(signal)) : pieces;
        if (sound === undefined) return { kind: "unknown" };
        const end = await uploads.write(id, offset, (stop) => note(sound(stop)), signal);
        if (end !== undefined) return { kind: "written", offset: end };
        return by === "sealed" ? { kind: "unknown" } : { kind: "elsewhere", offset: upload.offset };
      } catch (error) {
        if (error instanceof ForgedFrame) return { kind: "forged" };
        throw error;
      } finally {
        follow.delay();
      }
    },
    async finish(id, sha256, caller) {
      const asked = await uploads.find(id);
      refuseOthers(asked, senderOf(caller));
      const upload = await uploads.finish(id, sha256, (start) => {
        // The hash of a large file takes minutes, in which its sender may have been revoked.
        if (!allows(caller.grant(), "change"))
          throw publicError("forbidden", "its sender may not send files any more");
        // The launchers may have changed since the start.
        refuseName(asked, caller, config().launchers);
        refuseContent(start, asked.path, caller);
      });
      owners.delete(id);
      tell(upload, "finished");
      follow.changed([upload.system]);
      return { path: `${upload.system}/${upload.path}` };
    },
    async cancel(id, caller) {
      refuseOthers(await uploads.find(id), senderOf(caller));
      const upload = await uploads.cancel(id);
      owners.delete(id);
      tell(upload, "cancelled");
    },
    async remove(path) {
      const found = await located(path, folders());
      await onDisk(async () => {
        await using held = await holdFile(found.name);
        await rm(held.path);
        await syncFolder(held.folder);
      });
      await forPictures(found, sources, ({ path }) => rm(path));
      favourites.remove(path);
      follow.changed([found.host]);
    },
    async move(path, system, caller) {
      const found = await located(path, folders());
      // The target of a link may be relative to its folder.
      if (found.isLink) throw failed(`${path} is a link to another file: move that file`);
      const place = await uploadPlace(
        { system, path: found.below },
        { ...stated(), ...found.near },
        () => false,
      );
      const extension = extensionOf(found.below);
      if (place.system.id === found.host)
        throw coded("upload-name", failed(`this file is in the folder of ${found.host} already`));
      if (systemOfFile(place.system.id, extension)?.extensions.includes(extension) !== true)
        throw coded(
          "upload-not-of-system",
          failed(`${place.system.name} has no ${extension} files, so this one would not be found there`),
        );
      refuseName({ system: place.system.id, path: found.below }, caller, config().launchers);
      await using held = await holdFile(found.name);
      refuseContent(await startOfFile(held.path), found.below, caller);
      await uploads.inTurn(async () => {
        if (await refuseLinks(place))
          throw coded("upload-there", publicError("conflict", `${place.path} is there already`));
        await onDisk(async () => {
          await using folder = await openTargetFolder(place);
          await rename(held.path, inFolder(folder, basename(uploadTarget(place))));
          await syncFolder(inFolder(folder, "."));
          await syncFolder(held.folder);
        });
      });
      await forPictures(found, sources, (held, below) => movePicture(held, { ...place, path: below }));
      const to = `${place.system.id}/${place.path}`;
      favourites.move(path, to, place.system.id);
      follow.changed([found.host, place.system.id]);
      return { path: to };
    },
    async close() {
      follow[Symbol.dispose]();
      await uploads.close();
    },
  };
}

function shown({ id, system, path, size, offset }: Upload) {
  return { id, system, path, size, offset };
}

async function onDisk(change: () => Promise<void>): Promise<void> {
  await change().catch((error: unknown) => {
    throw writeFailure(error);
  });
}

type Opened = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

/**
 * Opens a sealed body. The returned bytes begin after its first frame has been decrypted. Before that, the caller has
 * proved nothing, and must not take over an upload. The result is undefined without a key, or without a frame. Throws
 * `ForgedFrame`.
 */
async function opened(
  owner: Owner | undefined,
  id: string,
  offset: number,
  body: AsyncIterable<Uint8Array>,
): Promise<Opened | undefined> {
  if (owner === undefined || !allows(owner.caller.grant(), "change")) return undefined;
  const frames = openUpload(await loadPrimitives(), { key: owner.key, id }, offset, body);
  const first = await frames.next();
  if (first.done === true) return undefined;
  return async function* pieces() {
    try {
      yield first.value;
      for await (const bytes of frames) {
        if (!allows(owner.caller.grant(), "change")) return;
        yield bytes;
      }
    } finally {
      await frames.return(undefined);
    }
  };
}

const tellMs = 250;

/** Reports starts and ends at once, and the progress at most four times a second. */
function createTeller(bus: Bus, clock: Clock) {
  let emittedMs = Number.NEGATIVE_INFINITY;
  return (upload: Upload, state: "started" | "progress" | "finished" | "cancelled") => {
    if (state === "progress" && Math.abs(clock.now() - emittedMs) < tellMs) return;
    emittedMs = clock.now();
    bus.emit("media.uploading", { ...shown(upload), state });
  };
}

// One run of the index serves all files of a batch. A batch ends with this pause.
const settleMs = 1000;
const settleMsMax = 60_000;

/** Indexes changed systems after a second without a change or a byte, and at the latest after a minute. */
function createFollower({ media, clock, log }: UploadSources) {
  const systems = new Set<string>();
  let firstMs = 0;
  let timer: Disposable | undefined;
  let isOver = false;
  const run = () => {
    const changed = [...systems];
    systems.clear();
    indexWhenFree(media, changed, () => isOver).catch((error: unknown) =>
      log.warn("media", messageOf(error)),
    );
  };
  const delay = () => {
    if (systems.size === 0 || isOver) return;
    timer?.[Symbol.dispose]();
    const leftMs = Math.max(0, firstMs + settleMsMax - clock.now());
    timer = clock.after(Math.min(settleMs, leftMs), run);
  };
  return {
    delay,
    /** Takes the ids of systems whose folders have changed. */
    changed(hosts: readonly string[]) {
      if (systems.size === 0) firstMs = clock.now();
      for (const host of hosts) for (const id of withGuests(host)) systems.add(id);
      delay();
    },
    [Symbol.dispose]() {
      isOver = true;
      timer?.[Symbol.dispose]();
    },
  };
}

/**
 * Deletes or moves the pictures of a file that was deleted or moved; `below` is the path in the folder of the system. A
 * failure is logged, because the file itself is done.
 */
async function forPictures(
  { real, host }: { readonly real: string | undefined; readonly host: string },
  { folders, log }: Pick<UploadSources, "folders" | "log">,
  act: (held: HeldFile, below: string) => Promise<void>,
): Promise<void> {
  if (real === undefined) return;
  try {
    const { top, pictures } = await ownPictures(real, folders(), host);
    for (const path of pictures) {
      await using held = await holdFile(path);
      await act(held, relative(top, path));
      await syncFolder(held.folder);
    }
  } catch (error) {
    log.warn("media", "a picture of a deleted or moved file stays", { file: real, why: messageOf(error) });
  }
}

/** Moves a picture to its place at another system, unless it would be media of that system, or replace a file. */
async function movePicture(held: HeldFile, place: UploadPlace): Promise<void> {
  const extension = extensionOf(place.path);
  if (systemOfFile(place.system.id, extension)?.extensions.includes(extension) === true) return;
  if (await refuseLinks(place)) return;
  await using folder = await openTargetFolder(place);
  await rename(held.path, inFolder(folder, basename(uploadTarget(place))));
  await syncFolder(inFolder(folder, "."));
}

/**
 * A media file, or a link to one: its path if that is valid Unicode, its system's folder, its path below that, and the
 * media folder that both are in.
 */
async function located(path: string, folders: MediaFolders) {
  const file = await findMediaEntry(path, folders).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === "failed"
      ? new ServiceError("not-found", messageOf(error), { cause: error })
      : error;
  });
  const name = fsPath(file.bytes ?? file.path);
  const real = typeof name === "string" ? name : undefined;
  // A link may lead nowhere, or to itself.
  const target = await stat(name).catch(() => undefined);
  if (target === undefined) throw new ServiceError("not-found", `${path} leads to no file`);
  if (!target.isFile()) throw failed(`${path} is a folder: name a file`);
  const isLink = (await lstat(name)).isSymbolicLink();
  for (const { system, folder } of folders.own) {
    const below = await pathBelow(folder, file.path);
    const host = systemByName(system)?.id;
    if (below !== undefined && host !== undefined) return { name, real, isLink, host, below, near: {} };
  }
  for (const root of [...folders.roots, ...(folders.sticks ?? [])]) {
    const [first = "", ...names] = (await pathBelow(root, file.path))?.split("/") ?? [];
    const host = systemByFolder(first)?.id;
    if (host !== undefined && names.length > 0)
      return { name, real, isLink, host, below: names.join("/"), near: { roots: [root], own: [] } };
  }
  throw failed(`${path} is not in the folder of a system`);
}

async function startOfFile(name: string | Buffer): Promise<Uint8Array> {
  // With O_NONBLOCK, a FIFO that comes into the place of the file does not block.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using file = await open(name, flags);
  return await startOf(file, programStartBytes);
}

async function pathBelow(folder: string, path: string): Promise<string | undefined> {
  const below = relative(await realpath(folder).catch(() => folder), path);
  return below === "" || below.startsWith("../") || below === ".." ? undefined : below;
}
