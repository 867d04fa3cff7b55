/** The input devices that one part of the service reads, and those that appear later. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { watchFolder } from "../config/watch-files.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { ButtonDevice } from "../core/operating-system.ts";

// Nodes appear one by one, and get their group a moment later.
const settleMs = 300;
/** Devices that the service makes itself. A script must not press a button that runs a script. */
const ownDevices = /^Tapdeck (keyboard|gamepad)/;

export function isOwnDevice(name: string): boolean {
  return ownDevices.test(name);
}

interface InputDeviceParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Names the part in the log. */
  readonly part: string;
  /** Opens a device; undefined if it is not wanted. */
  readonly open: (path: string, gone: () => void) => ButtonDevice | undefined;
  /** The folder of the device nodes. */
  readonly folder: string;
}

export interface InputDevices extends Disposable {
  /** Opens the devices that exist, and those that appear. A second call does nothing. */
  hear(): void;
  /** Closes all devices, and watches no folder. */
  rest(): void;
}

export function followInputDevices({ clock, log, part, open, folder }: InputDeviceParts): InputDevices {
  const devices = new Map<string, ButtonDevice>();
  let watching: Disposable | undefined;
  let settling: Disposable | undefined;

  const openOne = (path: string) => {
    const device = open(path, () => {
      devices.get(path)?.close();
      devices.delete(path);
    });
    if (device === undefined) return;
    devices.set(path, device);
    log.info(part, "an input device is heard", { path, name: device.name });
  };
  const look = () => {
    let names: readonly string[] = [];
    try {
      names = readdirSync(folder).filter((name) => name.startsWith("event"));
    } catch {
      // The folder does not exist, because there are no input devices.
    }
    for (const name of names) if (!devices.has(join(folder, name))) openOne(join(folder, name));
  };
  const rest = () => {
    settling?.[Symbol.dispose]();
    watching?.[Symbol.dispose]();
    watching = undefined;
    for (const device of devices.values()) device.close();
    devices.clear();
  };
  return {
    hear() {
      if (watching !== undefined) return;
      // The kernel removes the folder with its last device.
      watching = watchFolder(folder, () => {
        settling?.[Symbol.dispose]();
        settling = clock.after(settleMs, look);
      });
      look();
    },
    rest,
    [Symbol.dispose]: rest,
  };
}
