/** Virtual keyboards and gamepads, the writing of tags, and the feedback to a tap: sounds, and the lights of readers. */
import { join } from "node:path";
import type { Bus } from "../bus.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import { isOnPurpose } from "../core/faults.ts";
import type { Log } from "../core/log.ts";
import type { OpenInputDevice } from "../core/operating-system.ts";
import type { LaunchFinished } from "../events.ts";
import { createVirtualInput } from "../launch/ports/virtual-input.ts";
import type { Readers } from "../readers/readers.ts";
import type { WriteRequest } from "../readers/writing.ts";
import { refuseFull } from "../screen/screenshot.ts";
import { soundsFolder } from "../system/player-places.ts";
import { createSounds } from "../system/sound.ts";
import { captureScreen } from "./screen.ts";

interface DeviceParts {
  readonly openInput: OpenInputDevice;
  /** Shows a pairing code on the screen. */
  readonly pair: () => Promise<void>;
  /** Switches the device off; rejects if the service may not do that. */
  readonly shutdown: () => Promise<void>;
  readonly readers: () => Readers;
  readonly settings: Settings;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataFolder: string;
  /** The path of the socket. The files of the sounds are in the same folder. */
  readonly socketPath: string;
}

// For this time the launch has the processor to itself. The time is too short to be heard.
const behindTapMs = 30;

export type AllDevices = ReturnType<typeof createDevices>;

export function createDevices(parts: DeviceParts) {
  const { openInput, pair, shutdown, dataFolder, readers, settings, bus, clock, log, socketPath } = parts;
  const screenshots = join(dataFolder, "screenshots");
  const virtual = createVirtualInput({
    open: openInput,
    isAllowed: () => settings.current().script.allowInput,
    clock,
    log,
  });
  const sounds = createSounds({
    folder: soundsFolder({ socketPath }),
    isOn: settings.current().audio.feedback,
    clock,
    log,
  });
  const following = new DisposableStack();
  const write = async (request: WriteRequest, signal?: AbortSignal) => {
    try {
      await readers().write(request, signal);
    } catch (error) {
      sounds.play("failed");
      throw error;
    }
    sounds.play("written");
  };
  return {
    input: virtual.play,
    pair,
    shutdown,
    captureScreen: () => captureScreen(screenshots, clock, settings.current().television),
    refuseFullScreenshots: () => refuseFull(screenshots),
    inputText: virtual.playText,
    write,
    writeTag: write,
    /** Plays sounds from now on. It subscribes after all parts that launch, so a sound comes last in a tap. */
    startSounds() {
      const subscriptions = [
        bus.on("tokens.added", () => void clock.after(behindTapMs, () => sounds.play("scanned"))),
        bus.on("launch.guarded", () => sounds.play("guarded")),
        bus.on("launch.finished", (launch) => {
          if (hasFailed(launch)) sounds.play("failed");
        }),
        bus.on("playtime.warning", () => sounds.play("warning")),
        showOnReaders({ bus, clock, behindTapMs, readers }),
        settings.onChange((now) => sounds.configure(now.audio.feedback)),
      ];
      for (const one of subscriptions) following.use(one);
      sounds.play("ready");
    },
    close() {
      virtual.close();
      following.dispose();
      return sounds.close();
    },
  };
}

/** False for a launch that ended on purpose, and for a card that was held back: its own sound has asked for a second tap. */
function hasFailed({ success, reason }: LaunchFinished): boolean {
  return !success && !isOnPurpose(reason) && reason !== "held-back";
}

interface ReaderSignalParts {
  readonly bus: Bus;
  readonly clock: Clock;
  /** The delay after a tap, so the launch comes first. */
  readonly behindTapMs: number;
  readonly readers: () => Pick<Readers, "tokens" | "signal">;
}

/**
 * Shows on the lights of readers that a card was read, and that its launch failed. The readers themselves apply the settings
 * for lights and buzzers.
 */
export function showOnReaders({ bus, clock, behindTapMs, readers }: ReaderSignalParts): Disposable {
  const later = (show: () => void) => void clock.after(behindTapMs, show);
  /** The reader that has this card, or had it before; undefined if no reader has seen the card. */
  const readerOf = (uid: string) => {
    const { active, last } = readers().tokens();
    const seen = last === undefined ? active : [...active, last];
    return uid === "" ? undefined : seen.find((token) => token.uid === uid)?.readerId;
  };
  const following = new DisposableStack();
  following.use(bus.on("tokens.added", ({ readerId }) => later(() => readers().signal(readerId, "scanned"))));
  following.use(
    bus.on("launch.finished", (launch) => {
      if (!hasFailed(launch)) return;
      later(() => {
        const readerId = readerOf(launch.uid);
        if (readerId !== undefined) readers().signal(readerId, "failed");
      });
    }),
  );
  return following;
}
