/** A picture of the device's present output: of the game or film, and for an owner of the device's own screen. */
import { button, el, section } from "./dom.ts";
import { clockOf } from "./local-forms.ts";
import { say, sentenceOf } from "./page-texts.ts";
import type { PageCard, Shared } from "./screens.ts";

export function screenCard({ client }: Shared): PageCard {
  const texts = say.picture;
  const image = el("img", { class: "shown", alt: texts.alt, hidden: "" });
  const state = el("p", { class: "quiet", role: "status" }, texts.what);
  const take = button(
    texts.take,
    async () => {
      take.disabled = true;
      try {
        const { contentType, data } = await client.call("screenshot");
        image.src = `data:${contentType};base64,${data}`;
        image.dataset.kind = contentType.replace("image/", "");
        await image.decode();
        state.textContent = texts.takenAt(clockOf(new Date().toISOString()));
        show(true);
      } catch (error) {
        // A picture of an earlier moment would be taken for the present one.
        show(false);
        state.textContent = sentenceOf(error);
      } finally {
        take.disabled = false;
        take.focus();
      }
    },
    { class: "main" },
  );
  const download = button(say.device.download, async () => {
    const name = `screen.${image.dataset.kind}`;
    el("a", { href: image.src, download: name }).click();
  });
  const show = (isThere: boolean) => {
    image.hidden = download.hidden = !isThere;
    take.textContent = isThere ? texts.again : texts.take;
  };
  show(false);
  return { card: section(texts.title, state, image, el("div", { class: "bar" }, take, download)) };
}
