/** Pictures of media, as data addresses. The device sends a connection three at a time, so the others wait here. */
import { type Client, RpcError } from "../../client/client.ts";
import { el } from "./dom.ts";

const atATime = 3;
/** Each has some 10 KB at the size of a row, and 30 KB at that of a tile. */
const keptMax = 300;

export type Pictures = ReturnType<typeof createPictures>;

export function createPictures(client: Client) {
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
  const addressOf = async (path: string, maxSize: number) => {
    const key = `${maxSize} ${path}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const address = await client.call("media.image", { path, maxSize }).then(
      ({ contentType, data }) => `data:${contentType};base64,${data}`,
      (error: unknown) => {
        // The device has no picture, and the page does not ask again. After a lost connection it asks again.
        if (error instanceof RpcError) return "";
        throw error;
      },
    );
    kept.set(key, address);
    const [oldest] = kept.keys();
    if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
    return address;
  };
  /**
   * Loads a picture when its turn comes, if it is still wanted. The latest is loaded first, because the visitor sees the
   * latest ones.
   */
  const queue = (image: HTMLImageElement, path: string, maxSize: number, isWanted: () => boolean) => {
    waiting.push(async () => {
      // Media without a picture keep their empty place.
      const address = isWanted() ? await addressOf(path, maxSize).catch(() => "") : "";
      if (address === "" || image.dataset.path !== path) return;
      image.src = address;
      image.hidden = false;
    });
    runNext();
  };
  /** Images in view without their picture. Pictures that were scrolled past are not requested. */
  const inView = new Set<Element>();
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) inView.delete(target);
      if (!isIntersecting || !(target instanceof HTMLImageElement)) continue;
      inView.add(target);
      const { path = "", size } = target.dataset;
      const isWanted = () => {
        const isSeen = inView.delete(target);
        if (isSeen) seen.unobserve(target);
        return isSeen;
      };
      queue(target, path, Number(size), isWanted);
    }
  });
  const whenSeen = (path: string, size: number) => {
    const image = el("img", { alt: "", decoding: "async", "data-path": path, "data-size": String(size) });
    seen.observe(image);
    return image;
  };
  return {
    /** A small picture that loads once it is in view. */
    inRow: (path: string): HTMLElement => el("span", { class: "thumb" }, whenSeen(path, rowPx)),
    /** The address of a large picture; empty without one. */
    address: (path: string) => addressOf(path, coverPx).catch(() => ""),
    /** A larger one. */
    inTile: (path: string): HTMLElement => whenSeen(path, tilePx),
    /** Loads the pictures of this path again, because its picture has changed. */
    forget(path: string): void {
      for (const key of kept.keys()) if (key.endsWith(` ${path}`)) kept.delete(key);
      for (const image of document.querySelectorAll<HTMLImageElement>("img[data-path]"))
        if (image.dataset.path === path)
          queue(image, path, Number(image.dataset.size ?? coverPx), () => image.isConnected);
    },
    /** Loads the picture into the element, which stays hidden without one. */
    show(image: HTMLImageElement, path: string): void {
      image.hidden = true;
      image.dataset.path = path;
      queue(image, path, coverPx, () => image.dataset.path === path);
    },
  };
}

const rowPx = 96;
const tilePx = 256;
const coverPx = 384;
