/**
 * An emulated PN532 on a pty: the chip, its line with its time, and faults of the line, the chip and people. Drivers, ours
 * and other people's, open `path` as a serial port.
 */
import { mkdtempSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPty, type Pty } from "../../drivers/io/termios.ts";
import { chipToHost, commandCodes } from "../../drivers/protocol/pn532-commands.ts";
import { ackFrame, createFrameCutter, encodeFrame, errorFrame } from "../../drivers/protocol/pn532-frame.ts";
import { createFaults, createLine, type Faults, type Line, type LineTime } from "./emulated-line.ts";
import { createEmulatedChip, instantRadio, type Reply, realRadio } from "./pn532-chip.ts";
import type { EmulatedTag } from "./type-a.ts";

interface Pn532DeviceOptions {
  /** The path of the port's name; a name in a folder of its own if absent. */
  readonly linkPath?: string;
  /** With "real", the line and the field take their real time. With "none", nothing takes time. */
  readonly timing: "real" | "none";
  /** True to keep time to some microseconds by busy-waiting, for measurements in a process of their own. */
  readonly precise?: boolean;
  readonly socket?: Pn532Socket;
  readonly isUnplugged?: boolean;
}

/** A line of another kind, which may have another clock. */
export interface Pn532Socket {
  readonly path: string;
  readonly time?: LineTime;
  plug(): Pick<Pty, "onBytes" | "write" | "baudRate" | "close">;
}

export interface Pn532Device {
  /** The port's name: a link to the pty, the same after re-plugging. */
  readonly path: string;
  /** Puts the stick into its socket, with a new pty, and the chip in its state after power-up. */
  plug(): void;
  /** Pulls the stick out: the name is gone, and for a program with the open port the device goes away. */
  unplug(): Promise<void>;
  put(tag: EmulatedTag): void;
  take(tag?: EmulatedTag): void;
  kill(): void;
  /** Gives the chip its power back: asleep, unconfigured, at 115200 baud. Tags stay in the field. */
  revive(): void;
  readonly faults: Faults;
  readonly baudRate: number;
  /** Called with each command's payload before the command runs. Tests call `kill` and similar functions in it. */
  onCommand(listener: (payload: Uint8Array) => void): void;
  /** Called with the monotonic time, in nanoseconds, at which the kernel had an answer's last byte. */
  onAnswered(listener: (atNs: bigint) => void): void;
  /** The same time for the last answer, in milliseconds as `performance.now()`; 0 before the first. */
  readonly lastAnswerAt: number;
  /** Unplugs the device, and removes the folder that it made. */
  close(): Promise<void>;
}

interface Busy {
  readonly command: Uint8Array;
  readonly sinceMs: number;
}

/** The byte that wakes the chip's receiver. Bytes before it are lost. */
const wakeByte = 0x55;

