/**
 * The chip of the simulated reader: a PN532 on a pty. It knows the commands that `pn532-uart` sends, and NTAGs only
 * (UM0701-02, section 7). Its answers take about as long as those of a real one. `test/emulators` has the whole chip, with
 * faults.
 */
import { openPty } from "../io/termios.ts";
import { chipToHost, commandCodes as code, hostToChip } from "../protocol/pn532-commands.ts";
import { ackFrame, createFrameCutter, encodeFrame, errorFrame } from "../protocol/pn532-frame.ts";
import { tagCommands } from "../protocol/type2-tag.ts";
import type { SimulatedTag } from "./simulated-tag.ts";

export type SimulatedChip = ReturnType<typeof createSimulatedChip>;

const bitsPerByte = 10; // A byte in the format 8N1 has ten bits.
const roundMs = 5.1; // One round of polling takes the guard time of a tag (ISO/IEC 14443-3, 5.1), and the time of REQA.
const activationMs = 3; // An activation has 31 bytes: REQA, anticollision at two levels, and SELECT.
const exchangeMs = 0.52; // An exchange takes two frame delays of 91 us (14443-3, 6.2.1), and 0.3 ms for the chip, which is an assumption.
const byteMs = 0.085; // A byte has 9 bits of 9.44 us (14443-2, 8.1).
const writeMs = 4.1; // The time of programming one page (NTAG21x, table 4).
const silenceMs = 51.2; // The default time-out for a tag that does not answer (7.3.1, item 2).

const timeout = 0x01; // An error code of section 7.1.
const endless = 0xff;

/** The data of an answer and the time until it is ready; undefined for a command that the chip does not know. */
type Outcome = { readonly data: ArrayLike<number>; readonly afterMs: number } | "waits" | undefined;

export function createSimulatedChip() {
  const pty = openPty();
  const cutter = createFrameCutter();
  let present: SimulatedTag | undefined;
  /** The target: the tag that was listed last, unless it refused a command. */
  let target: SimulatedTag | undefined;
  let activationRetries = endless;
  let waitingFor: number | undefined;
  let lastAnswer: Uint8Array | undefined;
  let timer: NodeJS.Timeout | undefined;

  const stop = () => {
    clearTimeout(timer);
    waitingFor = undefined;
  };
  // A line that was closed meanwhile takes no bytes.
  const send = (frame: Uint8Array) => void pty.write(frame).catch(() => {});
  const answer = (frame: Uint8Array, afterMs: number) => {
    lastAnswer = frame;
    timer = setTimeout(() => send(frame), afterMs + (frame.length * bitsPerByte * 1000) / pty.baudRate());
  };
  const list = (modulation: number | undefined): Outcome => {
    target = modulation === 0x00 ? present : undefined;
    if (target !== undefined) return { data: targetData(target), afterMs: activationMs };
    if (activationRetries === endless) return "waits";
    return { data: [0], afterMs: (activationRetries + 1) * roundMs };
  };
  const exchange = (command: Uint8Array): Outcome => {
    const heard = target?.receive(command);
    if (heard === undefined) {
      target = undefined;
      return { data: [timeout], afterMs: silenceMs };
    }
    const workMs = command[0] === tagCommands.write ? writeMs : 0;
    const afterMs = exchangeMs + (command.length + heard.length) * byteMs + workMs;
    return { data: [0x00, ...heard], afterMs };
  };
  const outcomeOf = (number: number, data: Uint8Array): Outcome => {
    switch (number) {
      case code.getFirmwareVersion:
        return { data: [0x32, 0x01, 0x06, 0x07], afterMs: 0 }; // The answer is: PN532, firmware 1.6, all protocols.
      case code.rfConfiguration:
        activationRetries = data[3] ?? endless;
        return { data: [], afterMs: 0 };
      case code.setSerialBaudRate: // A pty takes bytes at any rate, so the command has no effect.
      case code.samConfiguration:
        return { data: [], afterMs: 0 };
      case code.inListPassiveTarget:
        return list(data[1]);
      case code.inDataExchange:
        return exchange(data.subarray(1));
      case code.inCommunicateThru:
        return exchange(data);
      default:
        return undefined;
    }
  };
  const answerTo = (number: number, data: Uint8Array) => {
    const outcome = outcomeOf(number, data);
    if (outcome === undefined) answer(errorFrame, 0);
    else if (outcome === "waits") waitingFor = data[1];
    else
      answer(
        encodeFrame(Uint8Array.of(chipToHost, number + 1, ...Array.from(outcome.data))),
        outcome.afterMs,
      );
  };
  pty.onBytes((bytes) => {
    for (const cut of cutter.push(bytes)) {
      if (cut.kind === "ack") stop();
      else if (cut.kind === "nack" && lastAnswer !== undefined) answer(lastAnswer, 0);
      else if (cut.kind === "frame" && cut.payload[0] === hostToChip) {
        stop();
        send(ackFrame);
        answerTo(cut.payload[1] ?? endless, cut.payload.subarray(2));
      }
    }
  });
  return {
    /** The serial port. */
    path: pty.path,
    /** Puts this tag into the field, and takes the present one away. */
    put(tag: SimulatedTag) {
      present = tag;
      target = undefined;
      if (waitingFor === undefined) return;
      const modulation = waitingFor;
      stop();
      answerTo(code.inListPassiveTarget, Uint8Array.of(0x01, modulation));
    },
    /** Removes this tag, or any if none is given. */
    take(tag?: SimulatedTag) {
      if (tag === undefined || tag === present) [present, target] = [undefined, undefined];
    },
    async close() {
      stop();
      await pty.close();
    },
  };
}

/** One target of type A, number 1: SENS_RES, SEL_RES, and the UID with its length (7.3.5). */
function targetData({ uid }: SimulatedTag): number[] {
  return [1, 1, 0x00, 0x44, 0x00, uid.length, ...uid];
}
