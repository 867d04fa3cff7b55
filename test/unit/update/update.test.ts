/**
 * The answers to RAUC's calls, the manifests of slots, and the end of a trial.
 * Covers: src/update/rauc-calls.ts, src/update/machine.ts.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { configFor, createTryboot, createUboot, slotOfConfig } from "../../../src/update/boot-control.ts";
import type { Machine } from "../../../src/update/machine.ts";
import { answerRauc } from "../../../src/update/rauc-calls.ts";
import { goBack } from "../../../src/update/slot-content.ts";
import { compareVersions, readManifest } from "../../../src/update/slot-manifest.ts";
import { gapMsMax, healthyMs, judge, startTrial, trialMsMax } from "../../../src/update/trial.ts";
import { createCard } from "../../emulators/card-with-cuts.ts";
import {
  type Bundle,
  bundleOf,
  bundleWith,
  contentsOf,
  damagedBundle,
  installLikeRauc,
} from "../../helpers/bundles.ts";

const rootBytes = 256;

/** A machine of the board `test` that runs 1.2.3 from slot a. */
function machineWith(changes: Partial<Machine> = {}) {
  const card = createCard(rootBytes);
  card.put("config.txt", new TextEncoder().encode("os_prefix=slot-a/\n"));
  const machine: Machine = {
    files: card.files,
    control: createTryboot(card.files, "a"),
    root: async (slot) => card.root(slot),
    board: "test",
    version: "1.2.3",
    hasAuthority: true,
    ...changes,
  };
  return { card, machine };
}

const good = bundleOf("1.3.0", rootBytes);

async function call(machine: Machine, words: string, bundle: Bundle = good): Promise<void> {
  await answerRauc(machine, {
    words: words.split(" "),
    bundle: bundle.files,
    progress: () => {},
    checked: async () => {},
  });
}

/** The refusal before anything is written; fails if something was written. */
async function refusal(bundle: Bundle, changes: Partial<Machine> = {}): Promise<string> {
  const { card, machine } = machineWith(changes);
  const said = await call(machine, "pre-install", bundle).then(
    () => "it was taken",
    (error: unknown) => (error instanceof Error ? error.message : ""),
  );
  expect(card.steps).toBe(0);
  return said;
}

/** The same bundle with another text in its manifest. */
function changed(change: (manifest: { version: string; board: string; parts: object[] }) => void): Bundle {
  const manifest = JSON.parse(good.manifestText);
  change(manifest);
  const { boot, root } = contentsOf("1.3.0", rootBytes);
  const parts = boot.map(([name, bytes]): [string, Uint8Array] => [`boot/${name}`, bytes]);
  return bundleWith(JSON.stringify(manifest), new Map([...parts, ["root", root]]));
}

test("a good bundle is written to the other slot to its last byte, and armed", async () => {
  const { card, machine } = machineWith();
  const shown: string[] = [];
  await installLikeRauc(
    machine,
    card,
    good,
    (step, done, total) => void shown.push(`${step} ${done === total}`),
  );
  const { boot, root } = contentsOf("1.3.0", rootBytes);
  expect([...card.rootBytes("b")]).toEqual([...root]);
  for (const [name, bytes] of boot)
    expect(card.textOf(`slot-b/${name}`)).toBe(new TextDecoder().decode(bytes));
  expect(card.textOf("slot-b/manifest.json")).toBe(good.manifestText);
  expect(card.textOf("slot-b/next.json")).toBeUndefined();
  expect(card.textOf("tryboot.txt")).toBe("os_prefix=slot-b/\ncmdline=cmdline-b.txt\n");
  expect(card.textOf("config.txt")).toBe("os_prefix=slot-a/\n");
  expect(shown.at(-1)).toBe("reading back true");
  expect(shown).toContain("checking true");
});

test("every refusal is a sentence, and nothing is written", async () => {
  expect(await refusal(damagedBundle(good))).toBe(
    "the file is damaged: its part root differs from the signed one; fetch it again",
  );
  expect(await refusal(bundleWith("", new Map()))).toBe("this file cannot be used: its manifest is not JSON");
  const { card } = machineWith();
  expect(await refusal(good, { root: async () => ({ ...card.root("b"), bytes: rootBytes - 1 }) })).toBe(
    "the update needs 256 bytes, and its slot has 255: flash the card again",
  );
  expect(await refusal(good, { files: { ...card.files, freeBytes: async () => 5000 } })).toContain(
    "the boot partition has room for 5000 bytes",
  );
  const trial = createTryboot(
    { ...card.files, read: async () => new TextEncoder().encode("os_prefix=slot-b/\n") },
    "a",
  );
  expect(await refusal(good, { control: trial })).toContain("this system is itself being tried");
});

