/**
 * An emulated CCID reader in a virtual machine's USB socket. This is the device's end of the usb-redir protocol 0.7, which
 * QEMU's `-device usb-redir,chardev=...` uses. The guest's kernel sees a real ACR122U.
 *
 *   every packet   type(4) length(4) id(8, of a hello 4), little-endian, then the type's own header, then data
 *   hello          the side's name in 64 bytes, then a word of capabilities; each side sends one first
 *
 * Bulk-in transfers stay open until the reader has data, or the guest cancels them.
 */
import type { Socket } from "bun";
import { ccidConfiguration, ccidDevice, ccidStrings } from "../emulators/ccid-descriptors.ts";
import type { CcidReader, Transfer } from "../emulators/ccid-reader.ts";

const type = {
  hello: 0,
  deviceConnect: 1,
  deviceDisconnect: 2,
  reset: 3,
  interfaceInfo: 4,
  endpointInfo: 5,
  setConfiguration: 6,
  getConfiguration: 7,
  configurationStatus: 8,
  setAlternate: 9,
  getAlternate: 10,
  alternateStatus: 11,
  startInterrupts: 15,
  stopInterrupts: 16,
  interruptsStatus: 17,
  cancel: 21,
  control: 100,
  bulk: 101,
  interrupt: 103,
} as const;

/**
 * The capabilities bulk_streams and connect_device_version, and those that xHCI needs: ep_info_max_packet_size,
 * 64bits_ids, 32bits_bulk_length.
 */
const capabilities = (1 << 0) | (1 << 1) | (1 << 4) | (1 << 5) | (1 << 6);
const status = { success: 0, cancelled: 1, ioError: 3, stall: 4 } as const;
const fullSpeed = 1;
const [helloHeaderBytes, headerBytes] = [12, 16];
const none = 255;
const [bulkOut, bulkIn, interruptIn] = [0x02, 0x82, 0x81];

export interface UsbPort {
  /** The socket for QEMU. */
  readonly socketPath: string;
  plug(): void;
  unplug(): void;
  close(): void;
}

interface PendingBulk {
  readonly id: number;
  readonly head: Uint8Array;
  readonly bytesMax: number;
}

