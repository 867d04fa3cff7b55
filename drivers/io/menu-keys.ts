/**
 * Controllers, keyboards and remote controls, as keys of a menu (linux/input-event-codes.h; Documentation/input/gamepad.rst). A
 * directional pad or a stick counts as the arrows. Other programs still get the events.
 */
import type { MenuKey, MenuKeyEvent, OpenMenuKeys } from "../../src/core/operating-system.ts";
import { ioctlFilled } from "./libc.ts";
import { type EventBits, inputEvents, keyType, openInputNode } from "./pressed-keys.ts";

const keys = new Map<number, MenuKey>([
  // Keyboards and remote controls.
  [103, "up"], // KEY_UP
  [108, "down"], // KEY_DOWN
  [105, "left"], // KEY_LEFT
  [106, "right"], // KEY_RIGHT
  [28, "enter"], // KEY_ENTER
  [96, "enter"], // KEY_KPENTER
  [352, "ok"], // KEY_OK
  [353, "ok"], // KEY_SELECT
  [1, "back"], // KEY_ESC
  [14, "back"], // KEY_BACKSPACE
  [158, "back"], // KEY_BACK
  [174, "back"], // KEY_EXIT
  [139, "menu"], // KEY_MENU
  [141, "menu"], // KEY_SETUP
  [172, "menu"], // KEY_HOMEPAGE
  [0x26a, "menu"], // KEY_ROOT_MENU
  [0x26b, "menu"], // KEY_MEDIA_TOP_MENU
  [104, "previous-page"], // KEY_PAGEUP
  [109, "next-page"], // KEY_PAGEDOWN
  [402, "previous-page"], // KEY_CHANNELUP
  [403, "next-page"], // KEY_CHANNELDOWN
  // Gamepads that have the buttons of the kernel's document.
  [0x130, "ok"], // BTN_SOUTH
  [0x131, "back"], // BTN_EAST
  [0x136, "previous-page"], // BTN_TL
  [0x137, "next-page"], // BTN_TR
  [0x13a, "menu"], // BTN_SELECT
  [0x13b, "ok"], // BTN_START
  [0x13c, "menu"], // BTN_MODE
  [0x220, "up"], // BTN_DPAD_UP
  [0x221, "down"], // BTN_DPAD_DOWN
  [0x222, "left"], // BTN_DPAD_LEFT
  [0x223, "right"], // BTN_DPAD_RIGHT
  // Some pads only number their buttons. The order is that of most copies of the pad of the Super Nintendo: X, A, B, Y, L,
  // R, -, -, Select, Start.
  [0x121, "ok"],
  [0x122, "back"],
  [0x124, "previous-page"],
  [0x125, "next-page"],
  [0x128, "menu"],
  [0x129, "ok"],
]);

const gamepad = 0x130; // BTN_GAMEPAD
const joystick = 0x120; // BTN_JOYSTICK
const arrowUp = 103;
const arrowDown = 108;

const syncType = 0; // EV_SYN
const dropped = 3; // SYN_DROPPED: the kernel had no room for some events.
const axisType = 3; // EV_ABS
const repeated = 2;
interface Axis {
  readonly low: MenuKey;
  readonly high: MenuKey;
}
const across: Axis = { low: "left", high: "right" };
const upright: Axis = { low: "up", high: "down" };
const axes = new Map<number, Axis>([
  [0, across], // ABS_X
  [1, upright], // ABS_Y
  [16, across], // ABS_HAT0X
  [17, upright], // ABS_HAT0Y
]);

export interface AxisRange {
  readonly min: number;
  readonly max: number;
}

const axisRequest = 0x8018_4540; // EVIOCGABS(0), struct input_absinfo of 24 bytes.
const axisBytes = 24;

export const openMenuKeys: OpenMenuKeys = (path, isWanted, listener) => {
  let read: ((bytes: Uint8Array) => readonly MenuKeyEvent[]) | undefined;
  return openInputNode(
    path,
    ({ fd, name, hasKey }) => {
      if (!hasMenuKeys(hasKey) || !isWanted({ name })) return false;
      read = menuKeyReader((code) => axisRange(fd, code));
      return true;
    },
    { bytes: (bytes) => read?.(bytes).forEach(listener.event), gone: listener.gone },
  );
};

/** True for a device with keys of a menu. A mouse or a touchpad has neither the buttons of a controller nor arrows. */
export function hasMenuKeys(has: EventBits): boolean {
  return has(gamepad) || has(joystick) || (has(arrowUp) && has(arrowDown));
}

function axisRange(fd: number, code: number): AxisRange | undefined {
  const info = new Uint8Array(axisBytes);
  if (!ioctlFilled(fd, axisRequest + code, info)) return undefined;
  const view = new DataView(info.buffer);
  return { min: view.getInt32(4, true), max: view.getInt32(8, true) };
}

/** Turns events into keys, each down once and up once. A stick counts as pressed from half of its way on. */
export function menuKeyReader(
  rangeOf: (code: number) => AxisRange | undefined,
): (bytes: Uint8Array) => readonly MenuKeyEvent[] {
  const held = new Map<number, MenuKey | undefined>();
  const ranges = new Map<number, AxisRange | undefined>();
  const rangeAt = (code: number) => {
    if (!ranges.has(code)) ranges.set(code, rangeOf(code));
    return ranges.get(code);
  };
  return (bytes) =>
    inputEvents(bytes).flatMap(({ type, code, value }): readonly MenuKeyEvent[] => {
      // The lost events may include a release.
      if (type === syncType && code === dropped) {
        held.clear();
        return [{ key: "back", isDown: false }];
      }
      const key = type === keyType ? keys.get(code) : undefined;
      if (key !== undefined) return value === repeated ? [] : [{ key, isDown: value !== 0 }];
      const axis = type === axisType ? axes.get(code) : undefined;
      const range = axis && rangeAt(code);
      if (axis === undefined || range === undefined) return [];
      const now = keyOfAxis(axis, range, value);
      const before = held.get(code);
      if (now === before) return [];
      held.set(code, now);
      return [
        ...(before === undefined ? [] : [{ key: before, isDown: false }]),
        ...(now === undefined ? [] : [{ key: now, isDown: true }]),
      ];
    });
}

function keyOfAxis({ low, high }: Axis, { min, max }: AxisRange, value: number): MenuKey | undefined {
  const quarter = (max - min) / 4;
  if (value <= min + quarter) return low;
  return value >= max - quarter ? high : undefined;
}
