/** The controls that give a file of the library a picture, move it to another system, or delete it after a question. */
import type { Client } from "../../client/client.ts";
import { uploadFile } from "../../client/upload.ts";
import { mediaNameOf } from "../../core/media.ts";
import { button, el, note, openDialog, telling } from "./dom.ts";
import type { Pictures } from "./page-pictures.ts";
import { PageFault, say } from "./page-texts.ts";

/** The longest edge of a picture on the device: more than a tile shows, and a fraction of a camera's bytes. */
const pictureEdge = 512;

/** Lets the visitor choose a picture for a file or a folder, which replaces the one that it has. */
export function pictureAct(
  client: Client,
  { forget }: Pick<Pictures, "forget">,
  { name, path }: { readonly name: string; readonly path: string },
): HTMLElement {
  const send = async (file: File) => {
    const [system = "", ...below] = path.split("/");
    // The device looks for it in this place first. PNG is the first ending that it tries.
    const at = ["images", ...below.slice(0, -1), `${mediaNameOf(path)}.png`].join("/");
    const source = { system, path: at, file: await smallPicture(file), replace: true };
    await uploadFile(client, source, { signal: AbortSignal.timeout(pictureMsMax) });
    forget(path);
    note(say.upload.pictured(name));
  };
  const choose = async () => {
    // The dialog of the button closes, and some browsers forget a file input that is in no document.
    const input = el("input", { type: "file", accept: "image/*", hidden: "" });
    const chosen = telling(async () => {
      const [file] = input.files ?? [];
      input.remove();
      if (file !== undefined) await send(file);
    });
    input.addEventListener("change", chosen);
    input.addEventListener("cancel", () => input.remove());
    document.body.append(input);
    input.click();
  };
  return button(say.upload.picture, choose);
}

const pictureMsMax = 60_000;

/** Any picture that the browser can show, scaled down, as PNG. */
async function smallPicture(file: File): Promise<Blob> {
  const image = await createImageBitmap(file).catch(() => {
    throw new PageFault(say.upload.noPicture(file.name));
  });
  const scale = Math.min(1, pictureEdge / Math.max(image.width, image.height));
  const canvas = el("canvas", {});
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const made = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (made === null) throw new PageFault(say.upload.noPicture(file.name));
  return made;
}

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
    const remove = button(
      say.upload.delete,
      async () => {
        await client.call("media.delete", { path });
        sure.close();
        onGone();
        note(say.upload.deleted(name));
      },
      { class: "danger wide" },
    );
    const question = el("p", {}, say.upload.deleteSure(name));
    const sure = openDialog(say.upload.delete, say.cancel, question, remove);
  };
  const choice = el("div", { class: "field" }, say.upload.moveTo, el("div", { class: "pair" }, system, move));
  return [
    ...(others.length === 0 ? [] : [choice]),
    button(say.upload.delete, confirmDelete, { class: "danger" }),
  ];
}
