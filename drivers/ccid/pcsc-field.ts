/**
 * The field of any contactless CCID reader: its slot is switched on, and the card behind it is spoken to in the commands
 * of PC/SC part 3.
 */
import { ccidOut } from "../protocol/ccid.ts";
import { isSameTarget } from "../tags/target-identity.ts";
import type { Field } from "../tags/watch-field.ts";
import { activate, pcscChannel } from "./pcsc-channel.ts";
import type { Send } from "./pn532-passthrough.ts";
import type { Slot } from "./slot.ts";

const aliveMs = 1000; // A reader that hangs is found out within this.
const pollMs = 100; // Of a reader that tells nothing by itself.

export function pcscField(send: Send, slot: Slot): Field {
  let known: ReturnType<typeof pcscChannel> | undefined;

  const list: Field["list"] = async (signal) => {
    // A card that was exchanged for another between two looks is told of by the reader alone.
    const changed = slot.takeChange();
    const { status } = await send({ type: ccidOut.slotStatus }, signal);
    if (status.card === "none") known = undefined;
    else if (known === undefined || changed || status.card !== "active") {
      const target = await activate(send, signal);
      const isSame = target !== undefined && known !== undefined && isSameTarget(known.target, target);
      known = target && (isSame ? known : pcscChannel(send, target));
    }
    return known;
  };
  return {
    list,
    async wait(signal) {
      for (;;) {
        const tag = await list(signal);
        if (tag !== undefined) return tag;
        await slot.changed(slot.tells ? aliveMs : pollMs, signal);
      }
    },
  };
}