test("the manifest of a bundle is looked at, although it is signed", async () => {
  const sentenceOf = (change: Parameters<typeof changed>[0]) => refusal(changed(change));
  expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { name: "boot/Kernel" }))).toContain(
    "it lacks boot/Image",
  );
  expect(await sentenceOf((manifest) => manifest.parts.pop())).toContain("no root file system");
  expect(await sentenceOf((manifest) => Object.assign(manifest, { version: "1.3" }))).toContain(
    "three numbers",
  );
  for (const name of [
    ...["boot/../config.txt", "boot//etc", "boot/", "/etc/passwd", "boot/.new"],
    ...["boot/manifest.json", "boot/next.json"],
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
  expect(await sentenceOf(({ parts }) => Object.assign(parts[0] ?? {}, { bytes: 1 }))).toContain(
    "is damaged",
  );
});

test("any text as a manifest is read or refused", () => {
  fc.assert(fc.property(fc.string(), (text) => void readManifest(new TextEncoder().encode(text))));
  fc.assert(fc.property(fc.json(), (text) => void readManifest(new TextEncoder().encode(text))));
});

test("a card that does not keep what is written to it is found out by reading back", async () => {
  const { card, machine } = machineWith();
  const worn = {
    ...card.root("b"),
    async *chunks() {
      yield card.rootBytes("b").slice().fill(0, 10, 20);
    },
  };
  await expect(installLikeRauc({ ...machine, root: async () => worn }, card, good)).rejects.toThrow(
    "the card did not keep the written data (root)",
  );
  expect(card.textOf("tryboot.txt")).toBeUndefined();
  const files = {
    ...card.files,
    async *chunks(path: string) {
      if (path !== "slot-b/initrd") yield* card.files.chunks(path);
    },
  };
  await expect(installLikeRauc({ ...machine, files }, card, good)).rejects.toThrow("(boot/initrd)");
  expect(card.textOf("slot-b/manifest.json")).toBeUndefined();
  await expect(call(machine, "set-primary b")).rejects.toThrow("slot b holds no whole system");
  await expect(goBack({ ...machine, progress: () => {} })).rejects.toThrow("nothing to go back to");
  expect(card.textOf("tryboot.txt")).toBeUndefined();
});

test("RAUC cannot call the kept or the running slot bad, nor another slot good, nor a slot that is none", async () => {
  const { card, machine } = machineWith();
  card.put("slot-a/manifest.json", new TextEncoder().encode(good.manifestText));
  await expect(call(machine, "set-state a bad")).rejects.toThrow("slot a runs or is kept");
  await expect(call(machine, "set-state b good")).rejects.toThrow("slot b does not run");
  // In a trial, the kept slot is the one that starts after any failure.
  const trial = { ...machine, control: createTryboot(card.files, "b") };
  await expect(call(trial, "set-state a bad")).rejects.toThrow("slot a runs or is kept");
  await expect(call(trial, "set-state a good")).rejects.toThrow("slot a does not run");
  await expect(call(trial, "slot-install")).rejects.toThrow("itself being tried");
  await expect(call(machine, "set-primary c")).rejects.toThrow("RAUC names a slot c");
  await expect(call(machine, "get-weather")).rejects.toThrow("RAUC asks for get-weather");
  expect(card.steps).toBe(0);
  await call(trial, "set-state b good");
  expect(card.textOf("config.txt")).toBe("os_prefix=slot-b/\ncmdline=cmdline-b.txt\n");
});

test("a slot that RAUC calls bad is not armed any more, and the kept one needs no trial", async () => {
  const { card, machine } = machineWith();
  await installLikeRauc(machine, card, good);
  await call(machine, "set-primary a");
  expect(card.textOf("tryboot.txt")).toBeUndefined();
  await call(machine, "set-primary b");
  expect(card.textOf("tryboot.txt")).toContain("slot-b");
  await call(machine, "set-state b bad");
  expect(card.textOf("tryboot.txt")).toBeUndefined();
  await expect(call(machine, "set-primary b")).rejects.toThrow("slot b holds no whole system");
});

test("versions are compared by their numbers", () => {
  const inOrder = ["0.0.9", "0.0.10", "0.1.0", "1.0.0", "1.0.1", "2.0.0", "10.0.0"];
  for (const [index, one] of inOrder.entries())
    for (const [place, other] of inOrder.entries())
      expect(Math.sign(compareVersions(one, other))).toBe(Math.sign(index - place));
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
  // During a silence that is too long, the system does not count as healthy, whatever its answers before and after are.
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
