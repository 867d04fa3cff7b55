/** Writing to a card, with a dialog that waits for it. */
import type { Client } from "../../client/client.ts";
import { el, note, openDialog } from "./dom.ts";

/** Resolves when it was written or called off; rejects where the card was refused. */
export async function writeToCard(client: Client, name: string, text: string): Promise<void> {
  let isWaiting = true;
  const dialog = openDialog(
    "Write a card",
    "Cancel",
    el("p", {}, `Lay a card on the reader, to hold “${name}”.`),
  );
  void dialog.closed.then(() => {
    // Where it has ended meanwhile, there is nothing to call off.
    if (isWaiting) client.call("readers.write.cancel").catch(() => {});
    isWaiting = false;
  });
  try {
    await client.call("readers.write", { text });
    note(`Written: ${name}`);
  } catch (error) {
    if (isWaiting) throw error;
  } finally {
    isWaiting = false;
    dialog.close();
  }
}
