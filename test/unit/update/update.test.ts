/** Bundles of updates: the accepted ones, the errors of the others, and the end of a trial. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { updateManifestBytesMax } from "../../../src/core/console-limits.ts";
import { configFor, createTryboot, createUboot, slotOfConfig } from "../../../src/update/boot-control.ts";
import { checkUpdate, type Installation } from "../../../src/update/check-bundle.ts";
import { goBack, writeUpdate } from "../../../src/update/install.ts";
import { gapMsMax, healthyMs, judge, startTrial, trialMsMax } from "../../../src/update/trial.ts";
import { compareVersions, readHead, readKeys, readManifest } from "../../../src/update/update-bundle.ts";
import { createCard } from "../../emulators/card-with-cuts.ts";
import { type Bundle, bundleOf, contentsOf, makeKeys, signBundle, sourceOf } from "../../helpers/bundles.ts";

const keys = await makeKeys();
const rootBytes = 256;

/** A machine of the board `test` that runs 1.2.3 from slot a. */
function machine(bytes: Uint8Array, changes: Partial<Installation> = {}) {
  const card = createCard(rootBytes);
  card.put("config.txt", new TextEncoder().encode("os_prefix=slot-a/\n"));
  const installation: Installation = {
    source: sourceOf(bytes),
    files: card.files,
    control: createTryboot(card.files, "a"),
    root: async (slot) => card.root(slot),
    keys: [keys.publicKey],
    board: "test",
    version: "1.2.3",
    allowOlder: false,
    progress: () => {},
    ...changes,
  };
  return { card, installation };
}

/** The refusal; fails if there is none, or if anything was written. */
async function refusal(bytes: Uint8Array, changes: Partial<Installation> = {}): Promise<string> {
  const { card, installation } = machine(bytes, changes);
  const said = await checkUpdate(installation).then(
    () => "it was taken",
    (error: unknown) => (error instanceof Error ? error.message : ""),
  );
  expect(card.steps).toBe(0);
  return said;
}

const good = bundleOf("1.3.0", keys, rootBytes);

/** The same bundle with something else in its manifest, signed. */
function changed(change: (manifest: { version: string; board: string; parts: object[] }) => void): Bundle {
  const manifest = JSON.parse(good.manifestText);
  change(manifest);
  const { boot, root } = contentsOf("1.3.0", rootBytes);
  return signBundle(manifest, [...boot.map(([, bytes]) => bytes), root], keys);
}

test("a good bundle is written to the other slot to its last byte, and armed", async () => {
  const { card, installation } = machine(good.bytes);
  const checked = await checkUpdate(installation);
  expect(checked).toMatchObject({ slot: "b", manifest: { version: "1.3.0", board: "test" } });
  const shown: string[] = [];
  await writeUpdate(
    { ...installation, progress: (step, done, total) => void shown.push(`${step} ${done === total}`) },
    checked,
  );
  const { boot, root } = contentsOf("1.3.0", rootBytes);
  expect([...card.rootBytes("b")]).toEqual([...root]);
  for (const [name, bytes] of boot)
    expect(card.textOf(`slot-b/${name}`)).toBe(new TextDecoder().decode(bytes));
  expect(card.textOf("tryboot.txt")).toBe("os_prefix=slot-b/\ncmdline=cmdline-b.txt\n");
  expect(card.textOf("config.txt")).toBe("os_prefix=slot-a/\n");
  expect(shown.at(-1)).toBe("reading back true");
  expect(shown).toContain("writing true");
});

