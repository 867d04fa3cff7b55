/**
 * An emulated contactless reader as a USB host sees it: bulk and interrupt endpoints, a slot, and a PN532 with the tags on
 * it. Transfers are requested and announced here, and a link in this process or a virtual machine's USB port carries them.
 */

import type { CcidMessage } from "../../drivers/protocol/ccid.ts";
import {
  abortRequest,
  ccidIn,
  ccidOut,
  createCcidAssembler,
  encodeCcid,
} from "../../drivers/protocol/ccid.ts";
import { samNormalMode } from "../../drivers/protocol/pn532-commands.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { type Answered, createApduReader, type Shown } from "./ccid-apdus.ts";
import { type CcidFaults, createCcidFaults } from "./ccid-faults.ts";
import { createEmulatedChip, instantRadio, realRadio } from "./pn532-chip.ts";
import type { EmulatedTag } from "./type-a.ts";

export interface CcidReaderOptions {
  readonly kind: "acr122u" | "plain";
  /** With "real", the reader polls each 250 ms, and the field takes its real time. With "none", nothing takes time. */
  readonly timing: "real" | "none";
  /** True if the reader sends no change messages, like some clones. */
  readonly isMute?: boolean;
  readonly answersLater?: boolean;
  /** The number of the contactless slot. Slots before it are for contact cards, and empty. */
  readonly slot?: number;
  /** The clock of the reader; this machine's if absent. */
  readonly clock?: Clock;
}

/** A transfer of an in pipe: bytes, a halt, or nothing yet. */
export type Transfer = Uint8Array | "stalled" | undefined;

export interface CcidReader {
  /** Takes a transfer of the bulk-out pipe. */
  receive(bytes: Uint8Array): "taken" | "stalled";
  takeBulk(bytesMax: number): Transfer;
  takeInterrupt(): Transfer;
  /** Called whenever a pipe may have something to take. */
  onReady(listener: () => void): void;
  /** Handles a class request to the interface. Returns false if the request is refused. */
  control(request: number): boolean;
  clearHalt(pipe: "bulk-in" | "bulk-out" | "interrupt-in"): void;
  /** Resets the port, as the host does. */
  reset(): void;
  /** Plugs the reader in: all its state is new, except the tags on it. */
  powerUp(): void;
  put(tag: EmulatedTag): void;
  /** Removes this tag, or all tags. */
  take(tag?: EmulatedTag): void;
  /** Stops the chip until power-up. The reader then answers none of the commands that need the chip. */
  killChip(): void;
  readonly faults: CcidFaults;
  readonly buzzes: boolean;
  /** The same as `ApduReader.shown`. */
  readonly shown: readonly Shown[];
  /** Called with each message of the host, before it is answered. */
  onCommand(listener: (message: CcidMessage) => void): void;
}

const messageBytesMax = 271;
const packetBytes = 64;
const sensesEachMs = 250;
const cardMute = 0xfe; // The error ICC_MUTE (CCID 1.1, 6.2.6).
const wrongCommand = 0x00;
const wrongSlot = 0x05;
const states = { active: 0, present: 1, none: 2 } as const;

