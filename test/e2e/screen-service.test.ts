/**
 * The compiled service with a frame buffer and a console of its own: the pictures on the screen while cards come and
 * players end.
 */
import { expect, test } from "bun:test";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { render } from "../../src/screen/draw-job.ts";
import { framePixels } from "../../src/screen/frame-buffer.ts";
import { type Picture, startingOf } from "../../src/screen/picture.ts";
import { screenSvg } from "../../src/screen/status-template.ts";
import { english } from "../../src/screen/texts.ts";
import { eventually } from "../helpers/processes.ts";
import { canStage, screenSize as size, startOnStage } from "../helpers/staged-screen.ts";
import { makePlace, noReaders } from "../helpers/tapdeck.ts";
import { modeOf } from "../helpers/terminals.ts";

test.skipIf(!canStage)(
  "the screen asks for a reader, names what is missing and what starts, is left to the player, and is back after its crash",
  async () => {
    await using place = await makePlace();
    const { folder } = place;
    const waits = `while ! [ -e ${folder}/crash ]; do sleep 0.05; done`;
    await place.config(`${noReaders}
[[launchers]]
id = "crashing"
command = ["/bin/sh", "-c", "${waits}; kill -9 $$", "{path}"]
`);
    await place.file("SNES/Game.sfc");
    await using service = await startOnStage(place);
    await shows(folder, { kind: "no-reader" });
    expect(modeOf(join(folder, "tty"))).toBe(1);
    await service.client.call("launch", { text: "SNES/None.sfc" });
    await shows(folder, { kind: "not-found", name: "None" });
    await service.client.call("launch", { text: "SNES/Game.sfc" });
    await shows(folder, startingOf("Game"));
    // Fills the frame buffer as a player might have left it.
    await writeFile(join(folder, "frame"), new Uint8Array(size.stride * size.height).fill(0x77));
    await service.client.call("launch", { text: "SNES/None.sfc" });
    await service.heard.next("launch.finished", ({ text, success }) => text === "SNES/None.sfc" && !success);
    await writeFile(join(folder, "crash"), "");
    await service.heard.next("media.stopped");
    await shows(folder, { kind: "no-reader" });
    expect(await service.stop()).toBe(0);
    expect(modeOf(join(folder, "tty"))).toBe(0);
    expect(service.log()).not.toContain("screen:");
  },
);

test.skipIf(!canStage)(
  "a playlist that a card opens is on the screen until one of it starts, and a screenshot has the pixels of the screen",
  async () => {
    await using place = await makePlace();
    await place.config(`${noReaders}
[[launchers]]
id = "sleeping"
command = ["/bin/sh", "-c", "exec sleep 600", "{path}"]
`);
    for (const name of ["Owl", "Fox", "Wind"]) await place.file(`Audio/Night/${name}.mp3`);
    await using service = await startOnStage(place);
    await shows(place.folder, { kind: "no-reader" });
    await service.client.call("launch", "**playlist.open:Audio/Night");
    const list: Picture = { kind: "playlist", name: "Night", items: ["1. Fox", "2. Owl", "3. Wind"] };
    await shows(place.folder, list);
    await service.client.call("launch", "**screenshot");
    const shot = await service.heard.next("launch.finished", ({ text }) => text === "**screenshot");
    expect(shot).toMatchObject({ success: true });
    const [name = ""] = await readdir(join(place.folder, "screenshots"));
    expect(name).toMatch(/^screen-\d{17}\.png$/);
    const png = await readFile(join(place.folder, "screenshots", name));
    const rows = inflateSync(png.subarray(png.indexOf("IDAT") + 4, png.indexOf("IEND") - 8));
    const pixels = await render(screenSvg(list, { base: undefined }, size, english), size);
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([size.width, size.height]);
    for (let row = 0; row < size.height; row++) {
      const drawn = pixels.subarray(row * size.width * 4, (row + 1) * size.width * 4);
      const taken = rows.subarray(row * (size.width * 3 + 1) + 1, (row + 1) * (size.width * 3 + 1));
      expect(taken.equals(Uint8Array.from(drawn.filter((_, at) => at % 4 < 3)))).toBe(true);
    }
    const answer = await service.client.call("screenshot", {});
    expect(answer).toMatchObject({ contentType: "image/png", size: png.length });
    expect(Buffer.from(answer.data, "base64").equals(png)).toBe(true);
    expect(await readFile(answer.path)).toEqual(png);
    expect(answer.path).not.toEndWith(name);
    await service.client.call("launch", "**playlist.goto:2");
    await shows(place.folder, startingOf("Owl"));
    expect((await service.client.call("media")).playlists[0]).not.toHaveProperty("items");
  },
);

/** Waits until the frame buffer equals this picture, pixel by pixel. */
async function shows(folder: string, picture: Picture): Promise<void> {
  // The service listens on loopback only, so it has no address to show.
  const pixels = await render(screenSvg(picture, { base: undefined }, size, english), size);
  const wanted = Buffer.from(framePixels(pixels, size, { first: 0, count: size.height }));
  await eventually(async () => wanted.equals(await readFile(join(folder, "frame")))).catch(
    (cause: unknown) => {
      throw new Error(`the screen did not come to show ${picture.kind}`, { cause });
    },
  );
}
