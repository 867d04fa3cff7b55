/**
 * Controls the television over HDMI CEC. Media that start switch it on and select this device. Its remote control works
 * on them, its standby pauses them, and it can be sent to standby after the last media. Opcodes and codes of keys are
 * those of HDMI 1.4b, supplement 1 (CEC), tables 8 to 30.
 */
import { existsSync } from "node:fs";
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { ActiveMedia } from "../core/media.ts";
import type { OpenTelevision, TelevisionLine } from "../core/operating-system.ts";
import { type ControlAction, gameLauncherId } from "../core/playback.ts";

/** The adapter of the first HDMI socket, and that of the second one on a board with two. */
const paths = ["/dev/cec0", "/dev/cec1"] as const;
const television = 0;
const everyone = 15;

const opcodes = {
  featureAbort: 0x00,
  imageViewOn: 0x04,
  giveDeckStatus: 0x1a,
  deckStatus: 0x1b,
  standby: 0x36,
  keyPressed: 0x44,
  keyReleased: 0x45,
  routingChange: 0x80,
  activeSource: 0x82,
  requestActiveSource: 0x85,
  setStreamPath: 0x86,
  menuRequest: 0x8d,
  menuStatus: 0x8e,
  givePowerStatus: 0x8f,
  reportPowerStatus: 0x90,
  inactiveSource: 0x9d,
} as const;

const deckPlays = 0x11;
const deckHasNoMedia = 0x1a;
const isOn = 0;
const menuIsActive = 0;
const unknownOpcode = 0;
const stepMs = 10_000;
/** The next item of a list starts at once. A person who puts another card on the reader needs longer. */
const nextMs = 2000;

/** A television repeats the message of a held key after 200 to 500 ms (HDMI 1.4b, CEC 13.13). */
const heldMs = 550;

/** The keys of remote controls that control songs and films. Games get them from the kernel as keys of a keyboard. */
const keys: ReadonlyMap<number, ControlAction> = new Map<number, ControlAction>([
  [0x00, { kind: "toggle" }], // Select
  [0x0d, { kind: "stop" }], // Exit
  [0x44, { kind: "resume" }],
  [0x45, { kind: "stop" }],
  [0x46, { kind: "toggle" }],
  [0x48, { kind: "rewind", to: { kind: "by", ms: -stepMs } }],
  [0x49, { kind: "fast-forward", to: { kind: "by", ms: stepMs } }],
  [0x4b, { kind: "next" }],
  [0x4c, { kind: "previous" }],
  [0x60, { kind: "resume" }], // Play function
  [0x61, { kind: "toggle" }], // Pause-play function
  [0x64, { kind: "stop" }], // Stop function
]);

export interface TelevisionOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly open: OpenTelevision;
  readonly settings: () => { readonly wake: boolean; readonly standbyMinutes: number };
  readonly playing: () => Pick<ActiveMedia, "launcherId"> | undefined;
  readonly control: (action: ControlAction) => Promise<void>;
}

/** Follows the television at each adapter. A machine without an adapter does no work for it. */
export function followTelevision(options: TelevisionOptions): Disposable {
  const following = new DisposableStack();
  for (const path of paths) {
    const line = existsSync(path) ? options.open(path, "Tapdeck") : undefined;
    if (line === undefined) continue;
    options.log.info("television", "an HDMI CEC adapter is there", { path });
    following.use(followLine(line, options));
  }
  return following;
}

