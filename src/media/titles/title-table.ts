/**
 * The titles of an index by system and length of their keys: where a title is looked for, and what is looked through for
 * one that is spelt nearly so. Keys of one length stand side by side without separators.
 */
import type { StoredTitles } from "../../store/media-index-file.ts";
import { type NameColumn, NameColumn as Names, NumberColumn } from "../index/columns.ts";
import { keyBytesMax, keysOf } from "./title-key.ts";
import { signatureOf } from "./title-slips.ts";

/** Titles of one piece of the table, which is one step of a search. */
export const titlesPerPiece = 256;

const lengths = keyBytesMax + 1;

/** `order` are the places of the names in the column, by number of file; `systemOf` the system of each file. */
export function* buildTitles(
  folded: NameColumn,
  order: Uint32Array,
  systemOf: (file: number) => number,
): Generator<StoredTitles> {
  const keys = new Names();
  const [groupOf, fileOf] = [new NumberColumn(), new NumberColumn()];
  let groups = 0;
  const add = (key: Uint8Array, file: number, isPlain: boolean) => {
    if (key.length === 0) return;
    const group = (systemOf(file) * 2 + (isPlain ? 1 : 0)) * lengths + key.length;
    groups = Math.max(groups, group + 1);
    keys.addBytes(key, 0, key.length);
    groupOf.add(group);
    fileOf.add(file);
  };
  for (let file = 0; file < order.length; file++) {
    const { key, plain } = keysOf(folded, order[file] ?? 0);
    add(key, file, false);
    if (plain !== undefined) add(plain, file, true);
  }
  const { members, starts } = grouped(groupOf, groups);
  for (let group = 0; group < groups; group++) {
    const end = starts[group + 1] ?? 0;
    for (let at = starts[group] ?? 0; at < end; at += titlesPerPiece) {
      const piece = members.subarray(at, Math.min(end, at + titlesPerPiece));
      yield packed(group, piece, keys, fileOf);
    }
  }
}

function packed(group: number, members: Uint32Array, keys: NameColumn, fileOf: NumberColumn): StoredTitles {
  const length = group % lengths;
  const [system, isPlain] = [Math.floor(group / lengths / 2), Math.floor(group / lengths) % 2 === 1];
  const text = new Uint8Array(members.length * length);
  const [files, signatures] = [new Uint32Array(members.length), new Uint32Array(members.length)];
  for (const [at, member] of members.entries()) {
    const [chunk, start] = [keys.chunkOf(member), keys.startOf(member)];
    for (let byte = 0; byte < length; byte++) text[at * length + byte] = chunk[start + byte] ?? 0;
    files[at] = fileOf.at(member);
    signatures[at] = signatureOf(text, at * length, (at + 1) * length);
  }
  return { system, isPlain, length, keys: text, files, signatures };
}

/** The members of each group, in their order, by counting. */
function grouped(groupOf: NumberColumn, groups: number) {
  const starts = new Uint32Array(groups + 1);
  for (let at = 0; at < groupOf.length; at++) {
    const after = groupOf.at(at) + 1;
    starts[after] = (starts[after] ?? 0) + 1;
  }
  for (let group = 1; group <= groups; group++)
    starts[group] = (starts[group] ?? 0) + (starts[group - 1] ?? 0);
  const members = new Uint32Array(groupOf.length);
  const next = starts.slice();
  for (let at = 0; at < groupOf.length; at++) {
    const place = next[groupOf.at(at)] ?? 0;
    members[place] = at;
    next[groupOf.at(at)] = place + 1;
  }
  return { members, starts };
}
