/** Pictures of media, as data addresses. The device sends a connection three at a time, so that the others wait here. */
import type { Client } from "../../client/client.ts";
import { el } from "./dom.ts";

const atATime = 3;
/** Each has some 10 KB at the size of a row. */
const keptMax = 300;

export type Pictures = ReturnType<typeof createPictures>;

export function createPictures(client: Client) {
  /** The address of a picture; empty if the media have none. */
  const kept = new Map<string, string>();
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;

  const runNext = () => {
    const job = running < atATime ? waiting.pop() : undefined;
    if (job === undefined) return;
    running += 1;
    void job().finally(() => {
      running -= 1;
      runNext();
    });
  };
  const load = async (image: HTMLImageElement, path: string, maxSize: number) => {
    const key = `${maxSize} ${path}`;
    if (!kept.has(key)) {
      const { contentType, data } = await client.call("media.image", { path, maxSize });
      kept.set(key, `data:${contentType};base64,${data}`);
    }
    image.src = kept.get(key) ?? "";
    image.hidden = image.src === "";
    const [oldest] = kept.keys();
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
  };
  /** Loads a picture when its turn comes; the latest first, because the visitor sees those. */
  const queue = (image: HTMLImageElement, path: string, maxSize: number) => {
    waiting.push(async () => {
      // The visitor has left its list.
      if (!image.isConnected) return;
      // Media without a picture keep their empty place.
      await load(image, path, maxSize).catch(() => {});
    });
    runNext();
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLImageElement)) continue;
      seen.unobserve(target);
      queue(target, target.dataset.path ?? "", rowPx);
    }
  });
  return {
    /** A small picture that loads once it is in view. */
    inRow(path: string): HTMLElement {
      const image = el("img", { alt: "", hidden: "", "data-path": path });
      const frame = el("span", { class: "thumb" }, image);
      // A hidden picture is never in view, so that an empty one takes its place in the frame.
      image.hidden = false;
      seen.observe(image);
      return frame;
    },
    /** Loads the picture into the element, which stays hidden without one. */
    show(image: HTMLImageElement, path: string): void {
      image.hidden = true;
      queue(image, path, coverPx);
    },
  };
}

const [rowPx, coverPx] = [96, 384];