/** Makes a device that is plugged in, unless a test plugs it in later. */
export function createPn532Device(options: Pn532DeviceOptions): Pn532Device {
  const { linkPath, timing, precise = false, socket } = options;
  const isNamed = linkPath !== undefined || socket !== undefined;
  const folder = isNamed ? undefined : mkdtempSync(join(tmpdir(), "tapdeck-pn532-"));
  const path = socket?.path ?? linkPath ?? join(folder ?? tmpdir(), "ttyUSB0");
  const radio = timing === "real" ? realRadio : instantRadio;
  const chip = createEmulatedChip(radio);
  const faults = createFaults();
  let onCommand: (payload: Uint8Array) => void = () => {};
  let onAnswered: (atNs: bigint) => void = () => {};
  let plugged: { readonly pty: ReturnType<Pn532Socket["plug"]>; readonly line: Line } | undefined;
  let cutter = createFrameCutter();
  let alive = true;
  let waiting: Busy | undefined;
  let lastAnswer: Uint8Array | undefined;
  let lastAnswerAt = 0;

  const sendAnswer = (payload: Uint8Array, afterMs: number, sleeps = false) => {
    waiting = undefined;
    const frame = encodeFrame(payload);
    lastAnswer = frame;
    plugged?.line.answer(frame, afterMs, () => {
      lastAnswerAt = performance.now();
      onAnswered(process.hrtime.bigint());
      if (sleeps) chip.sleep();
    });
  };
  const take = (reply: Reply, command: Uint8Array) => {
    switch (reply.kind) {
      case "waiting": {
        const busy = { command, sinceMs: performance.now() };
        waiting = busy;
        if (reply.forMs === Number.POSITIVE_INFINITY) return;
        return plugged?.line.after(reply.forMs, () => waiting === busy && sendAnswer(reply.payload, 0));
      }
      case "syntax-error":
        return plugged?.line.answer(errorFrame, 0, () => {});
      case "answer":
        return sendAnswer(reply.payload, reply.afterMs, reply.sleeps);
    }
  };
  const stop = () => {
    waiting = undefined;
    plugged?.line.cancel();
  };
  const run = (command: Uint8Array) => {
    onCommand(command);
    // The listener may have pulled the plug.
    if (!alive || plugged === undefined) return;
    stop();
    plugged.line.send(ackFrame);
    const status = isExchange(command) ? faults.takeStatus() : undefined;
    if (status === undefined) take(chip.run(command), command);
    else sendAnswer(Uint8Array.of(chipToHost, (command[1] ?? 0) + 1, status), 0);
  };
  const hear = (bytes: Uint8Array) => {
    plugged?.line.received(bytes.length);
    for (const cut of cutter.push(bytes)) {
      if (cut.kind === "frame") run(cut.payload);
      else if (cut.kind === "nack" && lastAnswer !== undefined) plugged?.line.answer(lastAnswer, 0, () => {});
      else if (cut.kind === "ack") {
        stop();
        chip.hostAck();
      }
      if (!alive || plugged === undefined) return;
    }
  };
  const receive = (bytes: Uint8Array) => {
    // At another rate the chip receives other bytes, which never form a frame.
    if (!alive || plugged === undefined || !chip.hears(plugged.pty.baudRate())) return;
    const from = chip.awake ? 0 : bytes.indexOf(wakeByte);
    if (from < 0) return;
    chip.wake();
    hear(bytes.subarray(from));
  };
  const powerUp = () => {
    stop();
    alive = true;
    chip.powerUp();
    cutter = createFrameCutter();
    lastAnswer = undefined;
  };
  const device: Pn532Device = {
    path,
    faults,
    plug() {
      if (plugged !== undefined) return;
      const pty = socket?.plug() ?? openNamed(path);
      pty.onBytes(receive);
      const baudRate = () => (timing === "real" ? chip.baudRate : Number.POSITIVE_INFINITY);
      plugged = {
        pty,
        line: createLine({ write: pty.write, baudRate, faults, precise, time: socket?.time }),
      };
      powerUp();
    },
    async unplug() {
      const pulled = plugged;
      if (pulled === undefined) return;
      stop();
      plugged = undefined;
      if (socket === undefined) unlinkSync(path);
      await pulled.pty.close();
    },
    put(tag) {
      chip.put(tag);
      const busy = waiting;
      if (busy === undefined || !alive) return;
      const reply = chip.run(busy.command);
      // The next round detects the tag.
      if (reply.kind === "answer")
        sendAnswer(reply.payload, roundLeftMs(busy.sinceMs, radio.roundMs) + reply.afterMs);
    },
    take: chip.take,
    kill() {
      alive = false;
      stop();
    },
    revive: powerUp,
    get baudRate() {
      return chip.baudRate;
    },
    onCommand: (listener) => {
      onCommand = listener;
    },
    onAnswered: (listener) => {
      onAnswered = listener;
    },
    get lastAnswerAt() {
      return lastAnswerAt;
    },
    async close() {
      await device.unplug();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
  if (options.isUnplugged !== true) device.plug();
  return device;
}

function openNamed(path: string): Pty {
  const pty = openPty();
  symlinkSync(pty.path, path);
  return pty;
}

function isExchange([, code]: Uint8Array): boolean {
  return code === commandCodes.inDataExchange || code === commandCodes.inCommunicateThru;
}

function roundLeftMs(sinceMs: number, roundMs: number): number {
  return roundMs === 0 ? 0 : roundMs - ((performance.now() - sinceMs) % roundMs);
}
