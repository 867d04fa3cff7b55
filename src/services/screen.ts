/**
 * The status screen of a board while nothing plays: a picture if the machine has a frame buffer, otherwise text. An image
 * names the terminal in TAPDECK_SCREEN. Something is drawn or written only when it changed. While a player runs, only the
 * picture of its start is drawn.
 */
import { stat } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { screenWriteMsMax } from "../core/console-limits.ts";
import { messageOf } from "../core/errors.ts";
import { type Fault, faultSentence } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import type { ScreenView, TelevisionLanguage } from "../core/playback.ts";
import { createCoalesced } from "../core/serial-queue.ts";
import type { WifiState } from "../core/wifi-shapes.ts";
import {
  type Canvas,
  canvasOf,
  displayUser,
  type FrameBuffer,
  findFrameBuffer,
  isDisplayTaken,
  type PackedFrame,
  writePacked,
} from "../screen/frame-buffer.ts";
import { createPainter, type Painter } from "../screen/painter.ts";
import {
  type Ending,
  isEnding,
  type Picture,
  pictureOf,
  type ShownAct,
  type ShownMenu,
  type ShownPairing,
  startingOf,
} from "../screen/picture.ts";
import { saveScreenshot } from "../screen/screenshot.ts";
import { type ScreenPlace, screenSvg, screenTexts } from "../screen/status-template.ts";
import { ownAddresses, ownNames, reachOf } from "../system/addresses.ts";
import { pairingText, screenText, writeTerminal } from "./console-text.ts";
import { createMenuPen } from "./menu-pen.ts";
import { type FactParts, followFacts } from "./screen-facts.ts";

export interface ScreenOptions extends FactParts {
  /** The path of the terminal; that of TAPDECK_SCREEN if absent. */
  readonly path?: string;
  readonly port: number;
  /** The faults of the machine's start; absent means none. */
  readonly faults?: () => readonly Fault[];
  /** The language of the texts; English if absent. */
  readonly language?: () => TelevisionLanguage;
  /** How pictures are placed on the screen; if absent, on the whole screen and not rotated. */
  readonly view?: () => ScreenView;
  /** Whether the device plays games; absent means no. */
  readonly hasGames?: boolean;
  /** Names and addresses by which phones reach the page, the best first, and its port. */
  readonly place: () => Promise<{ readonly hosts: readonly string[]; readonly port: number }>;
  /** The state of the Wi-Fi; absent if the device has no Wi-Fi of its own. */
  readonly wifi?: () => WifiState;
  readonly log: Log;
  /** Finds the frame buffer. If absent, that of the machine, provided that the terminal is the machine's console. */
  readonly findFrame?: () => Promise<FrameBuffer | undefined>;
  readonly painter?: Painter;
  /** Whether a program uses the display. If absent, the check looks for a process of this user with a display. */
  readonly isTaken?: () => Promise<boolean>;
}

// This process gets no event for a new address. It therefore polls, about as often as a person would look.
const lookMs = 5000;
// A screenshot looks in this interval whether a drawing has been written.
const screenLookMs = 20;
// After each interval of this length at rest, the picture moves. Televisions switch themselves off after hours, and
// projectors never do.
const restMs = 10 * 60_000;
// A start has priority, and a burst of events causes one drawing.
const drawDelayMs = 150;
// A drawing that failed is tried again after this time, because the memory of a board may have been full.
const drawAgainMs = 5 * 60_000;
// A name is drawn only if the start takes three times as long as a drawing. The time has these bounds. A drawing takes more
// time than RetroArch's start.
const namelessMs = { min: 1500, max: 8000 } as const;
const namelessDrawings = 3;

export interface Screen {
  /** False if the device has no screen, or a screen that cannot be written. */
  readonly isThere: boolean;
  /** Replaces every other picture until the result is disposed, or until another pairing is shown. */
  showPairing(pairing: ShownPairing): Disposable;
  /** Shows an act of an owner over the network for a minute. */
  showAct(act: ShownAct): void;
  /** Whether a menu would be drawn now: the screen shows pictures, and no other picture needs it. */
  canShowMenu(): boolean;
  /** Replaces the status until the next call; the tile at `chosen` gets a border. Undefined ends the menu. */
  showMenu(menu: ShownMenu | undefined, chosen?: number): void;
  /** Moves the border in the menu that is shown, without drawing the menu again. */
  chooseTile(place: number): void;
  /** Shows a letter of the chosen key at this index of the text, or removes the letter, without drawing the menu again. */
  showTyped(index: number, isGone: boolean): void;
  /** Shows this level, in percent, on a page that has one, without a drawing. */
  showLevel(percent: number): void;
  /** The tiles in a row of the menu that is drawn. */
  menuColumns(): number;
  /** The menu that is drawn at present. */
  drawnMenu(): ShownMenu | undefined;
  /** Reads all facts again that the screen shows. */
  refresh(): void;
  /** Shows that the machine ends, also after `close`. Resolves once the picture is drawn, or if it need not be drawn. */
  showEnding(how: Ending): Promise<void>;
  /** Restores the console's text, unless the machine ends. */
  close(): Promise<void>;
}

