/**
 * An HDMI CEC adapter of the kernel with a television at its other end, behind the ioctl layer (linux/cec.h). The
 * television has a state: whether it is on or in standby, and the socket that it shows. The emulator is written from
 * the text of the API and of CEC, not from the driver.
 */
import type { CecCall } from "../../drivers/io/cec.ts";

const request = {
  caps: 0,
  physical: 1,
  getLogical: 3,
  setLogical: 4,
  transmit: 5,
  receive: 6,
  mode: 9,
} as const;
/** Offsets in struct cec_msg. */
const at = { length: 16, bytes: 32, sent: 50 } as const;
const sentWell = 1;
const playbackAddress = 4;

export function createCecAdapter({ physical = 0x1000, capabilities = 0x1f } = {}) {
  const television = { isOn: false, shows: 0x0000, name: "", isConnected: true };
  const sent: number[][] = [];
  const waiting: Uint8Array[] = [];
  let claimed: Uint8Array | undefined;
  let mode = 0;
  let listener = () => {};
  let isTelling = false;
  let asked = 0;

  /** As in the kernel, the listener runs after the call that queued a message or the result of a transmission. */
  const queue = (message: Uint8Array) => {
    waiting.push(message);
    if (isTelling) return;
    isTelling = true;
    queueMicrotask(() => {
      isTelling = false;
      listener();
    });
  };
  const frame = (bytes: readonly number[], isOwn: boolean): Uint8Array => {
    const message = new Uint8Array(56);
    new DataView(message.buffer).setUint32(at.length, bytes.length, true);
    message.set(bytes, at.bytes);
    if (isOwn) message[at.sent] = sentWell;
    return message;
  };
  const takes = ([header = 0, opcode, high = 0, low = 0]: readonly number[]) => {
    if (opcode === 0x04 && (header & 0xf) === 0) television.isOn = true;
    if (opcode === 0x36) television.isOn = false;
    if (opcode === 0x82) television.shows = (high << 8) | low;
  };
  const call: CecCall = (number, argument) => {
    const view = new DataView(argument.buffer, argument.byteOffset);
    switch (number & 0xff) {
      case request.caps:
        view.setUint32(68, capabilities, true);
        return true;
      case request.mode:
        mode = view.getUint32(0, true);
        return true;
      case request.physical:
        view.setUint16(0, television.isConnected ? physical : 0xffff, true);
        return true;
      case request.setLogical: {
        const isFreed = argument[7] === 0;
        // The kernel refuses a second claim (EBUSY).
        if (!isFreed && claimed !== undefined) return false;
        claimed = isFreed ? undefined : argument.slice();
        television.name = new TextDecoder().decode(argument.subarray(16, 31)).replace(/\0+$/, "");
        return true;
      }
      case request.getLogical:
        if (claimed === undefined || !television.isConnected) return true;
        argument.set(claimed);
        argument[0] = playbackAddress;
        view.setUint16(4, 1 << playbackAddress, true);
        return true;
      case request.transmit: {
        if (claimed === undefined) return false;
        const bytes = [...argument.subarray(at.bytes, at.bytes + view.getUint32(at.length, true))];
        sent.push(bytes);
        takes(bytes);
        queue(frame(bytes, true));
        return true;
      }
      case request.receive: {
        asked += 1;
        const next = waiting.shift();
        if (next === undefined) return false;
        argument.set(next);
        return true;
      }
      default:
        throw new Error(`the adapter has no request ${number.toString(16)}`);
    }
  };
  return {
    call,
    television,
    /** All messages of the device, each with its header. */
    sent,
    mode: () => mode,
    /** How often messages were asked for. */
    asked: () => asked,
    claim: () => claimed,
    /** Sends a message as another device: the header with sender and receiver, then the opcode. */
    say: (from: number, to: number, ...message: number[]) =>
      queue(frame([(from << 4) | to, ...message], false)),
    onMessages(told: () => void) {
      listener = told;
    },
    /** Leaves an address, as an earlier program might. */
    leaveClaim() {
      claimed = new Uint8Array(92);
    },
  };
}
