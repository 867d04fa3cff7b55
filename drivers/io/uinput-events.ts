/**
 * What is said to the kernel's uinput to make a device of keys, and to press them (linux/uinput.h, linux/input.h; the same
 * on x86-64 and arm64, little-endian).
 *
 *   struct uinput_setup, 92 bytes:
 *   0 bustype  2 vendor  4 product  6 version   u16 each (struct input_id)
 *   8 name     80 bytes, ended by a zero
 *   88 ff_effects_max   u32, 0: no force feedback
 *
 *   struct input_event, 24 bytes:
 *   0 time     16 bytes; the kernel puts its own in
 *   16 type u16   18 code u16   20 value s32
 */

const setupBytes = 92;
const nameBytesMax = 79;
const eventBytes = 24;
const busVirtual = 0x06;
const [evSyn, evKey] = [0x00, 0x01];
const synReport = 0x00;

/** `_IOW('U', ...)` and its kin, worked out. */
export const uinputRequests = {
  create: 0x5501,
  destroy: 0x5502,
  setup: 0x405c5503,
  setEventBit: 0x40045564,
  setKeyBit: 0x40045565,
  /** For a name of `sysNameBytes` bytes. */
  sysName: 0x8040552c,
} as const;

export const sysNameBytes = 64;
/** The type of event that a device of keys has; `EV_SYN` every one has. */
export const keyEventType = evKey;

export interface UinputSetup {
  /** What is longer than 79 bytes is cut off. */
  readonly name: string;
  readonly vendor: number;
  readonly product: number;
  readonly version: number;
}

export function encodeSetup({ name, vendor, product, version }: UinputSetup): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(setupBytes);
  const view = new DataView(bytes.buffer);
  for (const [place, value] of [busVirtual, vendor, product, version].entries())
    view.setUint16(2 * place, value, true);
  new TextEncoder().encodeInto(name, bytes.subarray(8, 8 + nameBytesMax));
  return bytes;
}

/** Keys that go down or up one after another, each told on its own: a program must see Shift before the letter. */
export function encodeKeys(codes: readonly number[], isDown: boolean): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(codes.length * 2 * eventBytes);
  const view = new DataView(bytes.buffer);
  const put = (place: number, type: number, code: number, value: number) => {
    view.setUint16(place * eventBytes + 16, type, true);
    view.setUint16(place * eventBytes + 18, code, true);
    view.setInt32(place * eventBytes + 20, value, true);
  };
  for (const [index, code] of codes.entries()) {
    put(2 * index, evKey, code, isDown ? 1 : 0);
    put(2 * index + 1, evSyn, synReport, 0);
  }
  return bytes;
}
