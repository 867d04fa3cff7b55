/**
 * Updates against two fake firmwares that follow the rules of the real ones, on a card whose power can be cut at any step.
 * In all cases a complete system starts: one that was healthy before, or one that is tried once.
 * Covers: src/update/rauc-calls.ts.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  type BootControl,
  type BootSlot,
  createTryboot,
  createUboot,
  keptText,
  otherSlot,
  slotFolder,
  slotOfConfig,
  slotOfKept,
} from "../../../src/update/boot-control.ts";
import { answerRauc } from "../../../src/update/rauc-calls.ts";
import { goBack } from "../../../src/update/slot-content.ts";
import { type CuttableCard, createCard, PowerCut } from "../../emulators/card-with-cuts.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";
import { bundleOf, contentsOf, damagedBundle, installLikeRauc } from "../../helpers/bundles.ts";

const rootBytesMax = 256;

/** A firmware, which decides before any system runs. The firmware keeps the mark of a restart until the mark is cleared. */
interface Firmware {
  readonly name: string;
  prepare(card: CuttableCard): void;
  control(card: CuttableCard, running: BootSlot): BootControl;
  /** A start; `word` is the argument of the restart before it; a loss of power passes none. */
  boot(card: CuttableCard, word: string | undefined): BootSlot;
}

const tryboot: Firmware = {
  name: "tryboot",
  prepare: (card) =>
    card.put("config.txt", bytesOf("os_prefix=slot-a/\ncmdline=cmdline-a.txt\narm_64bit=1\n")),
  control: (card, running) => createTryboot(card.files, running),
  boot(card, word) {
    const tried = word === "0 tryboot" ? card.textOf("tryboot.txt") : undefined;
    const text = tried ?? card.textOf("config.txt") ?? "";
    const slot = slotOfConfig(text);
    if (slot === undefined || !text.includes(`cmdline=cmdline-${slot}.txt`) || !text.includes("arm_64bit=1"))
      throw new Error(`the firmware cannot read ${text}`);
    return slot;
  },
};

const uboot: Firmware = {
  name: "U-Boot",
  prepare: (card) => card.put("kept.env", bytesOf(keptText("a"))),
  control: (card, running) => createUboot(card.files, running),
  boot(card) {
    const kept = slotOfKept(card.textOf("kept.env") ?? "");
    const [, tries, slot] =
      /^tries=([01])\nslot=([ab])\nend=yes\n$/.exec(card.textOf("trial.env") ?? "") ?? [];
    if (tries === "1" && (slot === "a" || slot === "b")) {
      // The write replaces one digit in place, so it is done completely or not at all.
      card.put("trial.env", bytesOf(`tries=0\nslot=${slot}\nend=yes\n`));
      return slot;
    }
    if (kept === undefined) throw new Error("the script falls back to anything at all");
    return kept;
  },
};

type Happening =
  | { readonly kind: "update"; readonly older: boolean; readonly isDamaged: boolean }
  | { readonly kind: "undo" | "power-loss" };
/** The outcome of a tried system. */
type Fate = "healthy" | "hangs" | "power-loss";

interface Turn {
  readonly happening: Happening;
  readonly fate: Fate;
  /** The step of the cut; past the last step the power stays. */
  readonly cut: number;
  /** The seed chooses the part of unsynced writes that survives. */
  readonly seed: number;
}

/** A machine that goes through one event after the other; each start is checked. */
function createMachine(firmware: Firmware, { syncs = true } = {}) {
  const card = createCard(rootBytesMax, { syncs });
  let version = 1;
  let last = 1;
  const healthy = new Set([versionText(1)]);
  firmware.prepare(card);
  for (const [name, bytes] of contentsOf(versionText(1), rootBytesMax).boot)
    card.put(`slot-a/${name}`, bytes);
  card.putRoot("a", contentsOf(versionText(1), rootBytesMax).root);
  const first = bundleOf(versionText(1), rootBytesMax);
  card.put("slot-a/manifest.json", bytesOf(first.manifestText));

  let running: BootSlot = "a";
  const boot = (word: string | undefined) => {
    running = firmware.boot(card, word);
    const found = wholeVersion(card, running);
    if (found === undefined) throw new Error(`slot ${running} was started, and is not whole`);
    return found;
  };
  const lose = (seed: number) => {
    card.powerCycle(seededRandom(seed));
    return boot(undefined);
  };
  const present = () => ({
    files: card.files,
    control: firmware.control(card, running),
    root: async (slot: BootSlot) => card.root(slot),
    board: "test",
    version: wholeVersion(card, running) ?? "",
    hasAuthority: true,
  });
  /** Runs the update or the end of a trial, and restarts. True if a trial runs now. */
  const begin = async ({ happening }: Turn): Promise<boolean> => {
    if (happening.kind === "power-loss") throw new PowerCut();
    if (happening.kind === "update") {
      version = happening.older ? Math.max(1, last - 1) : ++last;
      const bundle = bundleOf(versionText(version), rootBytesMax);
      const before = card.steps;
      if (happening.isDamaged) {
        await expect(installLikeRauc(present(), card, damagedBundle(bundle))).rejects.toThrow("is damaged");
        expect(card.steps).toBe(before);
        return false;
      }
      await installLikeRauc(present(), card, bundle);
    } else if ((await goBack({ ...present(), progress: () => {} }).catch(unlessCut)) === undefined)
      return false;
    const { restart } = firmware.control(card, running);
    boot(restart[1]);
    return true;
  };
  return {
    card,
    get version() {
      return wholeVersion(card, running);
    },
    async turn(turn: Turn): Promise<void> {
      card.cutAt(turn.cut);
      try {
        const before = running;
        if (!(await begin(turn))) return;
        expect(running).toBe(otherSlot(before));
        if (turn.fate !== "healthy") {
          // A reset clears the mark like a loss of power; no write was in progress.
          card.cutAt(Number.POSITIVE_INFINITY);
          boot(undefined);
          expect(running).toBe(before);
          return;
        }
        healthy.add(wholeVersion(card, running) ?? "");
        await answerRauc(present(), {
          words: ["set-state", running, "good"],
          bundle: card.files,
          progress: () => {},
          checked: async () => {},
        });
      } catch (error) {
        if (!(error instanceof PowerCut)) throw error;
        let started = lose(turn.seed);
        // A trial that was armed before the cut runs now. A hang or a loss of power ends a trial like every other end.
        if (running !== (await firmware.control(card, running).kept())) started = lose(turn.seed + 1);
        expect(running).toBe(await firmware.control(card, running).kept());
        expect([...healthy]).toContain(started);
      } finally {
        card.cutAt(Number.POSITIVE_INFINITY);
      }
    },
    reboot: () => boot(undefined),
  };
}

