/**
 * A Toy Pad with seven places for tags that have memory. It takes reports and sends reports. It does not depend on the
 * tests, so it can also work behind `uhid`.
 */

import type { HidLink, OpenHid } from "../../drivers/io/links.ts";
import {
  encodeReport,
  indexMax,
  padCommands,
  parsePadReport,
  reportBytes,
  wakeWord,
  type Zone,
} from "../../drivers/protocol/toypad-report.ts";
import { ServiceError } from "../../src/core/errors.ts";
import type { EmulatedTag } from "./emulated-tags.ts";

const pageBytes = 4;
const answerMagic = 0x55;
const eventMagic = 0x56;

export interface ToypadDevice {
  /** Takes a report of the host: 32 bytes. */
  receive(report: Uint8Array): void;
  /** Sets the only listener, which is the host's side. */
  onReport(listener: (report: Uint8Array) => void): void;
  /** Called as each command arrives, before it is answered. If it returns false, the command is not answered. */
  onCommand(listener: (command: number, parameters: Uint8Array) => boolean | undefined): void;
  /** Puts a tag on a zone, and returns its index. The pad reports it unless it is asleep or `silently` is true. */
  put(tag: EmulatedTag, zone: Zone, silently?: boolean): number;
  take(index: number, silently?: boolean): void;
  /** The colour of each zone in red, green and blue; 00 is off. */
  colours(): ReadonlyMap<number, readonly number[]>;
  /** Resets the pad to its state after plugging: asleep and dark. Tags stay. */
  reset(): void;
  /** Sends any report. */
  say(report: Uint8Array): void;
}

export function createToypadDevice(): ToypadDevice {
  const tags = new Map<number, { readonly tag: EmulatedTag; readonly zone: Zone }>();
  const colours = new Map<number, readonly number[]>();
  let isAwake = false;
  let onReport: (report: Uint8Array) => void = () => {};
  let onCommand: (command: number, parameters: Uint8Array) => boolean | undefined = () => true;

  const answer = (number: number, ...data: readonly number[]) =>
    onReport(encodeReport(answerMagic, Uint8Array.of(number, ...data)));
  const tell = (zone: Zone, index: number, uid: Uint8Array, gone: 0 | 1) => {
    if (isAwake) onReport(encodeReport(eventMagic, Uint8Array.of(zone, 0, index, gone, ...uid)));
  };
  const read = (number: number, index: number, page: number) => {
    const memory = tags.get(index)?.tag.memory;
    if (memory === undefined || page * pageBytes >= memory.length) return answer(number, 0xff);
    const bytes = Array.from({ length: 16 }, (_, at) => memory[(page * pageBytes + at) % memory.length] ?? 0);
    answer(number, 0, ...bytes);
  };
  const obey = (command: number, number: number, parameters: Uint8Array) => {
    const [first = 0, second = 0] = parameters;
    switch (command) {
      case padCommands.wake:
        isAwake = wakeWord.every((byte, at) => parameters[at] === byte);
        // The answer that owners of pads have published. Its end is a serial number.
        if (isAwake) answer(number, 0x00, 0x2f, 0x02, 0x01, 0x02, 0x02, 0x04, 0x02, 0xf5, 0x00, 0x19, 0x81);
        return;
      case padCommands.list:
        return answer(number, ...[...tags].flatMap(([index, { zone }]) => [(zone << 4) | index, 0]));
      case padCommands.colour:
        for (const zone of first === 0 ? [1, 2, 3] : [first])
          colours.set(zone, [...parameters.subarray(1, 4)]);
        return answer(number);
      case padCommands.read:
        return read(number, first, second);
      case padCommands.write:
        tags.get(first)?.tag.memory.set(parameters.subarray(2, 6), second * pageBytes);
        return answer(number, tags.has(first) ? 0 : 0xff);
    }
  };

  return {
    receive(report) {
      const parsed = parsePadReport(report);
      // In the host's reports the first byte after the length is the command, not a number.
      if (parsed.kind !== "answer") return;
      const [command, number, parameters] = [parsed.number, parsed.data[0] ?? 0, parsed.data.subarray(1)];
      if (onCommand(command, parameters) === false) return;
      if (isAwake || command === padCommands.wake) obey(command, number, parameters);
    },
    onReport: (listener) => {
      onReport = listener;
    },
    onCommand: (listener) => {
      onCommand = listener;
    },
    put(tag, zone, silently = false) {
      const index = Array.from({ length: indexMax + 1 }, (_, at) => at).find((at) => !tags.has(at));
      if (index === undefined) throw new Error("there is no place left");
      tags.set(index, { tag, zone });
      if (!silently) tell(zone, index, tag.uid, 0);
      return index;
    },
    take(index, silently = false) {
      const gone = tags.get(index);
      tags.delete(index);
      if (gone !== undefined && !silently) tell(gone.zone, index, gone.tag.uid, 1);
    },
    colours: () => colours,
    reset() {
      isAwake = false;
      colours.clear();
    },
    say: (report) => onReport(report),
  };
}

/** The USB cable of a Toy Pad, in memory: it behaves like a real link, and can be pulled out. */
export interface ToypadCable {
  readonly open: OpenHid;
  plug(): void;
  unplug(): void;
}

export function createCable(device: ToypadDevice): ToypadCable {
  let link: { readonly gone: (reason: Error) => void } | undefined;
  let isPlugged = true;
  const refused = (path: string) => new ServiceError("reader-gone", `${path}: there is no such device`);
  return {
    async open(path) {
      if (!isPlugged) throw refused(path);
      let onGone: (reason: Error) => void = () => {};
      let over: Error | undefined;
      const mine = {
        gone(reason: Error) {
          over = reason;
          onGone(reason);
        },
      };
      link = mine;
      let onReport: (report: Uint8Array) => void = () => {};
      // Answers come a turn later, as over a wire.
      device.onReport((report) => {
        setImmediate(() => {
          if (over === undefined && isPlugged) onReport(report);
        });
      });
      const opened: HidLink = {
        path,
        onReport: (listener) => {
          onReport = listener;
        },
        onGone(listener) {
          onGone = listener;
          if (over !== undefined) listener(over);
        },
        async write(report) {
          if (over !== undefined) throw over;
          if (report.length !== reportBytes) throw new Error("a report has 32 bytes");
          device.receive(report);
        },
        async close() {
          over ??= new ServiceError("reader-gone", `${path}: the device is closed`);
          if (link === mine) link = undefined;
        },
      };
      return opened;
    },
    plug() {
      isPlugged = true;
    },
    unplug() {
      isPlugged = false;
      device.reset();
      const gone = link;
      link = undefined;
      gone?.gone(new ServiceError("reader-gone", "the device went away"));
    },
  };
}
