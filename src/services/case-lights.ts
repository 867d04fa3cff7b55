/**
 * The lights of the case: LEDs of the kernel whose names begin with `tapdeck`, one or a strip of them, which all show the
 * same. A person who sees no screen learns the state of the deck by their rhythm, and by their color if the LED has
 * several (Documentation/leds/leds-class.rst and leds-class-multicolor.rst of Linux). Root's script
 * `overlay/usr/lib/tapdeck/light` allows the service to write them. Before the start of the service and after its end,
 * root controls them. Without such an LED nothing is followed.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Fault } from "../core/faults.ts";
import { caseLightsMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { createCoalesced } from "../core/serial-queue.ts";
import { type Ending, pictureOf } from "../screen/picture.ts";
import { type FactParts, followFacts } from "./screen-facts.ts";

export interface LightParts extends FactParts {
  /** If absent, the folder of the kernel. */
  readonly folder?: string;
  readonly faults: () => readonly Fault[];
  /** The highest brightness, in percent. */
  readonly brightness: () => number;
  readonly log: Log;
}

/** The state of all lights: red, green and blue from 0 to 255, and a part of the highest brightness. */
interface Glow {
  readonly color: Readonly<Record<string, number>>;
  readonly part: number;
  /** Half of a period of blinking; absent means that it does not blink. */
  readonly blinkMs?: number;
}

const prefix = "tapdeck";
const green = { red: 0, green: 255, blue: 0 };
const orange = { red: 255, green: 80, blue: 0 };
const red = { red: 255, green: 0, blue: 0 };
const dark: Glow = { color: green, part: 0 };
/** The brightness while something plays or nobody is present, as a part of the highest. */
const dimmed = 0.1;
const quickMs = 125;
const busyMs = 300;
const waitingMs = 1000;
/** Faults and limits of play time have no event, so the lights look for them about as often as the screen does. */
const lookMs = 5000;
/** After this time without an event the lights are dimmed, as the picture of a television is. */
const restMs = 10 * 60_000;

/** Shows the state until disposed. `refresh` is for a change of the brightness. */
export function followCaseLights(parts: LightParts) {
  const { clock, log, folder = "/sys/class/leds" } = parts;
  let following: ReturnType<typeof showState> | undefined;
  let isClosed = false;
  const begin = async () => {
    const lights = await findLights(folder);
    if (lights.length === 0 || isClosed) return;
    log.info("lights", "show the state", { lights: lights.map(({ name }) => name).join(" ") });
    following = showState(parts, createBlinker(lights, clock, log));
  };
  begin().catch((error: unknown) =>
    log.warn("lights", "cannot be read", { folder, error: messageOf(error) }),
  );
  return {
    refresh: () => following?.refresh(),
    /** Shows from now on that the machine ends. */
    showEnding: (how: Ending) => following?.showEnding(how),
    [Symbol.dispose]() {
      isClosed = true;
      following?.[Symbol.dispose]();
    },
  };
}

/** Makes the blinker show the state of the facts. */
function showState(parts: LightParts, blinker: Blinker) {
  const { clock, faults, brightness } = parts;
  /** The time without an event, by the looks: the clock of a board is set on by hours soon after its start. */
  let quietMs = 0;
  let timer: Disposable | undefined;
  /** Whether the last look found a fault. A look reads the file system, so a tap must not wait for one. */
  let hasFault = faults().length > 0;
  const refresh = () => {
    const now = facts.now();
    const isResting = quietMs >= restMs;
    const glow = glowOf(now.isPlaying, pictureOf(now)?.kind, hasFault, isResting);
    blinker.show({ ...glow, part: (glow.part * brightness()) / 100 });
    facts.wasDrawn(now.notice);
  };
  const changed = () => {
    quietMs = 0;
    refresh();
  };
  // A start has one rhythm, whether its name is known or not.
  const facts = followFacts(parts, changed, () => 0);
  const lookAgain = () => {
    facts.settle();
    quietMs += lookMs;
    hasFault = faults().length > 0;
    refresh();
    timer = clock.after(lookMs, lookAgain);
  };
  timer = clock.after(lookMs, lookAgain);
  refresh();
  return {
    refresh,
    showEnding: facts.setEnding,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      facts[Symbol.dispose]();
      blinker[Symbol.dispose]();
    },
  };
}

