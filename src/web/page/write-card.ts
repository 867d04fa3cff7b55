/** The dialog that writes a card. */
import type { Calls, Client } from "../../client/client.ts";
import { button, el, note, openDialog } from "./dom.ts";
import { say } from "./page-texts.ts";

/**
 * Shows a dialog until the card is written or the dialog is closed; returns false if it was closed. Rejects if the
 * service refuses the card. With `later` the dialog offers to write the card later, with others.
 */
export async function writeToCard(
  client: Client,
  name: string,
  what: Calls["readers.write"]["params"],
  later?: () => void,
): Promise<boolean> {
  let isWaiting = true;
  const queue = async () => {
    dialog.close();
    later?.();
  };
  const more = later === undefined ? undefined : button(say.cards.later, queue, { class: "wide" });
  const dialog = openDialog(say.write, say.cancel, el("p", {}, say.writeTo(name)), more);
  void dialog.closed.then(() => {
    // The write may have ended already, and then there is nothing to cancel.
    if (isWaiting) client.call("readers.write.cancel").catch(() => {});
    isWaiting = false;
  });
  try {
    await client.call("readers.write", what);
    note(say.written(name));
    return true;
  } catch (error) {
    if (isWaiting) throw error;
    return false;
  } finally {
    isWaiting = false;
    dialog.close();
  }
}
