/** How a PN532 speaks to the target that it listed: InDataExchange for what the chip knows, InCommunicateThru for the rest. */
import { apduBytesMax } from "../../src/core/limits.ts";
import { classicCommands } from "../protocol/classic.ts";
import { communicateThru, dataExchange, parseExchange } from "../protocol/pn532-commands.ts";
import { pageBytes, tagCommands } from "../protocol/type2-tag.ts";
import type { TagChannel, Target } from "../tags/tag-channel.ts";
import { uidOf } from "../tags/target-identity.ts";
import type { Caller } from "./chip.ts";
import { isStillThere } from "./target.ts";

/** The channel to `target`, which must be the chip's target 1. */
export function channelTo(chip: Caller, target: Target): TagChannel {
  const exchange = async (command: Uint8Array, signal: AbortSignal) => {
    const answer = parseExchange(await chip.call(command, signal));
    return answer.kind === "data" ? answer : undefined;
  };
  return {
    target,
    transceive: async (bytes, signal) => (await exchange(communicateThru(...bytes), signal))?.data,
    read: async (block, signal) => (await exchange(dataExchange(tagCommands.read, block), signal))?.data,
    async write(block, bytes, signal) {
      const code = bytes.length === pageBytes ? tagCommands.write : tagCommands.compatibilityWrite;
      return (await exchange(dataExchange(code, block, ...bytes), signal)) !== undefined;
    },
    async authenticate(block, key, signal) {
      const code = key.kind === "A" ? classicCommands.authenticateA : classicCommands.authenticateB;
      // The cipher begins with the UID's last four bytes (UM0701-02, 7.3.8; AN10927, section 4).
      const command = dataExchange(code, block, ...key.bytes, ...uidOf(target).subarray(-4));
      return (await exchange(command, signal)) !== undefined;
    },
    async apdu(command, signal) {
      let answer = await exchange(dataExchange(...command), signal);
      let whole: Uint8Array = new Uint8Array();
      while (answer !== undefined) {
        whole = whole.length === 0 ? answer.data : Uint8Array.of(...whole, ...answer.data);
        if (!answer.hasMore) return whole;
        if (whole.length > apduBytesMax) return undefined;
        answer = await exchange(dataExchange(), signal);
      }
      return undefined;
    },
    reselect: (signal) => isStillThere(chip, target, signal),
  };
}