test("every refusal is a sentence, and nothing is written", async () => {
  const stranger = await makeKeys();
  const last = good.bytes.length - 1;
  expect(await refusal(new Uint8Array())).toBe("this file cannot be used: it is not an update of Tapdeck");
  expect(await refusal(new TextEncoder().encode("PK\x03\x04".repeat(100)))).toContain(
    "not an update of Tapdeck",
  );
  expect(await refusal(good.bytes, { keys: [] })).toContain("trusts nobody's updates");
  expect(await refusal(good.bytes, { keys: [stranger.publicKey] })).toBe(
    "the file was altered, or signed by a key that this system does not trust",
  );
  expect(await refusal(good.bytes, { board: "zero2w" })).toBe(
    "this update is for the board test, and this one is zero2w",
  );
  expect(await refusal(good.bytes, { version: "1.10.0" })).toContain(
    "version 1.3.0, older than the 1.10.0 that runs: --allow-older",
  );
  expect(await refusal(good.bytes, { version: "1.10.0", allowOlder: true })).toBe("it was taken");
  expect(await refusal(good.bytes.subarray(0, last))).toContain("the file is cut short");
  expect(await refusal(good.bytes.subarray(0, 100))).toBe("the file is cut short; fetch it again");
  expect(await refusal(new Uint8Array([...good.bytes, 0]))).toContain("longer than its manifest says");
  expect(await refusal(good.bytes.with(last, (good.bytes[last] ?? 0) ^ 1))).toBe(
    "the file is damaged: its part root differs from the signed one; fetch it again",
  );
  const { card } = machine(good.bytes);
  expect(await refusal(good.bytes, { root: async () => ({ ...card.root("b"), bytes: rootBytes - 1 }) })).toBe(
    "the update needs 256 bytes, and its slot has 255: flash the card again",
  );
  expect(await refusal(good.bytes, { files: { ...card.files, freeBytes: async () => 5000 } })).toContain(
    "the boot partition has room for 5000 bytes",
  );
  const trial = createTryboot(
    { ...card.files, read: async () => new TextEncoder().encode("os_prefix=slot-b/\n") },
    "a",
  );
  expect(await refusal(good.bytes, { control: trial })).toContain("this system is itself being tried");
});

test("one byte altered anywhere in a bundle is found before anything is written", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(good.bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, bits) => {
      expect(await refusal(good.bytes.with(at, (good.bytes[at] ?? 0) ^ bits))).not.toBe("it was taken");
    }),
    { numRuns: 200 },
  );
});

test("a signed manifest is looked at all the same", async () => {
  const sentenceOf = (change: Parameters<typeof changed>[0]) => refusal(changed(change).bytes);
  expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { name: "boot/Kernel" }))).toContain(
    "it lacks boot/Image",
  );
  expect(await sentenceOf((manifest) => manifest.parts.pop())).toContain("no root file system");
  expect(await sentenceOf((manifest) => Object.assign(manifest, { version: "1.3" }))).toContain(
    "three numbers",
  );
  for (const name of [
    "boot/../config.txt",
    "boot//etc",
    "boot/manifest.json",
    "boot/",
    "/etc/passwd",
    "boot/.new",
  ])
    expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { name }))).toContain(
      "a name that is not allowed",
    );
  expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { name: "boot/INITRD" }))).toContain(
    "the same name",
  );
  for (const bytes of [0, -1, 1.5, 2 ** 60])
    expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { bytes }))).toContain(
      "boot/Image has no size",
    );
  expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { bytes: 2 ** 40 }))).toContain(
    "larger than",
  );
});

test("any text as a manifest, and any bytes as a head, are read or refused", () => {
  fc.assert(fc.property(fc.string(), (text) => void readManifest(new TextEncoder().encode(text))));
  fc.assert(fc.property(fc.json(), (text) => void readManifest(new TextEncoder().encode(text))));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(typeof readHead(bytes)).toBe("string");
    }),
  );
  const long = good.bytes.slice(0, 76);
  new DataView(long.buffer).setUint32(8, updateManifestBytesMax + 1, true);
  expect(readHead(long)).toContain("has not 2 to");
});

test("a file that is changed between the check and the writing arms nothing", async () => {
  const { card, installation } = machine(good.bytes);
  const checked = await checkUpdate(installation);
  const other = good.bytes.with(good.bytes.length - 1, (good.bytes.at(-1) ?? 0) ^ 1);
  await expect(writeUpdate({ ...installation, source: sourceOf(other) }, checked)).rejects.toThrow(
    "is damaged",
  );
  expect(card.textOf("tryboot.txt")).toBeUndefined();
  expect(card.textOf("slot-b/manifest.json")).toBeUndefined();
  await expect(goBack(installation)).rejects.toThrow("nothing to go back to");
});

test("a card that does not keep what is written to it is found out by reading back", async () => {
  const { card, installation } = machine(good.bytes);
  const checked = await checkUpdate(installation);
  const worn = {
    ...card.root("b"),
    async *chunks() {
      yield card.rootBytes("b").slice().fill(0, 10, 20);
    },
  };
  await expect(writeUpdate({ ...installation, root: async () => worn }, checked)).rejects.toThrow(
    "the card did not keep the written data (root)",
  );
  expect(card.textOf("tryboot.txt")).toBeUndefined();
});

