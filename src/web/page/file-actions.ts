/** The controls that move a file of the library to another system, or delete it after a question. */
import type { Client } from "../../client/client.ts";
import { button, el, note, openDialog } from "./dom.ts";
import { say } from "./page-texts.ts";

/** `onGone` removes the file's entry, which would keep the focus. */
export async function fileActs(
  client: Client,
  { name, path }: { readonly name: string; readonly path: string },
  onGone: () => void,
): Promise<readonly HTMLElement[]> {
  const { systems } = await client.call("uploads.systems");
  const extension = /\.[^.]+$/.exec(path)?.[0].toLowerCase() ?? "";
  const others = systems.filter(
    ({ id, extensions }) => extensions.includes(extension) && !path.startsWith(`${id}/`),
  );
  const system = el(
    "select",
    { "aria-label": say.upload.moveTo },
    ...others.map((one) => el("option", { value: one.id }, one.name)),
  );
  const move = button(say.upload.move, async () => {
    await client.call("media.move", { path, system: system.value });
    onGone();
    note(say.upload.moved(name));
  });
  const confirmDelete = async () => {
    const remove = button(say.upload.delete, async () => {
      await client.call("media.delete", { path });
      sure.close();
      onGone();
      note(say.upload.deleted(name));
    });
    const question = el("p", {}, say.upload.deleteSure(name));
    const sure = openDialog(say.upload.delete, say.cancel, question, remove);
  };
  const choice = el("div", {}, say.upload.moveTo, system, move);
  return [...(others.length === 0 ? [] : [choice]), button(say.upload.delete, confirmDelete)];
}
