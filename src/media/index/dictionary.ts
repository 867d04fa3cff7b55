/**
 * The words of all file names, each once, with the files that have it: what a search reads. A word of a query holds no
 * white space, so it stands in a name where it stands in one of the name's words; and there are far fewer words than
 * names. What the shortest queries match is so much that joining the files of all those words takes too long: for these
 * the answer is kept ready.
 */
import { type NameColumn, NumberColumn } from "./columns.ts";
import { ListWriter, type PackedLists } from "./lists.ts";
import { findShortcuts, type Shortcut } from "./short-query-cache.ts";
import { WordTable } from "./word-table.ts";

export interface Dictionary {
  /** Folded words in UTF-8, each with a line feed behind it. */
  readonly words: Uint8Array;
  /** Where each word begins; one more than words. */
  readonly starts: Uint32Array;
  /** The files of each word. */
  readonly files: PackedLists;
  /** The files of each system. */
  readonly systems: PackedLists;
  readonly shortcuts: Iterable<Shortcut>;
}

const space = 0x20;

/** `order` are the places of the names in the column, by number of file; `systemOf` the system of each file. */
export function buildDictionary(
  folded: NameColumn,
  order: Uint32Array,
  systemOf: Uint16Array,
  systems: number,
): Dictionary {
  const { table, ends, wordOf } = splitNames(folded, order);
  const { words, starts } = table.done();
  const files = groupFiles(ends, wordOf, table.count);
  const parts = { words, starts, files };
  const each = order.map((_, file) => file + 1);
  return {
    ...parts,
    systems: groupFiles(each, systemOf, systems),
    shortcuts: findShortcuts(parts, order.length),
  };
}

interface Split {
  readonly table: WordTable;
  /** Where each name's words end in the list below. */
  readonly ends: Uint32Array;
  readonly wordOf: NumberColumn;
}

function splitNames(folded: NameColumn, order: Uint32Array): Split {
  const table = new WordTable();
  const ends = new Uint32Array(order.length);
  const wordOf = new NumberColumn();
  for (let file = 0; file < order.length; file++) {
    const place = order[file] ?? 0;
    const bytes = folded.chunkOf(place);
    const end = folded.endOf(place);
    const first = wordOf.length;
    for (let start = folded.startOf(place), at = start; at <= end; at++) {
      if (at < end && bytes[at] !== space) continue;
      if (at > start) addOnce(wordOf, first, table.place(bytes, start, at));
      start = at + 1;
    }
    ends[file] = wordOf.length;
  }
  return { table, ends, wordOf };
}

function addOnce(list: NumberColumn, from: number, value: number): void {
  for (let at = from; at < list.length; at++) if (list.at(at) === value) return;
  list.add(value);
}

type Groups = Pick<NumberColumn, "length"> & { at(place: number): number | undefined };

/** From the groups of each file to the files of each group, by counting. `ends` is where the groups of each file end. */
function groupFiles(ends: Uint32Array, groupOf: Groups, groups: number): PackedLists {
  const next = countedStarts(groups, groupOf);
  const filesOf = new Uint32Array(groupOf.length);
  for (let file = 0, at = 0; file < ends.length; file++) {
    for (const end = ends[file] ?? 0; at < end; at++) {
      const group = groupOf.at(at) ?? 0;
      const place = next[group] ?? 0;
      filesOf[place] = file;
      next[group] = place + 1;
    }
  }
  // Each group's next place is now where the following group begins.
  const writer = new ListWriter(ends.length);
  for (let group = 0, at = 0; group < groups; group++) {
    for (const end = next[group] ?? 0; at < end; at++) writer.add(filesOf[at] ?? 0);
    writer.end();
  }
  return writer.done();
}

/** Where each group begins when the members of all are laid one behind the other. */
function countedStarts(groups: number, groupOf: Groups): Uint32Array {
  const starts = new Uint32Array(groups + 1);
  for (let at = 0; at < groupOf.length; at++) {
    const after = (groupOf.at(at) ?? 0) + 1;
    starts[after] = (starts[after] ?? 0) + 1;
  }
  for (let group = 1; group <= groups; group++)
    starts[group] = (starts[group] ?? 0) + (starts[group - 1] ?? 0);
  return starts;
}
