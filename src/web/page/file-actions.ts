/**
 * The button of a file in the library: moves the file to another system, or deletes it, after a question. `onGone` removes its
 * row, which would keep the focus.
 */
import { button, el, note, openDialog } from "./dom.ts";
import { say } from "./page-texts.ts";
import type { Shared } from "./screens.ts";
import type { Listed } from "./search-box.ts";

export function fileActions(
  { client }: Shared,
  { name, path }: Pick<Listed, "name" | "path">,
  onGone: () => void,
): HTMLElement {
  const ask = async () => {
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
      dialog.close();
      onGone();
      note(say.upload.moved(name));
    });
    const remove = button(say.upload.delete, async () => {
      dialog.close();
      confirmDelete();
    });
    const choice =
      others.length === 0 ? undefined : el("div", { class: "own" }, say.upload.moveTo, system, move);
    const dialog = openDialog(name, say.cancel, choice ?? "", el("div", { class: "own" }, remove));
  };
  const confirmDelete = () => {
    const remove = button(say.upload.delete, async () => {
      await client.call("media.delete", { path });
      dialog.close();
      onGone();
      note(say.upload.deleted(name));
    });
    const dialog = openDialog(
      say.upload.delete,
      say.cancel,
      el("p", {}, say.upload.deleteSure(name)),
      remove,
    );
  };
  return button("…", ask, { "aria-label": say.upload.actionsOf(name) });
}
