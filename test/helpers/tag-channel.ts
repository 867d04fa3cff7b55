/**
 * A channel to an emulated tag, without a line between them. It is the driver's own channel on the emulated chip, or that
 * of a plain PC/SC reader, which only reads and writes blocks.
 */

import type { Chip } from "../../drivers/pn532/chip.ts";
import { channelTo, targetIn } from "../../drivers/pn532/pn532-field.ts";
import {
  commandCodes,
  listOneFelica,
  listOneTypeA,
  samNormalMode,
  setMaxRetries,
} from "../../drivers/protocol/pn532-commands.ts";
import type { TagChannel } from "../../drivers/tags/tag-channel.ts";
import type { EmulatedTag } from "../emulators/emulated-tags.ts";
import { createEmulatedChip, instantRadio } from "../emulators/pn532-chip.ts";

export interface ChannelOptions {
  /** True for a channel without `transceive`. */
  readonly isPlain?: boolean;
  /** Called with each command's payload before it runs. A returned answer replaces the chip's. */
  readonly onCommand?: (payload: Uint8Array) => Uint8Array | undefined;
}

export interface TestChannel extends TagChannel {
  /** Removes the tag. */
  take(): void;
}

/** The channel to the tag, which is selected. */
export function channelOn(tag: EmulatedTag, options: ChannelOptions = {}): TestChannel {
  const emulated = createEmulatedChip(instantRadio);
  emulated.wake();
  const run = (payload: Uint8Array): Uint8Array | undefined => {
    const instead = options.onCommand?.(payload);
    if (instead !== undefined) return instead;
    const reply = emulated.run(payload);
    return reply.kind === "syntax-error" ? undefined : reply.payload;
  };
  const call = async (payload: Uint8Array) => {
    const answer = run(payload);
    if (answer === undefined) throw new Error("the emulated chip took a command for malformed");
    return answer;
  };
  const chip: Chip = {
    call,
    callFor: call,
    probe: call,
    abort: async () => {},
    takeStray: () => undefined,
    link: {
      path: "in memory",
      write: async () => {},
      setBaudRate: async () => {},
      onBytes: () => {},
      onGone: () => {},
      close: async () => {},
    },
  };
  for (const payload of [samNormalMode, setMaxRetries(2)]) emulated.run(payload);
  emulated.put(tag);
  const listed = emulated.run(tag.felica === undefined ? listOneTypeA : listOneFelica);
  const answer = listed.kind === "syntax-error" ? new Uint8Array() : listed.payload;
  const target = targetIn(tag.felica === undefined ? "type-a" : "felica", answer);
  if (target === undefined) throw new Error("the emulated chip found no tag");
  const { transceive, ...plain } = channelTo(chip, target);
  const channel = options.isPlain || transceive === undefined ? plain : { ...plain, transceive };
  return { ...channel, take: () => emulated.take(tag) };
}

/** True for a command that makes the tag write. */
export function isWrite(payload: Uint8Array): boolean {
  const [, code, first, second] = payload;
  if (code === commandCodes.inCommunicateThru)
    return first !== undefined && payload[3] === 0x08 && payload.length > 20;
  if (code !== commandCodes.inDataExchange) return false;
  return second === 0xa0 || second === 0xa2 || (second === 0x00 && payload[4] === 0xd6);
}