test("versions are compared by their numbers", () => {
  const inOrder = ["0.0.9", "0.0.10", "0.1.0", "1.0.0", "1.0.1", "2.0.0", "10.0.0"];
  for (const [index, one] of inOrder.entries())
    for (const [place, other] of inOrder.entries())
      expect(Math.sign(compareVersions(one, other))).toBe(Math.sign(index - place));
});

test("keys are one a line, with whose they are, and anything else is reported", () => {
  const hex = Buffer.from(keys.publicKey).toString("hex");
  expect(readKeys(`# for people\n\n${hex} me\n${hex}\n`)).toEqual(
    [keys.publicKey, keys.publicKey].map((key) => new Uint8Array(key)),
  );
  expect(readKeys("")).toEqual([]);
  expect(readKeys(`${hex}00`)).toContain("is no key of 64 hex digits");
  expect(readKeys(`${hex}\n`.repeat(17))).toBe("there are more than 16 keys");
});

test("the firmware's settings go on with another slot, and with none of the lines of the old one", () => {
  const settings = "# Ours.\nos_prefix=slot-a/\ncmdline=cmdline-a.txt\narm_64bit=1\n[pi02]\ndtoverlay=dwc2\n";
  const other = configFor(settings, "b");
  expect(other).toBe(
    "os_prefix=slot-b/\ncmdline=cmdline-b.txt\n# Ours.\narm_64bit=1\n[pi02]\ndtoverlay=dwc2\n",
  );
  expect(slotOfConfig(other)).toBe("b");
  expect(configFor(other, "b")).toBe(other);
  expect(slotOfConfig("# os_prefix=slot-a/\n")).toBeUndefined();
});

test("a trial is kept after a healthy minute without a gap, and given up after five", () => {
  const after = (answers: readonly (readonly [atMs: number, healthy: boolean])[]) => {
    let trial = startTrial(0);
    for (const [nowMs, healthy] of answers) {
      const judged = judge(trial, { nowMs, healthy });
      if (judged.verdict !== "wait") return `${judged.verdict} at ${nowMs}`;
      trial = judged.trial;
    }
    return "wait";
  };
  const each2s = (toMs: number, healthy: (atMs: number) => boolean) =>
    Array.from(
      { length: toMs / 2000 },
      (_, index) => [(index + 1) * 2000, healthy((index + 1) * 2000)] as const,
    );
  expect(after(each2s(400_000, () => true))).toBe(`keep at ${2000 + healthyMs}`);
  expect(after(each2s(400_000, () => false))).toBe(`give-up at ${trialMsMax}`);
  expect(after(each2s(400_000, (at) => at !== 40_000))).toBe(`keep at ${42_000 + healthyMs}`);
  expect(after(each2s(400_000, (at) => at % 50_000 !== 0))).toBe(`give-up at ${trialMsMax}`);
  // A silence that is too long is not health, whatever is before and after it.
  expect(
    after([
      [2000, true],
      [2000 + gapMsMax + 1, true],
      [64_000, true],
    ]),
  ).toBe("wait");
  expect(after([])).toBe("wait");
});

test("the boot loader's script and the files that it reads agree on each other's form", async () => {
  const script = await Bun.file(join(import.meta.dir, "../../../buildroot/board/qemu/boot.cmd")).text();
  const [, note = ""] = /^setenv note (0x[0-9a-f]+)$/m.exec(script) ?? [];
  const [, digit = ""] = /^\s+mw\.b (0x[0-9a-f]+) 0x30$/m.exec(script) ?? [];
  const card = createCard(rootBytes);
  const control = createUboot(card.files, "a");
  await control.keep("a");
  await control.tryOnce("b");
  expect(card.textOf("trial.env")?.[Number(digit) - Number(note)]).toBe("1");
  for (const [name, variables] of [
    ["kept.env", "slot end"],
    ["trial.env", "tries slot end"],
  ] as const) {
    expect(script).toContain(`load \${from} \${note} ${name}`);
    expect(script).toContain(`env import -t \${note} \${filesize} ${variables}\n`);
    const names = (card.textOf(name) ?? "").split("\n").map((line) => line.split("=")[0]);
    expect(names).toEqual(
      [...variables.split(" "), ""].sort((one, other) => names.indexOf(one) - names.indexOf(other)),
    );
    expect(card.textOf(name)).toEndWith("end=yes\n");
  }
});
