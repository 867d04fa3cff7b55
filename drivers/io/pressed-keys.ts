/**
 * Buttons, keys and knobs of an input device (linux/input.h), read beside other programs, which still get the events.
 * Layouts and numbers are equal on x86-64 and arm64.
 */
import { closeSync, constants, openSync } from "node:fs";
import type { ButtonDevice, OpenButtons } from "../../src/core/operating-system.ts";
import { streamFd } from "./fd-stream.ts";
import { ioctlFilled } from "./libc.ts";

const evdevRequests = {
  name: 0x81004506, // EVIOCGNAME(256)
  keyBits: 0x80604521, // EVIOCGBIT(EV_KEY, 96)
  turnBits: 0x80024522, // EVIOCGBIT(EV_REL, 2)
} as const;

const nameBytes = 256;
const keyBytes = 96;
const turnBytes = 2;
const eventBytes = 24; // The size of struct input_event: time 16, type 2, code 2, value 4.
const eventAt = { type: 16, code: 18, value: 20 };
export const keyType = 1; // EV_KEY
const turnType = 2; // EV_REL
const pressed = 1;

/** Bits of the kernel, by the number of the key or knob. */
export type EventBits = (code: number) => boolean;

interface InputNode {
  readonly fd: number;
  readonly name: string;
  readonly hasKey: EventBits;
  readonly hasTurn: EventBits;
}

/** Opens the device at `path` if it is wanted; undefined if it is not, or cannot be opened. */
export function openInputNode(
  path: string,
  isWanted: (node: InputNode) => boolean,
  listener: { readonly bytes: (bytes: Uint8Array) => void; readonly gone: () => void },
): ButtonDevice | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // The device is gone, or this user may not open it.
    return undefined;
  }
  const name = new Uint8Array(nameBytes);
  const keys = new Uint8Array(keyBytes);
  const turns = new Uint8Array(turnBytes);
  // A device without keys, or without knobs, has no bits of that kind.
  const isInput = ioctlFilled(fd, evdevRequests.name, name);
  ioctlFilled(fd, evdevRequests.keyBits, keys);
  ioctlFilled(fd, evdevRequests.turnBits, turns);
  const node = { fd, name: textIn(name), hasKey: bitsOf(keys), hasTurn: bitsOf(turns) };
  if (!isInput || !isWanted(node)) {
    closeSync(fd);
    return undefined;
  }
  const stream = streamFd(fd, listener);
  return { name: node.name, close: () => void stream.close() };
}

export const openButtons: OpenButtons = (path, isWanted, listener) =>
  openInputNode(
    path,
    ({ name, hasKey, hasTurn }) =>
      isWanted({ name, has: ({ kind, code }) => (kind === "key" ? hasKey : hasTurn)(code) }),
    { bytes: (bytes) => buttonEvents(bytes).forEach(listener.event), gone: () => listener.gone() },
  );

function bitsOf(bytes: Uint8Array): EventBits {
  return (code) => ((bytes[code >> 3] ?? 0) & (1 << (code & 7))) !== 0;
}

function textIn(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

export interface InputEvent {
  readonly type: number;
  readonly code: number;
  readonly value: number;
}

/** The structures `input_event` in these bytes. The kernel gives only whole structures. */
export function inputEvents(bytes: Uint8Array): readonly InputEvent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const events: InputEvent[] = [];
  for (let at = 0; at + eventBytes <= bytes.length; at += eventBytes)
    events.push({
      type: view.getUint16(at + eventAt.type, true),
      code: view.getUint16(at + eventAt.code, true),
      value: view.getInt32(at + eventAt.value, true),
    });
  return events;
}

/** Presses, and steps of knobs. Releases and repetitions are left out. */
export function buttonEvents(bytes: Uint8Array) {
  const events: { readonly kind: "key" | "turn"; readonly code: number; readonly steps: number }[] = [];
  for (const { type, code, value } of inputEvents(bytes)) {
    if (type === keyType && value === pressed) events.push({ kind: "key", code, steps: 1 });
    if (type === turnType && value !== 0) events.push({ kind: "turn", code, steps: value });
  }
  return events;
}