type PictureKind = NonNullable<ReturnType<typeof pictureOf>>["kind"];

function glowOf(
  isPlaying: boolean,
  kind: PictureKind | undefined,
  hasFault: boolean,
  isResting: boolean,
): Glow {
  if (kind === undefined) return isPlaying ? { color: green, part: dimmed } : dark;
  switch (kind) {
    case "starting":
      return { color: orange, part: 1, blinkMs: busyMs };
    case "empty":
    case "failed":
    case "not-found":
    case "stick-away":
    case "stick-gone":
      return { color: red, part: 1, blinkMs: quickMs };
    case "no-reader":
    case "reader-broken":
      return { color: orange, part: 1, blinkMs: waitingMs };
    case "switching-off":
    case "restarting":
      return { color: orange, part: 1, blinkMs: busyMs };
    case "time-over":
      return { color: red, part: isResting ? dimmed : 1 };
    default:
      if (hasFault) return { color: orange, part: 1, blinkMs: waitingMs };
      return { color: kind === "ready" ? green : orange, part: isResting ? dimmed : 1 };
  }
}

interface CaseLight {
  readonly name: string;
  show(glow: Glow): Promise<void>;
}

async function findLights(folder: string): Promise<readonly CaseLight[]> {
  const names = await readdir(folder).catch(() => []);
  const ours = names.filter((name) => name.startsWith(prefix)).sort();
  return await Promise.all(ours.slice(0, caseLightsMax).map((name) => openLight(join(folder, name), name)));
}

async function openLight(path: string, name: string): Promise<CaseLight> {
  const highest = Number(await readFile(join(path, "max_brightness"), "latin1"));
  if (!Number.isInteger(highest) || highest < 1) throw new Error(`${path}/max_brightness is no number`);
  const channels = await readFile(join(path, "multi_index"), "latin1").catch(() => "");
  const names = channels.split(/\s+/).filter((channel) => channel !== "");
  let shown = "";
  return {
    name,
    async show({ color, part }) {
      const brightness = part === 0 ? 0 : Math.max(1, Math.round(part * highest));
      const intensities = names.map((channel) => color[channel] ?? 0).join(" ");
      if (shown === `${brightness} ${intensities}`) return;
      if (names.length > 0) await writeFile(join(path, "multi_intensity"), intensities);
      await writeFile(join(path, "brightness"), String(brightness));
      shown = `${brightness} ${intensities}`;
    },
  };
}

type Blinker = ReturnType<typeof createBlinker>;

/** Writes each light only if it changes. Lights that cannot be written are logged once, and not tried again. */
function createBlinker(lights: readonly CaseLight[], clock: Clock, log: Log) {
  let wanted = dark;
  let isLit = true;
  let timer: Disposable | undefined;
  let isClosed = false;

  const write = createCoalesced(async () => {
    if (isClosed) return;
    const glow = isLit ? wanted : { ...wanted, part: 0 };
    try {
      await Promise.all(lights.map((light) => light.show(glow)));
    } catch (error) {
      close();
      log.warn("lights", "cannot be written", { error: messageOf(error) });
    }
  });
  const blink = (blinkMs: number) => {
    timer = clock.after(blinkMs, () => {
      isLit = !isLit;
      void write();
      blink(blinkMs);
    });
  };
  const close = () => {
    isClosed = true;
    timer?.[Symbol.dispose]();
  };
  return {
    show(glow: Glow) {
      if (isClosed) return;
      // A rhythm continues if the same rhythm is requested again.
      if (glow.blinkMs !== wanted.blinkMs) {
        timer?.[Symbol.dispose]();
        isLit = true;
        if (glow.blinkMs !== undefined) blink(glow.blinkMs);
      }
      wanted = glow;
      void write();
    },
    [Symbol.dispose]: close,
  };
}
