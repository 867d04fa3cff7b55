/** The index of a file, opened for searches: the dictionary in memory, names and stored answers from the file. */
import { join } from "node:path";
import { nextTurn } from "../../core/long-lists.ts";
import { IndexDamage, type MediaIndexFile, openMediaIndex } from "../../store/media-index-file.ts";
import { openTags, type TagFile } from "../../store/tag-file.ts";
import { foldedName } from "./fold.ts";
import { createSearch, firstFrom, type IndexQuery, type SearchHits, type SearchSource } from "./search.ts";

/** The path of an index in the data folder; without a name, that of the media folders. */
export function indexPath(folder: string, name = "media.db"): string {
  return join(folder, name);
}

export interface LoadedIndex extends MediaIndexFile {
  /** The ids of systems, by place. */
  readonly systemIds: readonly string[];
  /** The tags of audio files; undefined if no tags were read. */
  readonly tags: TagFile | undefined;
  /** Ids of the systems with files. */
  readonly usedSystemIds: readonly string[];
  search(asked: IndexQuery): SearchHits;
  /** The same as `firstFrom` of `search.ts`. */
  firstFrom(key: Uint8Array): number;
}

/** Opens the index in steps of at most 256 KiB; undefined if there is none. Throws `IndexDamage` if it must be made again. */
export function* openIndex(path: string): Generator<void, LoadedIndex | undefined, void> {
  const file = openMediaIndex(path);
  if (file === undefined) return undefined;
  let index: LoadedIndex | undefined;
  try {
    index = yield* read(file, path);
    return index;
  } finally {
    // The file is closed after a fault, or if the caller stops before the end.
    if (index === undefined) file.close();
  }
}

function* read(file: MediaIndexFile, path: string): Generator<void, LoadedIndex, void> {
  const source: SearchSource = {
    count: file.count,
    words: yield* file.piece("words"),
    starts: numbers(yield* file.piece("starts")),
    files: { bytes: yield* file.piece("lists"), starts: numbers(yield* file.piece("list-starts")) },
    systems: { bytes: yield* file.piece("systems"), starts: numbers(yield* file.piece("system-starts")) },
    name: (number) => foldedName(file.name(number)),
    shortcut: file.shortcut,
  };
  const { starts } = source.systems;
  const systemIds = file.systems.map(({ id }) => id);
  const usedSystemIds = systemIds.filter((_, at) => (starts[at + 1] ?? 0) > (starts[at] ?? 0));
  const tags = openTags(path);
  const close = () => {
    tags?.close();
    file.close();
  };
  return {
    ...file,
    close,
    tags,
    systemIds,
    usedSystemIds,
    search: createSearch(source),
    firstFrom: (key) => firstFrom(source, key),
  };
}

function numbers(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** The index in use, replaced by a newer one in short steps. */
export type IndexHolder = ReturnType<typeof holdIndex>;

/** A slice is short, so a heartbeat is answered within 5 ms. */
const sliceMs = 2;

/** Begins to read the index at `path`. Calls `onDamage` after dropping a damaged index. `now` is monotonic. */
export function holdIndex(
  path: string,
  onDamage: (why: string) => void,
  now: () => number = () => performance.now(),
) {
  let index: LoadedIndex | undefined;
  let reading: ReturnType<typeof openIndex> | undefined = openIndex(path);

  const giveUp = (error: unknown) => {
    if (!(error instanceof IndexDamage)) throw error;
    index?.close();
    index = undefined;
    onDamage(error.message);
  };
  /** Makes one step of a reading. Returns true at its end. */
  const step = (of: NonNullable<typeof reading>): boolean => {
    try {
      const { done, value } = of.next();
      if (!done) return false;
      index?.close();
      index = value;
    } catch (error) {
      giveUp(error);
    }
    return true;
  };
  const readOn = async (of: NonNullable<typeof reading>) => {
    while (reading === of) {
      await nextTurn();
      if (reading === of && step(of)) reading = undefined;
    }
    // A reading that a newer one replaced closes its file.
    of.return(undefined);
  };
  const current = () => {
    const first = reading;
    while (index === undefined && reading !== undefined)
      if (step(reading) && reading === first) reading = undefined;
    return index;
  };
  void readOn(reading);

  return {
    /** The index in use; undefined if there is none. The first call finishes the reading. */
    current,
    /** Runs `ask` on the index in use; undefined if there is none, or if it is damaged. */
    use<T>(ask: (index: LoadedIndex) => T): T | undefined {
      const held = current();
      try {
        return held && ask(held);
      } catch (error) {
        giveUp(error);
        return undefined;
      }
    },
    /** Like `use`, with a pause after each 2 ms. It starts again if the index in use is replaced meanwhile. */
    async walk<T>(ask: (index: LoadedIndex) => Generator<void, T, void>): Promise<T | undefined> {
      for (;;) {
        const held = current();
        if (held === undefined) return undefined;
        const steps = ask(held);
        try {
          for (let startedMs = now(); index === held; ) {
            const { done, value } = steps.next();
            if (done) return value;
            if (now() - startedMs < sliceMs) continue;
            await nextTurn();
            startedMs = now();
          }
        } catch (error) {
          giveUp(error);
          return undefined;
        }
      }
    },
    /** Reads the new index of the file in steps, and then uses it. */
    renew(): Promise<void> {
      reading = openIndex(path);
      return readOn(reading);
    },
    close(): void {
      reading = undefined;
      index?.close();
      index = undefined;
    },
  };
}
