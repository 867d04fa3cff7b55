/** Sound feedback: the content of the files, the calls of real programs, their frequency, and the handling of failures. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { soundsPerWindowMax } from "../../../src/core/limits.ts";
import { createLog } from "../../../src/core/log.ts";
import { createSounds, type SoundName, type SoundParts, sounds, waveOf } from "../../../src/system/sound.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually, eventuallyExists } from "../../helpers/processes.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-sound-"));
});
afterEach(() => rm(folder, { recursive: true }));

const names = Object.keys(sounds) as SoundName[];

function wave(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number) => new TextDecoder().decode(bytes.subarray(at, at + 4));
  const samples = Array.from({ length: (bytes.length - 44) / 2 }, (_, index) =>
    view.getInt16(44 + 2 * index, true),
  );
  return {
    chunks: [text(0), text(8), text(12), text(36)],
    sizes: [view.getUint32(4, true), view.getUint32(16, true), view.getUint32(40, true)],
    format: [view.getUint16(20, true), view.getUint16(22, true), view.getUint16(34, true)],
    rate: view.getUint32(24, true),
    bytesPerSecond: view.getUint32(28, true),
    samples,
  };
}

test.each(names)("%s is a sound WAV: short, soft, not silent, and without a click at its ends", (name) => {
  const bytes = waveOf(sounds[name]);
  const { chunks, sizes, format, rate, bytesPerSecond, samples } = wave(bytes);
  expect(chunks).toEqual(["RIFF", "WAVE", "fmt ", "data"]);
  expect(sizes).toEqual([bytes.length - 8, 16, bytes.length - 44]);
  expect(format).toEqual([1, 2, 16]);
  expect(bytesPerSecond).toBe(rate * 4);
  expect((1000 * (bytes.length - 44)) / bytesPerSecond).toBeLessThan(400);
  const peak = Math.max(...samples.map(Math.abs));
  expect(peak).toBeGreaterThan(0.1 * 0x7fff);
  expect(peak).toBeLessThanOrEqual(0.25 * 0x7fff);
  expect(
    samples
      .slice(0, 2)
      .concat(samples.slice(-2))
      .every((sample) => Math.abs(sample) < 100),
  ).toBe(true);
});

/** A program that records its file, copies it, and then runs `then`. */
async function standIn(name: string, then = ""): Promise<string> {
  const path = join(folder, name);
  const note = `for file; do :; done; cat "$file" > "${folder}/$(basename "$file").heard"; echo "${name} $(basename "$file" .wav)" >> "${folder}/heard"`;
  await writeFile(path, `#!/bin/sh\n${note}\n${then}\n`);
  await chmod(path, 0o755);
  return path;
}

async function heard(): Promise<readonly string[]> {
  if (!existsSync(join(folder, "heard"))) return [];
  return (await readFile(join(folder, "heard"), "utf8")).trimEnd().split("\n");
}

function speaker(programs: Readonly<Record<string, string>>, more: Partial<SoundParts> = {}) {
  const lines: string[] = [];
  const all = createSounds({
    folder: join(folder, "files"),
    isOn: true,
    clock: systemClock,
    log: createLog({ debug: false, write: (line) => lines.push(line) }),
    which: (program) => programs[program] ?? null,
    ...more,
  });
  return { ...all, lines, [Symbol.asyncDispose]: all.close };
}

test("a player gets the whole file, sound after sound, and nothing is left when it closes", async () => {
  const { play, close } = speaker({ aplay: await standIn("aplay") });
  for (const [index, name] of names.entries()) {
    play(name);
    await eventually(async () => expect(await heard()).toHaveLength(index + 1));
  }
  expect(await heard()).toEqual(names.map((name) => `aplay ${name}`));
  for (const name of names) {
    const given = await readFile(join(folder, `${name}.wav.heard`));
    expect(given.equals(waveOf(sounds[name]))).toBe(true);
  }
  await close();
  expect(await readdir(folder)).not.toContain("files");
});

test("real aplay plays every sound whole", async () => {
  const config = join(folder, "asound.conf");
  const out = join(folder, "out.wav");
  await writeFile(
    config,
    `pcm.null { type null }\npcm.!default { type file file "${out}" format "wav" slave { pcm null } }\n`,
  );
  const aplay = join(folder, "aplay");
  await writeFile(
    aplay,
    `#!/bin/sh\nALSA_CONFIG_PATH="${config}" aplay "$@" || exit 1\nmv "${out}" "${out}.$(basename "$2")"\n`,
  );
  await chmod(aplay, 0o755);
  await using speaking = speaker({ aplay });
  for (const name of names) {
    const played = `${out}.${name}.wav`;
    speaking.play(name);
    await eventuallyExists(played);
    const { rate, format, samples } = wave(await readFile(played));
    const wanted = wave(waveOf(sounds[name]));
    expect([rate, ...format]).toEqual([wanted.rate, ...wanted.format]);
    // The program fills the last period of the device with silence.
    expect(samples.slice(0, wanted.samples.length)).toEqual(wanted.samples);
    expect(samples.slice(wanted.samples.length).every((sample) => sample === 0)).toBe(true);
  }
  expect(speaking.lines).toEqual([]);
});