/** Listens for one machine; the reader is plugged in from the start. */
export function createUsbPort(socketPath: string, reader: CcidReader): UsbPort {
  let socket: Socket | undefined;
  let received: Uint8Array = new Uint8Array();
  let unsent: Uint8Array = new Uint8Array();
  let plugged = true;
  let listens = false;
  let interruptId = 0;
  let pending: PendingBulk[] = [];

  const flush = () => {
    if (socket === undefined || unsent.length === 0) return;
    unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
  };
  const send = (kind: number, id: number, ...parts: readonly ArrayLike<number>[]) => {
    const body = Uint8Array.from(parts.flatMap((part) => Array.from(part)));
    const header = kind === type.hello ? words(kind, body.length, id) : words(kind, body.length, id, 0);
    unsent = Uint8Array.of(...unsent, ...header, ...body);
    flush();
  };
  const answerBulk = (one: PendingBulk, transfer: Exclude<Transfer, undefined>) => {
    pending = pending.filter((other) => other !== one);
    const data = transfer === "stalled" ? new Uint8Array() : transfer;
    const code = transfer === "stalled" ? status.stall : status.success;
    send(type.bulk, one.id, bulkHead(one.head, code, data.length), data);
  };
  const look = () => {
    for (const one of pending) {
      const transfer = reader.takeBulk(one.bytesMax);
      if (transfer === undefined) break;
      answerBulk(one, transfer);
    }
    while (listens) {
      const transfer = reader.takeInterrupt();
      if (transfer === undefined) break;
      const data = transfer === "stalled" ? new Uint8Array() : transfer;
      const code = transfer === "stalled" ? status.stall : status.success;
      send(type.interrupt, interruptId++, [interruptIn, code, data.length & 0xff, data.length >> 8], data);
      if (transfer === "stalled") listens = false;
    }
  };
  const connect = () => {
    reader.powerUp();
    const filled = (values: Readonly<Record<number, number>>, rest: number) =>
      Array.from({ length: 32 }, (_, index) => values[index] ?? rest);
    const at = (endpoint: number) => (endpoint & 0x0f) | ((endpoint & 0x80) >> 3);
    send(
      type.interfaceInfo,
      0,
      words(1),
      filled({}, 0),
      filled({ 0: 0x0b }, 0),
      filled({}, 0),
      filled({}, 0),
    );
    const types = filled({ 0: 0, 16: 0, [at(bulkOut)]: 2, [at(bulkIn)]: 2, [at(interruptIn)]: 3 }, none);
    const packets = filled({ 0: 8, 16: 8, [at(bulkOut)]: 64, [at(bulkIn)]: 64, [at(interruptIn)]: 8 }, 0);
    const intervals = filled({ [at(interruptIn)]: 16 }, 0);
    const streams = new Uint8Array(4 * 32);
    send(
      type.endpointInfo,
      0,
      types,
      intervals,
      filled({}, 0),
      packets.flatMap((bytes) => [bytes, 0]),
      streams,
    );
    send(type.deviceConnect, 0, [
      fullSpeed,
      0,
      0,
      0,
      ...ccidDevice.subarray(8, 12),
      ...ccidDevice.subarray(12, 14),
    ]);
  };
  const control = (id: number, head: Uint8Array, data: Uint8Array) => {
    const [, request = 0, requestType = 0, , valueLow = 0, valueHigh = 0, index = 0, , low = 0, high = 0] =
      head;
    const answer = controlAnswer(reader, request, requestType, [valueHigh, valueLow], index);
    const isIn = (requestType & 0x80) !== 0;
    const back = isIn ? (answer ?? new Uint8Array()).subarray(0, low + 256 * high) : new Uint8Array();
    const length = isIn ? back.length : data.length;
    const reply = head.slice();
    reply.set([answer === undefined ? status.stall : status.success], 3);
    reply.set([length & 0xff, length >> 8], 8);
    send(type.control, id, reply, back);
  };
  const bulk = (id: number, head: Uint8Array, data: Uint8Array) => {
    const bytesMax = (head[2] ?? 0) + 256 * (head[3] ?? 0) + 65_536 * ((head[8] ?? 0) + 256 * (head[9] ?? 0));
    if (head[0] === bulkIn) {
      pending.push({ id, head, bytesMax });
      return look();
    }
    const taken = reader.receive(data) === "taken";
    send(type.bulk, id, bulkHead(head, taken ? status.success : status.stall, taken ? data.length : 0));
  };
  const take = (kind: number, id: number, body: Uint8Array) => {
    switch (kind) {
      case type.hello:
        return plugged ? connect() : undefined;
      case type.reset:
        pending = [];
        return reader.reset();
      case type.setConfiguration:
        return send(type.configurationStatus, id, [status.success, body[0] ?? 0]);
      case type.getConfiguration:
        return send(type.configurationStatus, id, [status.success, 1]);
      case type.setAlternate:
      case type.getAlternate:
        return send(type.alternateStatus, id, [status.success, body[0] ?? 0, 0]);
      case type.startInterrupts:
      case type.stopInterrupts:
        listens = kind === type.startInterrupts;
        send(type.interruptsStatus, id, [status.success, body[0] ?? 0]);
        return look();
      case type.cancel: {
        const one = pending.find((other) => other.id === id);
        if (one === undefined) return;
        pending = pending.filter((other) => other !== one);
        return send(type.bulk, id, bulkHead(one.head, status.cancelled, 0));
      }
      case type.control:
        return control(id, body.subarray(0, 10), body.subarray(10));
      case type.bulk:
        return bulk(id, body.slice(0, 10), body.subarray(10));
    }
  };
  const hear = (bytes: Uint8Array) => {
    received = Uint8Array.of(...received, ...bytes);
    while (received.length >= helloHeaderBytes) {
      const view = new DataView(received.buffer, received.byteOffset, received.length);
      const [kind, id] = [view.getUint32(0, true), view.getUint32(8, true)];
      const start = kind === type.hello ? helloHeaderBytes : headerBytes;
      const end = start + view.getUint32(4, true);
      if (received.length < end) return;
      const body = received.slice(start, end);
      received = received.subarray(end);
      take(kind, id, body);
    }
  };
  reader.onReady(look);
  const server = Bun.listen({
    unix: socketPath,
    socket: {
      open(opened) {
        socket = opened;
        const name = new Uint8Array(64);
        name.set(new TextEncoder().encode("emulated reader"));
        send(type.hello, 0, name, words(capabilities));
      },
      data: (_, bytes) => hear(bytes),
      drain: flush,
      close() {
        [socket, listens, pending] = [undefined, false, []];
      },
    },
  });
  return {
    socketPath,
    plug() {
      if (plugged) return;
      plugged = true;
      connect();
    },
    unplug() {
      if (!plugged) return;
      [plugged, listens, pending] = [false, false, []];
      // A machine that connects later notices the removal by a missing device.
      if (socket !== undefined) send(type.deviceDisconnect, 0);
    },
    close: () => server.stop(true),
  };
}

/** The device's answer on its control endpoint; undefined for a stall (USB 2.0, 9.4; CCID 1.1, 5.3). */
function controlAnswer(
  reader: CcidReader,
  request: number,
  requestType: number,
  [kind, number]: readonly [number, number],
  index: number,
): Uint8Array | undefined {
  if (requestType === 0x80 && request === 0x06) return descriptor(kind, number);
  if ((requestType & 0xe0) === 0x80 && request === 0x00) return Uint8Array.of(0, 0);
  if (requestType === 0x02 && request === 0x01) {
    reader.clearHalt(index === bulkIn ? "bulk-in" : index === bulkOut ? "bulk-out" : "interrupt-in");
    return new Uint8Array();
  }
  if (requestType === 0x21) return reader.control(request) ? new Uint8Array() : undefined;
  return undefined;
}

function descriptor(kind: number, number: number): Uint8Array | undefined {
  if (kind === 0x01) return ccidDevice;
  if (kind === 0x02) return ccidConfiguration;
  if (kind !== 0x03) return undefined;
  if (number === 0) return Uint8Array.of(4, 0x03, 0x09, 0x04);
  const text = ccidStrings[number - 1];
  return text === undefined
    ? undefined
    : Uint8Array.of(
        2 + 2 * text.length,
        0x03,
        ...Array.from(text).flatMap((letter) => [letter.charCodeAt(0), 0]),
      );
}

/** The header of a bulk packet: endpoint, status, length (low half), stream (4), length (high half). */
function bulkHead(head: Uint8Array, code: number, length: number): Uint8Array {
  const back = head.slice();
  back.set([code, length & 0xff, (length >> 8) & 0xff], 1);
  back.set([(length >> 16) & 0xff, length >> 24], 8);
  return back;
}

function words(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}