export function createCcidReader(options: CcidReaderOptions): CcidReader {
  const { kind, timing, isMute = false, answersLater = false, slot = 0, clock = systemClock } = options;
  const chip = createEmulatedChip(timing === "real" ? realRadio : instantRadio);
  const faults = createCcidFaults();
  let chipLives = true;
  const livingChip = { ...chip, run: (payload: Uint8Array) => (chipLives ? chip.run(payload) : dead) };
  const apdus = createApduReader({ kind, answersLater, chip: livingChip });
  let assembler = assemblerOf();
  let bulk: Uint8Array[] = [];
  let interrupts: Uint8Array[] = [];
  let lying: readonly EmulatedTag[] = [];
  /** The state of the slot at its last check. */
  let sensed: EmulatedTag | undefined;
  let isActive = false;
  let generation = 0;
  let onReady = () => {};
  let onCommand: (message: CcidMessage) => void = () => {};

  const later = (ms: number, run: () => void) => {
    const born = generation;
    const act = () => born === generation && run();
    if (ms <= 0) act();
    else clock.after(ms, act);
  };
  const state = () => (sensed === undefined ? states.none : isActive ? states.active : states.present);
  const send = (
    type: number,
    { sequence, slot: asked }: CcidMessage,
    status: number,
    error: number,
    data?: Uint8Array,
  ) => {
    for (const message of faults.spoil(encodeCcid(type, asked, sequence, data, [status, error, 0]))) {
      bulk.push(message);
      // An empty packet follows after whole packets, so that the host sees the end (USB 2.0, 5.8.3).
      if (message.length % packetBytes === 0) bulk.push(new Uint8Array());
    }
    onReady();
  };
  const sense = () => {
    if (!apdus.polls) return;
    const [now] = lying;
    if (now === sensed) return;
    sensed = now;
    isActive = false;
    apdus.deactivate();
    if (!isMute) interrupts.push(Uint8Array.of(0x50, (now === undefined ? 0x02 : 0x03) << (2 * slot)));
    onReady();
  };
  const powerOn = (message: CcidMessage) => {
    sense();
    const answer = sensed && apdus.activate();
    isActive = answer !== undefined;
    // Real readers without a card answer with a failure that also has bytes.
    if (answer === undefined)
      return send(ccidIn.block, message, 0x40 | state(), cardMute, Uint8Array.of(0x3b, 0x00));
    return send(ccidIn.block, message, state(), 0, answer);
  };
  const runBlock = (message: CcidMessage) => {
    const answer: Answered | undefined = apdus.run(message.data);
    if (answer === undefined) return send(ccidIn.block, message, 0x40 | state(), cardMute);
    while (faults.takeTime()) send(ccidIn.block, message, 0x80 | state(), 1);
    return later(answer.afterMs + faults.delayMs, () => send(ccidIn.block, message, state(), 0, answer.data));
  };
  /** Runs a command of the reader itself, which needs no card. The kernel's pn533_usb uses such commands for its chip. */
  const runEscape = (message: CcidMessage) => {
    const answer = kind === "acr122u" ? apdus.run(message.data) : undefined;
    if (answer === undefined) return send(ccidIn.escape, message, 0x40 | state(), wrongCommand);
    return later(answer.afterMs + faults.delayMs, () =>
      send(ccidIn.escape, message, state(), 0, answer.data),
    );
  };
  /** Answers for an empty slot for contact cards, and for a slot that does not exist (CCID 1.1, 6.2.6: bSlot). */
  const obeyInEmptySlot = (message: CcidMessage) => {
    const isBlock = message.type === ccidOut.powerOn || message.type === ccidOut.block;
    const status = (message.type === ccidOut.slotStatus ? 0 : 0x40) | states.none;
    send(
      isBlock ? ccidIn.block : ccidIn.slotStatus,
      message,
      status,
      message.slot < slot ? cardMute : wrongSlot,
    );
  };
  const obey = (message: CcidMessage) => {
    onCommand(message);
    if (faults.cure === "power" && message.type === ccidOut.powerOff) faults.cured();
    if (faults.cure !== undefined) return;
    if (message.slot !== slot) return obeyInEmptySlot(message);
    switch (message.type) {
      case ccidOut.powerOn:
        return powerOn(message);
      case ccidOut.powerOff:
        isActive = false;
        apdus.deactivate();
        return send(ccidIn.slotStatus, message, state(), 0);
      case ccidOut.slotStatus:
      case ccidOut.abort:
        return send(ccidIn.slotStatus, message, state(), 0);
      case ccidOut.block:
        return runBlock(message);
      case ccidOut.escape:
        return runEscape(message);
      default:
        return send(ccidIn.slotStatus, message, 0x40 | state(), wrongCommand);
    }
  };
  /** Returns to the state that the host finds after a reset of its port. */
  const restart = () => {
    generation += 1;
    [bulk, interrupts, isActive, sensed] = [[], [], false, undefined];
    assembler = assemblerOf();
    for (const pipe of ["bulk-in", "bulk-out", "interrupt-in"] as const) faults.clearHalt(pipe);
    chip.powerUp();
    chip.wake();
    chip.run(samNormalMode);
    apdus.powerUp();
    sense();
  };
  const changed = () => later(timing === "real" ? sensesEachMs : 0, sense);
  restart();
  return {
    faults,
    get buzzes() {
      return apdus.buzzes;
    },
    shown: apdus.shown,
    receive(bytes) {
      if (faults.isHalted("bulk-out")) return "stalled";
      const cut = assembler.push(bytes);
      if (cut.kind === "message") obey(cut.message);
      return "taken";
    },
    takeBulk(bytesMax) {
      if (faults.isHalted("bulk-in")) return "stalled";
      const transfer = bulk.shift();
      if (transfer !== undefined && transfer.length > bytesMax) bulk.unshift(transfer.subarray(bytesMax));
      return transfer?.subarray(0, bytesMax);
    },
    takeInterrupt: () => (faults.isHalted("interrupt-in") ? "stalled" : interrupts.shift()),
    onReady: (listener) => {
      onReady = listener;
    },
    control(request) {
      if (request !== abortRequest) return false;
      if (faults.cure === "abort") faults.cured();
      return faults.cure === undefined;
    },
    clearHalt: faults.clearHalt,
    reset() {
      if (faults.cure !== "replug") faults.cured();
      restart();
    },
    powerUp() {
      faults.cured();
      chipLives = true;
      restart();
    },
    put(tag) {
      chip.put(tag);
      lying = [...lying.filter((other) => other !== tag), tag];
      changed();
    },
    take(tag) {
      chip.take(tag);
      lying = tag === undefined ? [] : lying.filter((other) => other !== tag);
      changed();
    },
    killChip() {
      chipLives = false;
    },
    onCommand: (listener) => {
      onCommand = listener;
    },
  };
}

const dead = { kind: "syntax-error" } as const;

function assemblerOf() {
  return createCcidAssembler({ types: Object.values(ccidOut), packetBytes, messageBytesMax });
}
