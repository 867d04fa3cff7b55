/**
 * A boot partition and two slots on a card whose power can be cut between any two steps of an update, and within a write.
 * After a cut, some of the unsynced changes are on the card: each name and each write independently, and possibly only
 * the first bytes of a write. This is stricter than FAT, which changes names in the order in which they were written.
 */

import type { BootSlot } from "../../src/update/boot-control.ts";
import type { BootFiles, OpenFile, RootPartition } from "../../src/update/disk.ts";

export class PowerCut extends Error {
  override readonly name = "PowerCut";
}

export interface CuttableCard {
  readonly files: BootFiles;
  root(slot: BootSlot): RootPartition;
  /** Writes a slot's partition in a few steps, without a sync. */
  writeRoot(slot: BootSlot, bytes: Uint8Array): Promise<void>;
  /** Cuts the power at the step with this number; the first is 0. */
  cutAt(step: number): void;
  /** The number of steps since the card was made. */
  readonly steps: number;
  /** Restores the power. `random` (0 up to 1) decides which unsynced changes are on the card. */
  powerCycle(random: () => number): void;
  /** The present content of a file. */
  textOf(path: string): string | undefined;
  put(path: string, bytes: Uint8Array): void;
  rootBytes(slot: BootSlot): Uint8Array;
  /** Writes a slot's first content. */
  putRoot(slot: BootSlot, bytes: Uint8Array): void;
}

interface Content {
  safe: Uint8Array;
  now: Uint8Array;
  readonly pending: { readonly at: number; readonly bytes: Uint8Array }[];
}

type NameChange = { readonly path: string; readonly content: Content | undefined };

/** Makes the card. With `syncs` false it ignores every sync, so a test can prove that the tests notice this. */
export function createCard(rootBytesMax: number, { syncs = true } = {}): CuttableCard {
  let names = new Map<string, Content>();
  const safeNames = new Map<string, Content>();
  let changes: NameChange[] = [];
  const roots = { a: contentOf(new Uint8Array(rootBytesMax)), b: contentOf(new Uint8Array(rootBytesMax)) };
  let steps = 0;
  let fuse = Number.POSITIVE_INFINITY;

  /** True if the power is cut within this step. */
  const step = () => {
    steps++;
    if (fuse < 0) throw new PowerCut();
    return fuse-- === 0;
  };
  const after = (isCut: boolean) => {
    if (isCut) throw new PowerCut();
  };
  const rename = (path: string, content: Content | undefined) => {
    if (content === undefined) names.delete(path);
    else names.set(path, content);
    changes.push({ path, content });
  };
  const openFile = (content: Content, from: number): OpenFile => {
    let at = from;
    return {
      async write(bytes) {
        const isCut = step();
        const write = { at, bytes: bytes.slice() };
        apply(content, write.at, write.bytes);
        content.pending.push(write);
        at += bytes.length;
        after(isCut);
      },
      async sync() {
        const isCut = step();
        // A cut within the step leaves a part of the change, or nothing, as a cut before the step does.
        if (isCut) throw new PowerCut();
        if (syncs) settle(content);
      },
      close: async () => {},
    };
  };
  const files: BootFiles = {
    read: async (path) => names.get(path)?.now.slice(),
    list: async (folder) =>
      [...names]
        .filter(([path]) => path.startsWith(folder))
        .map(([path, { now }]) => ({ path, bytes: now.length })),
    makeFolder: async () => {},
    freeBytes: async () => 16 * 1024 * 1024,
    async create(path) {
      const isCut = step();
      const content = contentOf(new Uint8Array());
      rename(path, content);
      after(isCut);
      return openFile(content, 0);
    },
    async rename(from, to) {
      const isCut = step();
      const content = names.get(from);
      if (content === undefined) throw new Error(`there is no ${from}`);
      rename(to, content);
      rename(from, undefined);
      after(isCut);
    },
    async remove(path) {
      const isCut = step();
      rename(path, undefined);
      after(isCut);
    },
    async syncFolder(folder) {
      if (step()) throw new PowerCut();
      if (!syncs) return;
      const isHere = ({ path }: NameChange) => path.slice(0, path.lastIndexOf("/") + 1) === folder;
      for (const change of changes.filter(isHere)) applyName(safeNames, change);
      changes = changes.filter((change) => !isHere(change));
    },
    async *chunks(path) {
      yield names.get(path)?.now.slice() ?? new Uint8Array();
    },
  };
  return {
    files,
    root: (slot) => ({
      bytes: rootBytesMax,
      sync: () => openFile(roots[slot], 0).sync(),
      async *chunks(bytes) {
        yield roots[slot].now.slice(0, bytes);
      },
    }),
    async writeRoot(slot, bytes) {
      const file = openFile(roots[slot], 0);
      const part = Math.ceil(bytes.length / 4);
      for (let at = 0; at < bytes.length; at += part) await file.write(bytes.subarray(at, at + part));
    },
    cutAt(number) {
      fuse = number;
    },
    get steps() {
      return steps;
    },
    powerCycle(random) {
      for (const change of changes) if (random() < 0.5) applyName(safeNames, change);
      changes = [];
      for (const content of new Set([...names.values(), ...safeNames.values(), roots.a, roots.b]))
        tear(content, random);
      names = new Map(safeNames);
      fuse = Number.POSITIVE_INFINITY;
    },
    textOf: (path) => {
      const content = names.get(path);
      return content === undefined ? undefined : new TextDecoder().decode(content.now);
    },
    put(path, bytes) {
      const content = contentOf(bytes.slice());
      names.set(path, content);
      safeNames.set(path, content);
    },
    rootBytes: (slot) => roots[slot].now,
    putRoot(slot, bytes) {
      apply(roots[slot], 0, bytes);
      settle(roots[slot]);
    },
  };
}

function contentOf(bytes: Uint8Array): Content {
  return { safe: bytes, now: bytes.slice(), pending: [] };
}

function apply(content: Content, at: number, bytes: Uint8Array): void {
  const grown = new Uint8Array(Math.max(content.now.length, at + bytes.length));
  grown.set(content.now);
  grown.set(bytes, at);
  content.now = grown;
}

function settle(content: Content): void {
  content.safe = content.now.slice();
  content.pending.length = 0;
}

function tear(content: Content, random: () => number): void {
  const pending = content.pending.splice(0);
  content.now = content.safe;
  for (const { at, bytes } of pending) {
    const kept = random() < 0.4 ? bytes.length : Math.floor(random() * bytes.length);
    apply(content, at, bytes.slice(0, kept));
  }
  content.safe = content.now.slice();
}

function applyName(into: Map<string, Content>, { path, content }: NameChange): void {
  if (content === undefined) into.delete(path);
  else into.set(path, content);
}