for (const firmware of [tryboot, uboot]) {
  const update: Happening = { kind: "update", older: false, isDamaged: false };

  test(`${firmware.name}: an update that nothing disturbs is kept, and another goes into the first slot`, async () => {
    const machine = createMachine(firmware);
    for (const version of ["1.0.2", "1.0.3", "1.0.4"]) {
      await machine.turn({ happening: update, fate: "healthy", cut: Number.POSITIVE_INFINITY, seed: 1 });
      expect(machine.reboot()).toBe(version);
    }
    await machine.turn({
      happening: { kind: "undo" },
      fate: "healthy",
      cut: Number.POSITIVE_INFINITY,
      seed: 1,
    });
    expect(machine.reboot()).toBe("1.0.3");
  });

  test(`${firmware.name}: an update that does not become healthy is gone with the next start`, async () => {
    const machine = createMachine(firmware);
    await machine.turn({ happening: update, fate: "hangs", cut: Number.POSITIVE_INFINITY, seed: 1 });
    expect(machine.version).toBe("1.0.1");
    expect(machine.reboot()).toBe("1.0.1");
  });

  test(`${firmware.name}: an update that is cut at any of its steps leaves a whole system`, async () => {
    const measured = createMachine(firmware);
    await measured.turn({ happening: update, fate: "healthy", cut: Number.POSITIVE_INFINITY, seed: 1 });
    const { steps } = measured.card;
    expect(steps).toBeGreaterThan(20);
    for (let cut = 0; cut < steps; cut++)
      for (let seed = 0; seed < 6; seed++) {
        const machine = createMachine(firmware);
        await machine.turn({ happening: update, fate: "healthy", cut, seed });
        expect(["1.0.1", "1.0.2"]).toContain(machine.reboot());
        // The update can be begun again.
        await machine.turn({ happening: update, fate: "healthy", cut: Number.POSITIVE_INFINITY, seed });
        expect(machine.reboot()).toBe("1.0.3");
      }
  });

  test(`${firmware.name}: updates, ways back, hangs and cuts in any order always leave a whole and healthy system`, async () => {
    const happening = fc.oneof(
      fc.record({ kind: fc.constant("update" as const), older: fc.boolean(), isDamaged: fc.boolean() }),
      fc.record({ kind: fc.constantFrom("undo" as const, "power-loss" as const) }),
    );
    const turn = fc.record({
      happening,
      fate: fc.constantFrom<Fate>("healthy", "healthy", "hangs", "power-loss"),
      cut: fc.oneof(fc.nat(60), fc.constant(Number.POSITIVE_INFINITY)),
      seed: fc.nat(1_000_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 12 }), async (turns) => {
        const machine = createMachine(firmware);
        for (const each of turns) await machine.turn(each);
        machine.reboot();
      }),
      { numRuns: 150 },
    );
  });

  test(`${firmware.name}: the cuts are harsh: without its syncs, an update does not survive them`, async () => {
    let fallen = 0;
    for (let seed = 0; seed < 200; seed++) {
      const machine = createMachine(firmware, { syncs: false });
      const fell = await machine
        .turn({ happening: update, fate: "healthy", cut: 10 + (seed % 40), seed })
        .then(() => false)
        .catch(() => true);
      if (fell) fallen++;
    }
    expect(fallen).toBeGreaterThan(0);
  });
}

function versionText(version: number): string {
  return `1.0.${version}`;
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function unlessCut(error: unknown): undefined {
  if (error instanceof PowerCut) throw error;
  return undefined;
}

/** The version that a slot holds completely; undefined if it holds none. */
function wholeVersion(card: CuttableCard, slot: BootSlot): string | undefined {
  const [, version = ""] = /version (\S+)/.exec(card.textOf(`${slotFolder(slot)}Image`) ?? "") ?? [];
  if (version === "") return undefined;
  const { boot, root } = contentsOf(version, rootBytesMax);
  const isWhole =
    Buffer.compare(card.rootBytes(slot).subarray(0, root.length), root) === 0 &&
    boot.every(([name, bytes]) => card.textOf(slotFolder(slot) + name) === new TextDecoder().decode(bytes));
  return isWhole ? version : undefined;
}