const noScreen: Screen = {
  isThere: false,
  showPairing: () => new DisposableStack(),
  showAct() {},
  canShowMenu: () => false,
  showMenu() {},
  chooseTile() {},
  showTyped() {},
  showLevel() {},
  menuColumns: () => 1,
  drawnMenu: () => undefined,
  refresh() {},
  async showEnding() {},
  async close() {},
};

/** Keeps the screen up to date until closed. A screen that cannot be written is logged once, and not tried again. */
export function followScreen(options: ScreenOptions): Screen {
  const { path = process.env.TAPDECK_SCREEN, clock, log } = options;
  if (path === undefined || path === "") return noScreen;
  const writeText = createTerminal(path, options);
  const drawn = createDrawn(path, options);
  let isClosed = false;
  let isGraphical = false;
  /** Resolves once the end of the machine is drawn. */
  let ending: PromiseWithResolvers<void> | undefined;
  let showing: Promise<void> | undefined;
  /** The time without an event, by the looks: the clock of a board is set on by hours soon after its start. */
  let quietMs = 0;
  let timer: Disposable | undefined;
  let pending: Disposable | undefined;

  const showOnce = async () => {
    if (isClosed) return;
    const { notice, ending: shownEnding, isPlaying } = facts.now();
    isGraphical = await drawn.show(facts, Math.floor(quietMs / restMs));
    if (!isGraphical && !isClosed) await writeText(facts);
    if (drawn.isLate()) return;
    facts.wasDrawn(notice);
    if (!isGraphical || (shownEnding !== undefined && !isPlaying)) ending?.resolve();
  };
  const draw = createCoalesced(() =>
    showOnce().catch((error: unknown) => {
      isClosed = true;
      ending?.resolve();
      log.warn("screen", "cannot be written", { path, error: messageOf(error) });
    }),
  );
  const show = () => {
    pending?.[Symbol.dispose]();
    pending = undefined;
    if (!isClosed) showing = draw();
  };
  const changed = () => {
    quietMs = 0;
    if (isGraphical) pending ??= clock.after(drawDelayMs, show);
    else show();
  };
  const facts = followFacts(options, changed, drawn.namelessMs);
  // The player needs the processor more than a drawing does.
  const listening = options.bus.on("media.started", drawn.interrupt);
  const lookAgain = () => {
    facts.settle();
    quietMs += lookMs;
    show();
    timer = isClosed ? undefined : clock.after(lookMs, lookAgain);
  };
  show();
  timer = clock.after(lookMs, lookAgain);
  return {
    get isThere() {
      return !isClosed;
    },
    showPairing(pairing) {
      facts.setPairing(pairing);
      return {
        [Symbol.dispose]() {
          if (facts.pairing() === pairing) facts.setPairing(undefined);
        },
      };
    },
    showAct: facts.showAct,
    canShowMenu() {
      const { isPlaying, pairing, ending: machineEnds } = facts.now();
      return isGraphical && !isClosed && !isPlaying && pairing === undefined && machineEnds === undefined;
    },
    showMenu(menu, chosen = 0) {
      drawn.pen.expect(chosen);
      facts.setMenu(menu);
      quietMs = 0;
      show();
    },
    chooseTile: drawn.pen.choose,
    showTyped: drawn.pen.type,
    showLevel: drawn.pen.level,
    menuColumns: drawn.pen.columns,
    drawnMenu: drawn.pen.menu,
    refresh: changed,
    async showEnding(how) {
      if (isClosed) return;
      ending ??= Promise.withResolvers();
      facts.setEnding(how);
      await ending.promise;
    },
    async close() {
      isClosed = true;
      timer?.[Symbol.dispose]();
      pending?.[Symbol.dispose]();
      facts[Symbol.dispose]();
      listening[Symbol.dispose]();
      drawn.cancel();
      await showing;
      ending?.resolve();
      if (ending === undefined) await drawn.giveBack();
    },
  };
}

