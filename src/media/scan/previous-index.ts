/**
 * What the old index knows of folders that are not there now: a drive that is unplugged comes back, and what was on it is to
 * be found at once then.
 */
import type { MediaIndexFile } from "../../store/media-index-file.ts";
import { exactText } from "../names.ts";
import { type Found, type FoundBase, markKeyOf } from "./scan-result.ts";

export interface Known {
  /** The systems' folders that were found in a media folder, or as the folder of one system. */
  basesIn(root: string): readonly FoundBase[];
  /** Adds the files of a system's folder, of the asked systems, as they were found last. With none asked for, of all. */
  keep(base: FoundBase, found: Found, asked: ReadonlySet<string>): void;
}

export const nothingKnown: Known = { basesIn: () => [], keep() {} };

/** Reads `old` when it is asked. */
export function knownOf(old: MediaIndexFile): Known {
  return {
    basesIn: (root) => old.bases().filter((base) => base.root === root),
    keep(base, found, asked) {
      const place = found.base(base);
      const systems = old.systems.map(({ id, fingerprint }) => {
        const mark =
          asked.size === 0 || asked.has(id) ? marksIn(fingerprint).get(markKeyOf(base)) : undefined;
        if (mark === undefined) return undefined;
        const system = found.system(id);
        found.keepMark(system, place, mark);
        return system;
      });
      const folders = new Map<string, number>();
      for (const { system, path, name } of old.filesBelow(base.path)) {
        const to = systems[system];
        if (to === undefined) continue;
        const key = exactText(path);
        const folder = folders.get(key) ?? found.folder(base.path, path);
        folders.set(key, folder);
        found.file(name, folder, to);
      }
    },
  };
}

/** A fingerprint, taken apart into its marks by folder. */
function marksIn(fingerprint: string): ReadonlyMap<string, string> {
  const marks: readonly (readonly [string, string])[] = JSON.parse(fingerprint);
  return new Map(marks);
}
