/** The volume of the device, with programs of the test that replace the usual ones. */
import { expect, test } from "bun:test";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { VolumeChange } from "../../../src/core/playback.ts";
import { changeSystemVolume } from "../../../src/system/mixer.ts";

/** Programs by name, each a script; resolves with their calls, or with the refusal. */
async function change(
  programs: Readonly<Record<string, string>>,
  wanted: VolumeChange,
  ceiling = 100,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-mixer-"));
  try {
    for (const [name, script] of Object.entries(programs)) {
      await writeFile(join(folder, name), `#!/bin/sh\necho "${name} $*" >>${folder}/said\n${script}\n`);
      await chmod(join(folder, name), 0o755);
    }
    const find = (name: string) => (name in programs ? join(folder, name) : null);
    const refusal = await changeSystemVolume(wanted, ceiling, find, new AbortController().signal).then(
      () => "",
      (error: Error) => `! ${error.message}`,
    );
    return `${await readFile(join(folder, "said"), "utf8").catch(() => "")}${refusal}`;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const half = { kind: "to", percent: 50 } as const;
const up = { kind: "by", percent: 5 } as const;
const down = { kind: "by", percent: -5 } as const;

/** Programs that report the volume like the real ones. */
const wpctl = 'echo "Volume: 0.98"';
const pactl = 'echo "Volume: front-left: 19661 /  30% / -31.37 dB,   front-right: 19661 /  30% / -31.37 dB"';
const amixer = 'echo "  Front Left: Playback 30000 [46%] [on]"';

test.each<[Readonly<Record<string, string>>, VolumeChange, string]>([
  [{ wpctl }, half, "wpctl set-volume @DEFAULT_AUDIO_SINK@ 50%\n"],
  [{ wpctl }, up, "wpctl get-volume @DEFAULT_AUDIO_SINK@\nwpctl set-volume @DEFAULT_AUDIO_SINK@ 100%\n"],
  [{ pactl }, down, "pactl get-sink-volume @DEFAULT_SINK@\npactl set-sink-volume @DEFAULT_SINK@ 25%\n"],
  [{ amixer }, half, "amixer --mapped-volume --quiet set Master 50%\n"],
  [{ amixer }, up, "amixer --mapped-volume get Master\namixer --mapped-volume --quiet set Master 51%\n"],
])("each program is told in its own words", async (programs, wanted, said) => {
  expect(await change(programs, wanted)).toBe(said);
});

test("the owner's ceiling holds, for what is set and for what is added", async () => {
  expect(await change({ wpctl }, { kind: "to", percent: 90 }, 60)).toMatch(/ 60%\n$/);
  expect(await change({ pactl }, { kind: "by", percent: 50 }, 60)).toMatch(/ 60%\n$/);
});

test("if one program has no device, the next one is asked", async () => {
  expect(await change({ wpctl: "exit 1", amixer: "exit 0" }, half)).toMatch(/^wpctl .*\namixer .*\n$/);
});

test("a sound server that did not answer kept the card's program from being asked", async () => {
  expect(await change({ wpctl: "exec sleep 600", amixer: "exit 0" }, half)).toMatch(
    /^wpctl .*\namixer .*\n$/,
  );
}, 30_000);

test("if none can, the refusal says which tried and why", async () => {
  expect(await change({}, half)).toMatch(
    /^! the volume cannot be changed: .* none of wpctl, pactl and amixer/,
  );
  expect(await change({ amixer: "echo cannot find card 0 >&2; exit 1" }, half)).toMatch(
    /! the volume could not be changed: amixer: cannot find card 0$/,
  );
});