/** Makes the writer of the terminal's text, which writes only a changed text. */
function createTerminal(path: string, { port, readers }: ScreenOptions) {
  let last = "";
  return async (facts: Pick<ReturnType<typeof followFacts>, "pairing" | "act">) => {
    const pairing = facts.pairing();
    const [name = ""] = ownNames();
    const addresses = ownAddresses().filter(
      (address) => reachOf(address) === "private" && !address.includes(":"),
    );
    const text =
      pairing === undefined
        ? screenText({ name, addresses, port, readers: readers(), act: facts.act() })
        : pairingText(pairing);
    if (text === last) return;
    await writeTerminal(path, text);
    last = text;
  };
}

// The picture of a start without its name. The job of the idle screen packs it, and the service writes it without a process.
const aStart = startingOf("");
const aGame = startingOf("", true);

/** Makes the picture, as long as drawing works. */
function createDrawn(terminal: string, options: ScreenOptions) {
  const { place, clock, log, hasGames = false, isTaken = isDisplayTaken } = options;
  const findFrame = options.findFrame ?? (() => ownFrame(terminal));
  const painter = options.painter ?? createPainter({ clock });
  const language = () => options.language?.() ?? "en";
  const view = () => options.view?.() ?? { rotation: 0, overscan: 0 };
  const keyIn = (shown: unknown, canvas: Canvas) => keyOf([language(), shown], canvas);
  let last = "";
  /** Runs for a while after a drawing has failed. */
  let broken: Disposable | undefined;
  let isConsoleOurs = false;
  let isCancelled = false;
  let isTold = false;
  let hasFailed = false;
  let isLate = false;
  let drawingMs = 0;
  /** The packed pictures, by `keyOf`. */
  const packed = new Map<string, PackedFrame>();
  const pen = createMenuPen();
  /** The last picture that was shown without a player, for the canvas with this key. */
  let idle: { readonly canvasKey: string; readonly shown: PackedFrame } | undefined;

  const giveBack = async () => {
    if (!isConsoleOurs) return;
    isConsoleOurs = false;
    last = "";
    packed.clear();
    idle = undefined;
    await painter.run({ kind: "text", terminal });
  };
  const draw = async (picture: Picture, place: ScreenPlace, canvas: Canvas): Promise<boolean> => {
    isConsoleOurs = true;
    const svgOf = (shown: Picture) => screenSvg(shown, place, canvas, screenTexts[language()]);
    // A player, or the end of the machine, waits for such a drawing, so no further pictures are packed with it.
    const isAlone = picture.kind === "starting" || picture.kind === "menu" || isEnding(picture);
    const isAhead = (start: Picture) => !isAlone && !packed.has(keyIn(start, canvas));
    const ahead = (hasGames ? [aStart, aGame] : [aStart]).filter(isAhead);
    const { device } = canvas.frame;
    const isKept = !isAlone && picture.kind !== "pairing" && place.rest === 0;
    const svgs = { svg: svgOf(picture), isKept, ahead: ahead.map(svgOf) };
    const result = await painter.run({ kind: "draw", ...svgs, canvas, terminal });
    if (isCancelled) return true;
    isLate = false;
    if (result.kind === "late") {
      isLate = true;
      // The old picture stays, and the next check tries again.
      last = "";
      log.debug("screen", "there was no time to draw it", { device });
      return true;
    }
    if (result.kind === "failed") {
      broken = clock.after(drawAgainMs, () => {
        broken = undefined;
      });
      const say = hasFailed ? log.debug : log.warn;
      hasFailed = true;
      say("screen", "cannot be drawn, and shows text", { device, error: result.why });
      await giveBack();
      return false;
    }
    if (ahead.length > 0) packed.clear();
    for (const [at, start] of ahead.entries()) packed.set(keyIn(start, canvas), result.ahead[at] ?? []);
    if (isKept) idle = { canvasKey: keyIn("idle", canvas), shown: result.shown };
    drawingMs = result.ms;
    if (!result.isConsoleOff && !isTold) {
      isTold = true;
      log.warn("screen", "the console's text may show through", { path: terminal });
    }
    return true;
  };
  return {
    /** Shows the picture. Resolves with true if the screen has a drawing, which may stay. */
    async show(facts: ReturnType<typeof followFacts>, rest: number): Promise<boolean> {
      const frame = broken === undefined ? await findFrame() : undefined;
      if (frame === undefined) {
        await giveBack();
        return false;
      }
      const canvas = canvasOf(frame, view());
      const { hosts, port } = await place();
      const [host] = hosts;
      const picture = pictureOf(facts.now());
      const hasPlayed = facts.hasPlayed();
      if (hasPlayed) last = "";
      if (picture === undefined || isCancelled) return true;
      const isMenuOver = pen.isOver(picture);
      if (isMenuOver) pen.forget();
      // The frame buffer still has the picture of the start or of the menu, and a drawing takes seconds on a busy board.
      if (
        (hasPlayed || isMenuOver) &&
        facts.now().ending === undefined &&
        idle?.canvasKey === keyIn("idle", canvas)
      )
        await writePacked(idle.shown, frame).catch(() => {});
      const base = host === undefined ? undefined : `http://${host}:${port}`;
      const faults = options.faults?.() ?? [];
      // Facts that the screen does not show, such as the free bytes of a full card, cause no drawing.
      const said = faults.map((fault) => faultSentence(fault, screenTexts[language()].faults));
      // The picture of a start has no address, so a changed address does not draw over the player. During a drawing, the menu
      // takes no key.
      const isStart = picture.kind === "starting";
      const hasPlace = !isStart && picture.kind !== "menu" && picture.kind !== "pairing";
      const act = facts.act();
      const wifi = options.wifi?.();
      const key = keyIn(hasPlace ? [picture, base, said, act, wifi, rest] : picture, canvas);
      if (key === last) {
        if (picture.kind === "menu") pen.drawn(facts.now().menu, canvas, false);
        return true;
      }
      const start = packed.get(key);
      // Without a process, only a packed picture is possible. A player keeps the display that it has.
      if (isStart && start === undefined && (picture.name === "" || (await isTaken()))) return true;
      last = key;
      if (start === undefined) {
        const shownMenu = facts.now().menu;
        if (picture.kind === "menu") pen.expect();
        const isDrawn = await draw(
          picture,
          { base, faults, hasGames, act, rest, ...(wifi && { wifi }) },
          canvas,
        );
        if (isDrawn && picture.kind === "menu" && last === key) pen.drawn(shownMenu, canvas, true);
        return isDrawn;
      }
      // The next check detects a frame buffer that is gone.
      await writePacked(start, frame).catch(() => {});
      return true;
    },
    pen,
    /** Whether the last drawing ended too late. */
    isLate: () => isLate,
    /** The time from a start until its name is drawn. */
    namelessMs: () => Math.min(Math.max(namelessMs.min, namelessDrawings * drawingMs), namelessMs.max),
    /** Ends a drawing, which the next check repeats. */
    interrupt: () => painter.cancel(),
    cancel() {
      isCancelled = true;
      broken?.[Symbol.dispose]();
      painter.cancel();
    },
    giveBack,
  };
}

