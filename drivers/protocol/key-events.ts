/**
 * Events of Linux input devices, purely (linux/input.h, struct input_event on 64-bit kernels, little-endian):
 *
 *   offset 0         8              16     18     20
 *          seconds   microseconds   type   code   value (signed)      24 bytes
 *
 *   type 0 SYN   code 0: the report is whole; code 3: the kernel's queue was full, and events are lost
 *   type 1 KEY   code: the key (input-event-codes.h); value 1 down, 0 up, 2 repeated
 */
export const eventBytes = 24;

export type KeyEvent =
  | { readonly kind: "down"; readonly key: number }
  | { readonly kind: "up"; readonly key: number }
  | { readonly kind: "lost" };

const synType = 0;
const keyType = 1;
const synDropped = 3;

/** Takes bytes as they come, and gives the events in them that matter for typing. */
export function createEventCutter(): (bytes: Uint8Array) => readonly KeyEvent[] {
  let rest: Uint8Array = new Uint8Array(0);
  return (bytes) => {
    const all = rest.length === 0 ? bytes : Uint8Array.of(...rest, ...bytes);
    const whole = all.length - (all.length % eventBytes);
    // Less than one event is kept.
    rest = all.slice(whole);
    const view = new DataView(all.buffer, all.byteOffset, whole);
    const events: KeyEvent[] = [];
    for (let at = 0; at < whole; at += eventBytes) {
      const [type, code, value] = [
        view.getUint16(at + 16, true),
        view.getUint16(at + 18, true),
        view.getInt32(at + 20, true),
      ];
      if (type === synType && code === synDropped) events.push({ kind: "lost" });
      if (type === keyType && value === 1) events.push({ kind: "down", key: code });
      if (type === keyType && value === 0) events.push({ kind: "up", key: code });
    }
    return events;
  };
}

/** One event as bytes, for what plays a keyboard. */
export function encodeEvent(type: number, code: number, value: number): Uint8Array {
  const bytes = new Uint8Array(eventBytes);
  const view = new DataView(bytes.buffer);
  view.setUint16(16, type, true);
  view.setUint16(18, code, true);
  view.setInt32(20, value, true);
  return bytes;
}
