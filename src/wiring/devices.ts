/**
 * Devices beside readers and players: virtual keyboards and gamepads, tags that are written, and the sounds that tell how it
 * went.
 */
import { dirname, join } from "node:path";
import type { Bus } from "../bus.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { OpenInputDevice } from "../core/operating-system.ts";
import type { LaunchFinished } from "../events.ts";
import type { Devices } from "../launch/ports/device-ports.ts";
import { createVirtualInput, type VirtualInput } from "../launch/ports/virtual-input.ts";
import type { Readers } from "../readers/readers.ts";
import type { WriteRequest } from "../readers/writing.ts";
import { createSounds } from "../system/sound.ts";
import { showOnReaders } from "./reader-signals.ts";

export interface DeviceParts {
  readonly openInput: OpenInputDevice;
  /** Shows on the screen how a phone is let in. */
  readonly pair: () => Promise<void>;
  /** Undefined while the service starts. */
  readonly readers: () => Readers | undefined;
  readonly settings: Settings;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** The files of the sounds are put beside it. */
  readonly socketPath: string;
}

export interface AllDevices extends Devices {
  /** As `Services.input` of the API. */
  readonly inputText: VirtualInput["playText"];
  /** As `Services.write` of the API. */
  write(request: WriteRequest, signal?: AbortSignal): Promise<void>;
  /** Is heard from now on. To be called behind all that launches, so that a sound comes last in a tap. */
  startSounds(): void;
  close(): Promise<void>;
}

// The start of what the card asks for has the processor to itself; nobody hears so little.
const behindTapMs = 30;

export function createDevices(parts: DeviceParts): AllDevices {
  const { openInput, pair, readers, settings, bus, clock, log, socketPath } = parts;
  const virtual = createVirtualInput({
    open: openInput,
    isAllowed: () => settings.current().script.allowInput,
    clock,
    log,
  });
  const sounds = createSounds({
    folder: join(dirname(socketPath), "tapdeck-sounds"),
    isOn: settings.current().audio.feedback,
    clock,
    log,
  });
  const following: Disposable[] = [];
  /** Held back by the launch guard, and not told yet that it has ended. */
  let held: Launch | undefined;
  const write: AllDevices["write"] = async (request, signal) => {
    const ready = readers();
    if (ready === undefined)
      throw new ServiceError("no-reader", "the service is still starting: try again", { isPublic: true });
    try {
      await ready.write(request, signal);
    } catch (error) {
      sounds.play("failed");
      throw error;
    }
    sounds.play("written");
  };
  return {
    input: virtual.play,
    pair,
    inputText: virtual.playText,
    write,
    writeTag: write,
    startSounds() {
      following.push(
        bus.on("tokens.added", () => void clock.after(behindTapMs, () => sounds.play("scanned"))),
        bus.on("launch.guarded", ({ time, uid, text }) => {
          held = { time, uid, text };
          sounds.play("guarded");
        }),
        bus.on("launch.finished", (launch) => {
          // A card that was held back did not fail: its own sound asks for it once more.
          const wasHeld = isSame(held, launch);
          if (wasHeld) held = undefined;
          if (!launch.success && !wasHeld) sounds.play("failed");
        }),
        bus.on("playtime.warning", () => sounds.play("warning")),
        showOnReaders({ bus, clock, behindTapMs, readers }),
        settings.onChange((now) => sounds.configure(now.audio.feedback)),
      );
      sounds.play("ready");
    },
    close() {
      virtual.close();
      for (const one of following) one[Symbol.dispose]();
      return sounds.close();
    },
  };
}

type Launch = Pick<LaunchFinished, "time" | "uid" | "text">;

function isSame(one: Launch | undefined, other: Launch): boolean {
  return one?.time === other.time && one.uid === other.uid && one.text === other.text;
}
