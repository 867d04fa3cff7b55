/**
 * The block protocol of ISO/IEC 14443-4 (section 7), which the MFRC522 leaves to the host: APDUs in blocks, chains of blocks, and
 * blocks that are sent again.
 */
import { type Clock, sleep } from "../../src/core/clock.ts";
import { apduBytesMax } from "../../src/core/limits.ts";
import { type AnswerToSelect, blockCode, type IsoBlock, parseIsoBlock } from "../protocol/type-a-frame.ts";

/** Sends one block with its CRC, and returns the answer without it; undefined if no answer came, or a broken one. */
export type SendBlock = (
  block: readonly number[],
  waitMs: number,
  signal: AbortSignal,
) => Promise<Uint8Array | undefined>;

const deselectWaitMs = 5; // The longest wait: 65536 / fc (14443-4, 8).
const headAndCheckBytes = 3;
const repeatsMax = 2;
// A card may ask for more time as often as it likes, and a reader must not wait for ever.
const extensionsMax = 20;
const blocksMax = 512;

/** The block protocol with a card that has just sent its answer to select. */
export function createIsoDep(
  send: SendBlock,
  { frameBytesMax, waitMs, guardMs }: AnswerToSelect,
  clock: Clock,
) {
  const readyMs = clock.now() + guardMs;
  let number = 0;

  /** The card's answer to this block; undefined if it has none, after the repeats of 14443-4, 7.5.4. */
  const answerTo = async (block: readonly number[], signal: AbortSignal): Promise<IsoBlock | undefined> => {
    const isAck = ((block[0] ?? 0) & 0xfe) === blockCode.ack;
    let next = block;
    let nextWaitMs = waitMs;
    let repeats = 0;
    let extensions = 0;
    for (;;) {
      const bytes = await send(next, nextWaitMs, signal);
      const answer = bytes && parseIsoBlock(bytes);
      nextWaitMs = waitMs;
      if (answer?.kind === "more-time") {
        if (extensions++ === extensionsMax) return undefined;
        next = [blockCode.moreTime, answer.factor];
        nextWaitMs = waitMs * answer.factor;
        continue;
      }
      // The answer's number is that of the block, unless the card did not get it.
      if (answer !== undefined && answer.number === number) return answer;
      if (repeats++ === repeatsMax) return undefined;
      // A card that acknowledges the block before this one did not get this block, which is sent again. An ACK is also
      // sent again unchanged (7.5.4.2).
      next = isAck || answer?.kind === "ack" ? block : [blockCode.nak | number];
    }
  };
  const sendChain = async (command: Uint8Array, signal: AbortSignal): Promise<IsoBlock | undefined> => {
    const room = frameBytesMax - headAndCheckBytes;
    for (let from = 0; ; from += room) {
      const hasMore = from + room < command.length;
      const code = blockCode.i | number | (hasMore ? blockCode.more : 0);
      const answer = await answerTo([code, ...command.subarray(from, from + room)], signal);
      if (!hasMore || answer?.kind !== "ack") return answer;
      number ^= 1;
    }
  };

  return {
    /** The card's answer to an APDU; undefined if it failed. The card must be selected again then. */
    async apdu(command: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined> {
      if (clock.now() < readyMs) await sleep(clock, readyMs - clock.now(), signal);
      let whole: Uint8Array = new Uint8Array();
      let answer = await sendChain(command, signal);
      for (let blocks = 0; blocks < blocksMax; blocks++) {
        if (answer?.kind !== "i") return undefined;
        whole = whole.length === 0 ? answer.data.slice() : Uint8Array.of(...whole, ...answer.data);
        number ^= 1;
        if (!answer.hasMore) return whole;
        if (whole.length > apduBytesMax) return undefined;
        answer = await answerTo([blockCode.ack | number], signal);
      }
      return undefined;
    },
    /** Puts the card to sleep, so that it can be woken up and selected again. */
    deselect: (signal: AbortSignal) => send([blockCode.deselect], deselectWaitMs, signal),
  };
}