/** Like `followTelevision`, over an open line. */
export function followLine(line: TelevisionLine, options: TelevisionOptions): Disposable {
  const { bus, clock, log, settings } = options;
  const following = new DisposableStack();
  following.defer(() => line.close());
  /** Whether the television shows this device, according to its messages. */
  let isShown = false;
  let standby: Disposable | undefined;
  const bytesOf = (address: number) => [address >> 8, address & 0xff];
  const claimScreen = () => {
    const address = line.physicalAddress();
    if (address === undefined) return;
    isShown = line.send(everyone, [opcodes.activeSource, ...bytesOf(address)]);
  };
  /** Runs for a moment after media have ended by themselves. */
  let ended: Disposable | undefined;
  const wake = () => {
    // The next song of a list must not end a broadcast that the family has begun to watch.
    if (ended !== undefined || !settings().wake) return;
    line.send(television, [opcodes.imageViewOn]);
    claimScreen();
  };
  const waitForStandby = () => {
    const { standbyMinutes } = settings();
    standby?.[Symbol.dispose]();
    standby = standbyMinutes === 0 ? undefined : clock.after(standbyMinutes * 60_000, sleep);
  };
  const sleep = () => {
    // The owner may have switched it off since the media ended.
    if (!isShown || options.playing() !== undefined || settings().standbyMinutes === 0) return;
    log.info("television", "it is sent to standby: nothing has played for a while");
    line.send(television, [opcodes.standby]);
    isShown = false;
  };
  /** The key that is held, until its release or the end of its repeats. */
  let held: { readonly key: number; readonly timer: Disposable } | undefined;
  const release = () => {
    held?.timer[Symbol.dispose]();
    held = undefined;
  };
  const answer = createAnswers(line, {
    isShown: () => isShown,
    isOurs: (address) => address === line.physicalAddress(),
    claimScreen,
    leave() {
      isShown = false;
    },
    standby() {
      isShown = false;
      if (settings().wake) rest(options);
    },
    press(key) {
      const isRepeat = held?.key === key;
      release();
      held = { key, timer: clock.after(heldMs, release) };
      press(key, isRepeat, options);
    },
    release,
    isPlaying: () => options.playing() !== undefined,
  });
  line.onMessages(() => {
    for (const message of line.receive()) answer(message);
  });
  following.defer(() => standby?.[Symbol.dispose]());
  following.defer(() => ended?.[Symbol.dispose]());
  following.defer(release);
  following.use(
    bus.on("media.started", () => {
      standby?.[Symbol.dispose]();
      wake();
    }),
  );
  following.use(
    bus.on("media.stopped", ({ reason }) => {
      ended?.[Symbol.dispose]();
      ended = reason === "ended" ? clock.after(nextMs, () => (ended = undefined)) : undefined;
      waitForStandby();
    }),
  );
  return following;
}

interface Answering {
  readonly isShown: () => boolean;
  readonly isOurs: (address: number) => boolean;
  readonly isPlaying: () => boolean;
  readonly claimScreen: () => void;
  readonly leave: () => void;
  readonly standby: () => void;
  readonly press: (key: number) => void;
  readonly release: () => void;
}

/** Answers the messages that the kernel leaves to a program. */
function createAnswers(line: TelevisionLine, deck: Answering): (message: Uint8Array) => void {
  return (message) => {
    const [header = 0, opcode, first = 0, second = 0] = message;
    const from = header >> 4;
    const isForAll = (header & 0xf) === everyone;
    // A message with a header alone asks whether a device is there.
    if (opcode === undefined) return;
    switch (opcode) {
      case opcodes.standby:
        return deck.standby();
      case opcodes.keyPressed:
        return deck.press(first);
      case opcodes.keyReleased:
        return deck.release();
      case opcodes.featureAbort:
        return;
      case opcodes.activeSource:
        return deck.leave();
      case opcodes.routingChange:
        // The second address is the new address.
        return deck.isOurs(((message[4] ?? 0) << 8) | (message[5] ?? 0)) ? deck.claimScreen() : deck.leave();
      case opcodes.setStreamPath:
        return deck.isOurs((first << 8) | second) ? deck.claimScreen() : deck.leave();
      case opcodes.requestActiveSource:
        return deck.isShown() ? deck.claimScreen() : undefined;
      case opcodes.givePowerStatus:
        return void line.send(from, [opcodes.reportPowerStatus, isOn]);
      case opcodes.menuRequest:
        return void line.send(from, [opcodes.menuStatus, menuIsActive]);
      case opcodes.giveDeckStatus:
        return void line.send(from, [opcodes.deckStatus, deck.isPlaying() ? deckPlays : deckHasNoMedia]);
      default:
        if (!isForAll) line.send(from, [opcodes.featureAbort, opcode, unknownOpcode]);
    }
  };
}

/** The act at a standby of the television: media that can pause do so, and a game first saves a state. */
function rest({ playing, control, log }: TelevisionOptions): void {
  const now = playing();
  if (now === undefined) return;
  log.info("television", "it went to standby: the media are paused");
  const pause = async () => {
    if (now.launcherId === gameLauncherId) await control({ kind: "save-state" });
    await control({ kind: "pause" });
  };
  // A program that cannot pause continues to play.
  void pause().catch((error: unknown) => log.debug("television", messageOf(error)));
}

/** A key that is held moves on, and does everything else once. */
function press(key: number, isRepeat: boolean, { playing, control, log }: TelevisionOptions): void {
  const action = keys.get(key);
  const now = playing();
  if (isRepeat && action !== undefined && !("to" in action)) return;
  // A game gets these keys as keys of a keyboard.
  if (action === undefined || now === undefined || now.launcherId === gameLauncherId) return;
  void control(action).catch((error: unknown) => log.debug("television", messageOf(error)));
}