test("a player that cannot is passed over for the next one, which is kept", async () => {
  const programs = { "pw-play": await standIn("pw-play", "exit 1"), aplay: await standIn("aplay") };
  await using speaking = speaker(programs);
  speaking.play("ready");
  await eventually(async () => expect(await heard()).toHaveLength(2));
  speaking.play("scanned");
  await eventually(async () => expect(await heard()).toHaveLength(3));
  expect(await heard()).toEqual(["pw-play ready", "aplay ready", "aplay scanned"]);
  expect(speaking.lines).toEqual([]);
});

test("if nothing can play, one line says so, and the programs are left alone for a minute", async () => {
  let nowMs = 0;
  const programs = { aplay: await standIn("aplay", "exit 1") };
  await using speaking = speaker(programs, { elapsedMs: () => nowMs });
  speaking.play("scanned");
  await eventually(() => expect(speaking.lines).toHaveLength(1));
  for (nowMs = 1000; nowMs < 60_000; nowMs += 1000) speaking.play("scanned");
  nowMs = 61_000;
  speaking.play("failed");
  await eventually(async () => expect(await heard()).toHaveLength(2));
  expect(await heard()).toEqual(["aplay scanned", "aplay failed"]);
  expect(speaking.lines).toEqual([expect.stringContaining("nothing plays sounds here")]);
});

test("without any player one line says so, however often there would be a sound", async () => {
  await using speaking = speaker({});
  for (let count = 0; count < 5; count++) {
    speaking.play("scanned");
    await Bun.sleep(1);
  }
  await eventually(() => expect(speaking.lines.length).toBeGreaterThan(0));
  expect(speaking.lines).toHaveLength(1);
});

test("a flood of taps is a few sounds, and of those that come while one plays only what matters most is heard", async () => {
  let nowMs = 0;
  const hold = join(folder, "hold");
  await writeFile(hold, "");
  const aplay = await standIn("aplay", `while [ -e "${hold}" ]; do sleep 0.01; done`);
  await using speaking = speaker({ aplay }, { elapsedMs: () => nowMs });
  for (let count = 0; count < 1000; count++) speaking.play(count === 4 ? "failed" : "scanned");
  await eventually(async () => expect(await heard()).toHaveLength(1));
  await rm(hold);
  await eventually(async () => expect(await heard()).toHaveLength(2));
  // Two sounds were played: the first, and then the one that is more important than that of a card. After these sounds
  // the window is full.
  for (let count = 0; count < soundsPerWindowMax; count++) speaking.play("failed");
  nowMs = 10_000;
  speaking.play("written");
  await eventually(async () => expect((await heard()).at(-1)).toBe("aplay written"));
  expect(await heard()).toEqual(["aplay scanned", "aplay failed", "aplay written"]);
});

test("switched off it is silent, and on again at once", async () => {
  await using speaking = speaker({ aplay: await standIn("aplay") }, { isOn: false });
  speaking.play("ready");
  speaking.configure(true);
  speaking.play("scanned");
  await eventually(async () => expect(await heard()).toHaveLength(1));
  speaking.configure(false);
  speaking.play("failed");
  speaking.configure(true);
  speaking.play("written");
  await eventually(async () => expect(await heard()).toHaveLength(2));
  expect(await heard()).toEqual(["aplay scanned", "aplay written"]);
});

test("a player that hangs is ended, and closing does not wait for one", async () => {
  const clock = createManualClock();
  const pids = join(folder, "pids");
  const aplay = await standIn("aplay", `echo $$ >> "${pids}"; exec sleep 600`);
  const speaking = speaker({ aplay }, { clock });
  // The shell creates the file before it writes the line.
  const pidsOf = async () =>
    existsSync(pids) ? ((await readFile(pids, "utf8")).match(/\d+(?=\n)/g) ?? []) : [];
  speaking.play("scanned");
  await eventually(async () => expect(await pidsOf()).toHaveLength(1));
  clock.advance(3000);
  await eventually(() => expect(speaking.lines).toHaveLength(1));
  speaking.configure(false);
  speaking.configure(true);
  speaking.play("scanned");
  await eventually(async () => expect(await pidsOf()).toHaveLength(2));
  await speaking.close();
  for (const pid of await pidsOf()) expect(existsSync(`/proc/${pid}`)).toBe(false);
});
