/** A launcher with a real store, real files and real players, and all that it told. */
import { expect } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createBus } from "../../src/bus.ts";
import { type Config, defaultConfig, type LauncherConfig } from "../../src/config/shape.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import type { EventName, Events } from "../../src/events.ts";
import { createLauncher, type Launcher } from "../../src/launch/launcher.ts";
import { createSaveKeeper, type SaveKeeper } from "../../src/launch/saves/keeper.ts";
import { openStore } from "../../src/store/open.ts";
import { eventually } from "./processes.ts";

type Heard = { [Name in EventName]: { readonly name: Name; readonly payload: Events[Name] } }[EventName];

export interface Deck extends AsyncDisposable {
  readonly folder: string;
  readonly launcher: Launcher;
  readonly saves: SaveKeeper;
  readonly heard: readonly Heard[];
  /** Makes a file below the media folder. */
  file(path: string, content?: string | Uint8Array): Promise<string>;
  /** Runs a script, and resolves when it has ended: true, or what it failed with. What it starts has three seconds for that. */
  run(script: string): Promise<string | true>;
  /** Launches, and resolves as soon as what it starts shows itself. */
  play(script: string): Promise<void>;
  launch(script: string): void;
  /** Each script's end so far. */
  ends(): readonly (string | true)[];
  /** The payloads of an event so far. */
  told<Name extends EventName>(name: Name): readonly Events[Name][];
  /** The process whose command line ends with the path of this file. */
  playerOf(file: string): Promise<number>;
  /** Resolves with the payload of the `count`th event of this name. */
  next<Name extends EventName>(name: Name, count?: number): Promise<Events[Name]>;
}

// Real players on a machine that has other things to do.
const deckMsMax = 40_000;
const names = [
  "running",
  "media.started",
  "media.paused",
  "media.resumed",
  "media.stopped",
  "launch.finished",
] as const;

export interface DeckOptions {
  readonly clock?: Clock;
  /** The owner's ceiling at this moment, in percent. */
  readonly volumeMax?: () => number;
  /** Whether games go on where they were left. */
  readonly resume?: boolean;
  /** Where saves of games are kept, and the folder in memory for them; RetroArch's own settings decide where absent. */
  readonly saves?: { readonly home: string; readonly memory: string };
}

/** `setUp` makes the players, which may need the folder. */
export async function makeDeck(
  setUp: (folder: string) => readonly LauncherConfig[],
  {
    clock = systemClock,
    volumeMax = () => 100,
    resume = defaultConfig.retroarch.resume,
    saves: kept,
  }: DeckOptions = {},
): Promise<Deck> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-deck-"));
  const launchers = setUp(folder);
  const bus = createBus(silentLog);
  const heard: Heard[] = [];
  for (const name of names)
    bus.on(name, (payload) => {
      const one = { name, payload } as Heard;
      heard.push(one);
    });
  const config: Config = {
    ...defaultConfig,
    systems: { ...defaultConfig.systems, rootFolders: [folder] },
    launchers,
    retroarch: { resume },
  };
  const saves = createSaveKeeper({
    home: () => kept?.home,
    memory: kept?.memory ?? join(folder, "memory"),
    clock: systemClock,
    log: silentLog,
  });
  const { history, close } = openStore(folder, { clock: systemClock, log: silentLog });
  const launcher = createLauncher({
    config: () => ({ ...config, audio: { ...config.audio, volumeMax: volumeMax() } }),
    bus,
    clock,
    log: silentLog,
    history,
    saves,
    map: () => undefined,
  });
  const told = <Name extends EventName>(name: Name): readonly Events[Name][] =>
    heard.flatMap((one) => (one.name === name ? [one.payload as Events[Name]] : []));
  const ends = () => told("launch.finished").map(({ error }) => error ?? true);
  let launches = 0;
  const launch = (text: string) => {
    const uid = `04${String(launches++).padStart(6, "0")}`;
    launcher.launch({ type: "NTAG", uid, text, data: "" });
    return uid;
  };
  return {
    folder,
    launcher,
    saves,
    heard,
    launch: (script) => void launch(script),
    ends,
    told,
    async file(path, content = "") {
      const whole = join(folder, path);
      await mkdir(dirname(whole), { recursive: true });
      await writeFile(whole, content);
      return whole;
    },
    async run(script) {
      const mine = launch(script);
      const end = () => told("launch.finished").find(({ uid }) => uid === mine);
      await eventually(() => expect(end()).toBeDefined(), deckMsMax);
      return end()?.error ?? true;
    },
    async play(script) {
      const before = told("media.started").length;
      launch(script);
      const state = async () => (await launcher.playback())?.playbackState ?? "loading";
      await eventually(async () => {
        expect(told("media.started").length).toBeGreaterThan(before);
        expect(await state()).not.toBe("loading");
      }, deckMsMax);
    },
    async playerOf(file) {
      let pid = 0;
      await eventually(async () => {
        pid = await processOf(join(folder, file));
        return pid > 0;
      });
      return pid;
    },
    async next(name, count = 1) {
      await eventually(() => expect(told(name).length).toBeGreaterThanOrEqual(count), deckMsMax);
      const payload = told(name)[count - 1];
      if (payload === undefined) throw new Error(`no ${name}`);
      return payload;
    },
    async [Symbol.asyncDispose]() {
      await launcher.close();
      await saves.close();
      close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The process whose command line ends with this path; 0 where there is none. A process that is only being made into the player still has our own command line. */
export async function processOf(path: string): Promise<number> {
  for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    // It may end between the two looks.
    const line = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
    if (line.endsWith(`\0${path}\0`)) return Number(id);
  }
  return 0;
}

/** A sound file (RIFF WAVE, 8 kHz, 16 bits, one channel) that is silent for so long. */
export function makeSound(seconds: number): Uint8Array {
  const rate = 8000;
  const bytes = Math.round(seconds * rate) * 2;
  const file = Buffer.alloc(44 + bytes);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + bytes, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(bytes, 40);
  return file;
}

/** A NES game (iNES, mapper 0, 16 KiB of program, 8 KiB of pictures): a jump to itself, or a tone without end before it. */
export function makeNesGame({ withTone = false } = {}): Uint8Array {
  const program = new Uint8Array(16 * 1024).fill(0xea);
  const tone = withTone ? pulseTone : [];
  program.set([...tone, 0x4c, tone.length, 0xc0]);
  // The vectors of NMI, reset and IRQ: 0xC000, where the program lies.
  program.set([0x00, 0xc0, 0x00, 0xc0, 0x00, 0xc0], 0x3ffa);
  const header = Uint8Array.of(0x4e, 0x45, 0x53, 0x1a, 1, 1, ...new Array(10).fill(0));
  return Buffer.concat([header, program, new Uint8Array(8 * 1024)]);
}

/** The first pulse channel, as loud as it gets: LDA #value, STA register (6502; nesdev.org, "APU"). */
const pulseTone = [
  [0x01, 0x15],
  [0xbf, 0x00],
  [0xc9, 0x02],
  [0x00, 0x03],
].flatMap(([value = 0, register = 0]) => [0xa9, value, 0x8d, register, 0x40]);
