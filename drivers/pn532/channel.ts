/** How a PN532 speaks to the target that it listed: InDataExchange for what the chip knows, InCommunicateThru for the rest. */
import { apduBytesMax } from "../../src/core/limits.ts";
import { classicCommands } from "../protocol/classic.ts";
import { communicateThru, dataExchange, parseExchange } from "../protocol/pn532-commands.ts";
import { pageBytes, tagCommands } from "../protocol/type2-tag.ts";
import type { TagChannel, Target } from "../tags/channel.ts";
import type { Chip } from "./chip.ts";
import { isStillThere, type ListedTarget } from "./target.ts";

/** The channel to `target`, which must be the chip's target 1. */
export function channelTo(chip: Chip, target: ListedTarget): TagChannel {
  const exchange = async (command: Uint8Array, signal: AbortSignal) => {
    const answer = parseExchange(await chip.call(command, signal));
    return answer.kind === "data" ? answer : undefined;
  };
  return {
    target: targetOf(target),
    transceive: async (bytes, signal) => (await exchange(communicateThru(...bytes), signal))?.data,
    read: async (block, signal) => (await exchange(dataExchange(tagCommands.read, block), signal))?.data,
    async write(block, bytes, signal) {
      const code = bytes.length === pageBytes ? tagCommands.write : tagCommands.compatibilityWrite;
      return (await exchange(dataExchange(code, block, ...bytes), signal)) !== undefined;
    },
    async authenticate(block, key, signal) {
      const code = key.kind === "A" ? classicCommands.authenticateA : classicCommands.authenticateB;
      // The cipher begins with the UID's last four bytes (UM0701-02, 7.3.8; AN10927, section 4).
      const uid = "idm" in target ? target.idm : target.uid;
      const command = dataExchange(code, block, ...key.bytes, ...uid.subarray(-4));
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

/** The ATS begins with a format byte, whose bits 10, 20 and 40 tell of one more each (ISO/IEC 14443-4, 5.2.3). */
function targetOf(listed: ListedTarget): Target {
  if ("idm" in listed) return { kind: "felica", ...listed };
  const { uid, atqa, sak, ats } = listed;
  const target = { kind: "type-a", uid, atqa, sak } as const;
  const [format] = ats;
  if (format === undefined) return target;
  const historicalAt = 1 + ((format >> 4) & 1) + ((format >> 5) & 1) + ((format >> 6) & 1);
  return { ...target, historicalBytes: ats.subarray(historicalAt) };
}