function keyOf(shown: unknown, canvas: Canvas): string {
  return JSON.stringify([shown, canvas]);
}

/** The path of a new picture of the machine's console; undefined if there is no console, or a player uses the display. */
export async function captureScreen(
  folder: string,
  { now }: Pick<Clock, "now">,
  view: ScreenView,
  terminal = process.env.TAPDECK_SCREEN ?? "",
): Promise<string | undefined> {
  const frame = terminal === "" ? undefined : await ownFrame(terminal);
  if (frame === undefined || (await userAfterDrawing()) === "other") return undefined;
  return saveScreenshot(canvasOf(frame, view), folder, now());
}

/** Resolves with the user of the display once this program does not draw, so that no half of a picture is saved. */
async function userAfterDrawing(): Promise<"other" | "own" | undefined> {
  const deadline = performance.now() + screenWriteMsMax;
  for (;;) {
    const user = await displayUser();
    if (user !== "own" || performance.now() > deadline) return user;
    await Bun.sleep(screenLookMs);
  }
}

/** The machine's frame buffer, if the terminal is the machine's console, and no file or serial line. */
async function ownFrame(terminal: string): Promise<FrameBuffer | undefined> {
  return (await isVirtualTerminal(terminal)) ? findFrameBuffer() : undefined;
}

// The major number 4, of which 1 to 63 are virtual terminals (Documentation/admin-guide/devices.txt).
const ttyMajor = 4;
const virtualTerminalsMax = 63;

async function isVirtualTerminal(path: string): Promise<boolean> {
  try {
    const { rdev } = await stat(path);
    const major = (rdev >> 8) & 0xfff;
    const minor = rdev & 0xff;
    return major === ttyMajor && minor >= 1 && minor <= virtualTerminalsMax;
  } catch {
    // The terminal is missing. The code that writes to the terminal reports the error.
    return false;
  }
}
