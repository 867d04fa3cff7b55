// Covers: src/media/titles, src/media/index/answers.ts.
import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { titleCharsMax } from "../../../../src/core/limits.ts";
import { findTitle } from "../../../../src/media/index/answers.ts";
import { NameColumn } from "../../../../src/media/index/columns.ts";
import { addFolded } from "../../../../src/media/index/fold.ts";
import { buildMediaIndex, titlesPerPiece } from "../../../../src/media/index/index-build.ts";
import { holdIndex, indexPath } from "../../../../src/media/index/index-file.ts";
import { ScanResult } from "../../../../src/media/scan/scan-result.ts";
import {
  keysOf,
  mayBeNear,
  plainTitleKey,
  signatureOf,
  slipsBetween,
  titleKey,
  titleKeyBytes,
} from "../../../../src/media/titles/title-key.ts";
import { chooseTitle } from "../../../../src/media/titles/titles.ts";
import { defaultConfig } from "../../../helpers/defaults.ts";

const { prefer } = defaultConfig.systems;

const pieces = fc.constantFrom(
  ..."The the A an Of and & Final Fantasy Fantsy Super Mario World X XIII ii II iv V v 2 64 '94 Yoshi's é ドラ ß - , . ( [ (USA) [!]".split(
    " ",
  ),
);
const anyName = fc.oneof(
  fc
    .array(fc.tuple(pieces, fc.constantFrom(" ", "", "  ")), { minLength: 1, maxLength: 7 })
    .map((list) => list.flat().join("")),
  fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 20 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
);
const fileOf = (name: string) => `${name.toWellFormed().replace(/[/\0]/g, "_")}.sfc`;

test("the keys of the index, made of bytes, are those of the same titles as text", () => {
  fc.assert(
    fc.property(anyName, (name) => {
      const [names, folded] = [new NameColumn(), new NameColumn()];
      addFolded(folded, names, names.add(fileOf(name)));
      const { key, plain } = keysOf(folded, 0);
      const stem = folded.text(0);
      expect([...key]).toEqual([...titleKeyBytes(titleKey(stem))]);
      expect([...(plain ?? key)]).toEqual([...titleKeyBytes(plainTitleKey(stem))]);
    }),
    { numRuns: 2000 },
  );
});

/** The textbook's whole table. */
function distanceOf(a: Uint8Array, b: Uint8Array): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number) => table[i]?.[j] ?? 0;
  for (let j = 1; j <= b.length; j++) table[0]?.push(j);
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++)
      table[i]?.push(
        Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
  return at(a.length, b.length);
}

