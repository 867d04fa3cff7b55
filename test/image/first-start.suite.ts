/**
 * The television at the first start of a card, with the command line of a Raspberry Pi: black, and then pictures of this service
 * only. Run by `make test-image`; the strip of a picture each second stays in build/screens/first-start.
 */
import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { cardBytes, image, startBoard } from "./board.ts";
import { makeCard } from "./card.ts";
import { print } from "./figures.ts";
import { type Color, type Picture, pngOf, shareOf } from "./picture.ts";
import { patienceMs } from "./until.ts";

const strip = join(root, "build/screens/first-start");
const black: Color = [0, 0, 0];
// The color of src/screen/drawings.ts that is the background of each screen.
const background: Color = [0x14, 0x18, 0x3a];
const size = { width: 640, height: 360 };
const everyMs = 1000;
/** The number of pictures that are checked after the service has answered and drawn. */
const further = 5;

const isBlack = (picture: Picture) => shareOf(picture, black, undefined, 0) === 1;
/** A picture of the service. One that was taken during its drawing is black below the rows that are drawn. */
const isOurs = (picture: Picture) =>
  shareOf(picture, background, { left: 0, top: 0, right: 1, bottom: drawnRows(picture) / picture.height }) >
  0.6;

/** The number of rows down to the last one that is not black. */
function drawnRows({ width, height, pixels }: Picture): number {
  const rowBytes = 3 * width;
  let rows = height;
  while (rows > 0 && pixels.subarray((rows - 1) * rowBytes, rows * rowBytes).every((byte) => byte === 0))
    rows -= 1;
  return rows;
}

test(
  "from the first power-on the television shows black, and then nothing but our pictures",
  async () => {
    await rm(strip, { recursive: true, force: true });
    await using card = await makeCard(image, cardBytes);
    await using board = await startBoard({ card, display: `${size.width}x${size.height}`, asPi: true });
    const seen: string[] = [];
    let answersAt: number | undefined;
    void board.pong().then(() => {
      answersAt = seen.length;
    });
    while (
      answersAt === undefined ||
      seen.slice(answersAt).filter((kind) => kind === "ours").length < further
    ) {
      await Bun.sleep(everyMs);
      // QEMU's monitor answers a moment after its start.
      const picture = await board.picture().catch(() => undefined);
      // Until the guest has set a mode, QEMU draws a text of its own in another size.
      if (picture?.width !== size.width || picture.height !== size.height) continue;
      await Bun.write(join(strip, `${String(seen.length).padStart(3, "0")}.png`), pngOf(picture));
      const kind = isBlack(picture) ? "black" : isOurs(picture) ? "ours" : "strange";
      seen.push(kind);
      expect([seen.length, kind]).not.toEqual([seen.length, "strange"]);
    }
    print(
      "first start as a Raspberry Pi",
      `${seen.filter((kind) => kind === "black").length} s black, then ${seen.filter((kind) => kind === "ours").length} s of our pictures`,
    );
    // After a first picture, black does not come back.
    expect(seen.join(" ")).toMatch(/^(black )*ours( ours)*$/);
    // The service searches for a reader on this line, so the kernel must not write to it.
    expect(board.console()).not.toMatch(/[a-z]{3}/);
  },
  patienceMs,
);
