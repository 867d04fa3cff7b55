/**
 * An emulated PN532 on a pty: the chip, its line with the time that a line takes, and the faults that lines, chips and
 * people have. Drivers, ours and other people's, open `path` as a serial port.
 */
import { mkdtempSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { openPty, type Pty } from "../io/pty.ts";
import { ackFrame, createFrameCutter, encodeFrame, errorFrame } from "../protocol/pn532-frame.ts";
import { createLine, type Line, type LineFaults } from "./line.ts";
import { createEmulatedChip, instantRadio, type Reply, realRadio } from "./pn532-chip.ts";
import type { EmulatedTag } from "./tags.ts";

export interface Pn532DeviceOptions {
  /** Where the port's name stands; a name in a folder of its own where absent. */
  readonly linkPath?: string;
  /** "real": the line and the field cost what they cost. "none": everything is at once. */
  readonly timing: "real" | "none";
  /** Keeps time to some microseconds by spinning: for measurements, in a process of its own. */
  readonly precise?: boolean;
}

export interface Pn532Device {
  /** The port's name: a link to the pty, the same after re-plugging. */
  readonly path: string;
  /** Puts the stick into its socket: a new pty, and a chip as after power-up. */
  plug(): void;
  /** Pulls it out: the name is gone, and whoever has the port open sees it go. */
  unplug(): Promise<void>;
  put(tag: EmulatedTag): void;
  take(tag?: EmulatedTag): void;
  /** The chip dies; its line stays open. */
  kill(): void;
  /** The chip gets its power back. */
  revive(): void;
  readonly faults: LineFaults;
  /** Called with each command's payload as it arrives, before it runs. */
  onCommand(listener: (payload: Uint8Array) => void): void;
  /** Called with the monotonic time, in nanoseconds, at which an answer's last byte left. */
  onAnswered(listener: (atNs: bigint) => void): void;
  close(): Promise<void>;
}

/** A device that is plugged in. */
export function createPn532Device({ linkPath, timing, precise = false }: Pn532DeviceOptions): Pn532Device {
  const folder = linkPath === undefined ? mkdtempSync(join(tmpdir(), "tapdeck-pn532-")) : dirname(linkPath);
  const path = linkPath ?? join(folder, "ttyEMU0");
  const chip = createEmulatedChip(timing === "real" ? realRadio : instantRadio);
  const faults: { -readonly [Key in keyof LineFaults]: LineFaults[Key] } = {};
  let onCommand: (payload: Uint8Array) => void = () => {};
  let onAnswered: (atNs: bigint) => void = () => {};
  let pty: Pty | undefined;
  let line: Line | undefined;
  let cutter = createFrameCutter();
  let alive = true;
  /** The command that waits for a tag. */
  let waitingCommand: Uint8Array | undefined;
  let lastAnswer: Uint8Array | undefined;

  const reply = (answer: Reply, command: Uint8Array) => {
    switch (answer.kind) {
      case "waiting":
        waitingCommand = command;
        return;
      case "syntax-error":
        return line?.send(errorFrame, 0);
      case "answer": {
        lastAnswer = encodeFrame(answer.payload);
        line?.send(lastAnswer, answer.afterMs, () => {
          if (answer.sleeps) chip.sleep();
          onAnswered(process.hrtime.bigint());
        });
      }
    }
  };
  const runCommand = (payload: Uint8Array) => {
    onCommand(payload);
    if (!alive) return;
    waitingCommand = undefined;
    line?.cancel();
    line?.send(ackFrame, 0);
    reply(chip.run(payload), payload);
  };
  const receive = (bytes: Uint8Array) => {
    if (!alive || pty === undefined || pty.baudRate() !== chip.baudRate) return;
    if (!chip.awake) {
      if (!bytes.includes(0x55)) return;
      chip.wake();
    }
    line?.received(bytes.length);
    for (const cut of cutter.push(bytes)) {
      if (cut.kind === "frame") runCommand(cut.payload);
      else if (cut.kind === "nack" && lastAnswer !== undefined) line?.send(lastAnswer, 0);
      else if (cut.kind === "ack") {
        waitingCommand = undefined;
        line?.cancel();
        chip.hostAck();
      }
    }
  };
  const powerUp = () => {
    alive = true;
    chip.powerUp();
    cutter = createFrameCutter();
    [waitingCommand, lastAnswer] = [undefined, undefined];
  };
  const device: Pn532Device = {
    path,
    faults,
    plug() {
      if (pty !== undefined) return;
      const plugged = openPty();
      pty = plugged;
      plugged.onBytes(receive);
      line = createLine({
        write: plugged.write,
        baudRate: () => (timing === "real" ? chip.baudRate : Infinity),
        faults,
        precise,
      });
      powerUp();
      symlinkSync(plugged.path, path);
    },
    async unplug() {
      const pulled = pty;
      if (pulled === undefined) return;
      pty = undefined;
      line?.cancel();
      line = undefined;
      unlinkSync(path);
      await pulled.close();
    },
    put(tag) {
      chip.put(tag);
      const command = waitingCommand;
      if (command === undefined || !alive) return;
      waitingCommand = undefined;
      reply(chip.run(command), command);
    },
    take: (tag) => chip.take(tag),
    kill() {
      alive = false;
      line?.cancel();
      waitingCommand = undefined;
    },
    revive: powerUp,
    onCommand: (listener) => {
      onCommand = listener;
    },
    onAnswered: (listener) => {
      onAnswered = listener;
    },
    async close() {
      await device.unplug();
      if (linkPath === undefined && basename(folder).startsWith("tapdeck-pn532-"))
        rmSync(folder, { recursive: true, force: true });
    },
  };
  device.plug();
  return device;
}