test("slips are counted as the textbook does, and the first look passes over nothing near", () => {
  const anyKey = fc
    .string({ unit: fc.constantFrom("a", "b", "c", "z", "7", "é"), maxLength: 24 })
    .map(titleKeyBytes);
  fc.assert(
    fc.property(anyKey, anyKey, fc.nat(6), (a, b, most) => {
      const distance = distanceOf(a, b);
      expect(slipsBetween(a, b, most)).toBe(Math.min(distance, most + 1));
      const digits = (key: Uint8Array) => key.filter((byte) => byte === 0x37).length;
      const [one, other] = [signatureOf(a, 0, a.length), signatureOf(b, 0, b.length)];
      if (distance <= most && digits(a) === digits(b)) expect(mayBeNear(one, other, most)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

/** An index on the disk with these names, all of one system, without any files. */
function indexOf(names: Iterable<string>) {
  const folder = mkdtempSync(join(tmpdir(), "tapdeck-titles-"));
  const found = new ScanResult();
  const [system, place] = [found.system("SNES"), found.folder("/media/SNES", "")];
  for (const name of names) found.file(fileOf(name), place, system);
  buildMediaIndex(indexPath(folder), found);
  return {
    path: indexPath(folder),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

test("the index finds the same files for a title as a look at all its files", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(anyName, { minLength: 1, maxLength: 20 }),
      anyName,
      async (names, wanted) => {
        using index = indexOf(names);
        const holder = holdIndex(index.path, () => {});
        const all = holder.use((held) =>
          held.places(held.search({ words: [], systems: [0], maxResults: 99 }).files),
        );
        const stems = (all ?? []).map(({ name }) => String(name).slice(0, -4));
        const expected = chooseTitle(wanted, stems, prefer);
        const found = await holder.walk((held) => findTitle(held, "SNES", wanted, prefer));
        expect(found?.media.name).toBe(expected && stems[expected.place]);
        expect(found?.rivals).toBe(expected?.rivals);
        holder.close();
      },
    ),
    { numRuns: 60 },
  );
});

describe("in a system of 40,000 titles", () => {
  const count = 40_000;
  const word = (number: number) =>
    `Qu${number.toString(26).replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)] ?? "")}`;
  function* names(): Generator<string> {
    for (let number = 0; number < count; number++) yield `${word(number)} ${word(number * 7)} Game (USA)`;
    yield "Super Mario World (USA)";
  }

  test("a look costs a bounded number of titles a step, and a title that is there few steps", () => {
    using index = indexOf(names());
    const holder = holdIndex(index.path, () => {});
    const stepsFor = (wanted: string) =>
      holder.use((held) => {
        const read: number[] = [];
        const titles: typeof held.titles = function* (...asked) {
          for (const piece of held.titles(...asked)) {
            read.push(piece.files.length);
            yield piece;
          }
        };
        const steps = findTitle({ ...held, titles }, "SNES", wanted, prefer);
        let taken = 0;
        let step = steps.next();
        for (; !step.done; step = steps.next()) taken++;
        return { taken, most: Math.max(0, ...read), found: step.value?.media.name };
      }) ?? { taken: 0, most: 0, found: undefined };
    const there = stepsFor("Super Mario World");
    expect(there.found).toBe("Super Mario World (USA)");
    expect(stepsFor("Super Mario World".padEnd(titleCharsMax)).found).toBe("Super Mario World (USA)");
    expect(stepsFor("Super Mario World".padEnd(titleCharsMax + 1))).toMatchObject({
      taken: 0,
      found: undefined,
    });
    const absent = stepsFor("Qzxv Game Nobody Has");
    expect(absent.found).toBeUndefined();
    expect(stepsFor("Supr Mario World").found).toBe("Super Mario World (USA)");
    for (const { most, taken } of [there, absent]) {
      expect(most).toBeLessThanOrEqual(titlesPerPiece);
      // The last piece of each length may be incomplete.
      expect(taken).toBeLessThanOrEqual(count / titlesPerPiece + 64);
    }
    // Only titles of its own length are read.
    expect(there.taken).toBeLessThan(count / titlesPerPiece / 2);
    holder.close();
  });

  test("everybody else has a turn after each two milliseconds of it", async () => {
    using index = indexOf(names());
    let nowMs = 0;
    // Each reading of this clock adds a millisecond.
    const holder = holdIndex(
      index.path,
      () => {},
      () => nowMs++,
    );
    let steps = 0;
    let turns = 0;
    let over = false;
    const turn = () => {
      turns++;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    await holder.walk(function* (held) {
      const found = findTitle(held, "SNES", "Qzxv Game Nobody Has", prefer);
      for (let step = found.next(); !step.done; step = found.next()) {
        steps++;
        yield;
      }
    });
    over = true;
    expect(steps).toBeGreaterThan(10);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(steps / 2));
    holder.close();
  });

  test("a new index that is put to use meanwhile is searched from its start", async () => {
    using index = indexOf(names());
    using newer = indexOf(["Qzxv Game Somebody Has"]);
    let nowMs = 0;
    const holder = holdIndex(
      index.path,
      () => {},
      () => (nowMs += 10),
    );
    const looking = holder.walk((held) => findTitle(held, "SNES", "Qzxv Game Somebody Has", prefer));
    copyFileSync(newer.path, `${index.path}.new`);
    renameSync(`${index.path}.new`, index.path);
    await holder.renew();
    expect((await looking)?.media.name).toBe("Qzxv Game Somebody Has");
    holder.close();
  });
});
