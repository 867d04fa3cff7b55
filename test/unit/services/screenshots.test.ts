/** Pictures of the device's output: of the media, or of its own screen, which may show a secret. */
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failed } from "../../../src/core/errors.ts";
import type { Grant } from "../../../src/core/rights.ts";
import { createScreenshots } from "../../../src/services/screenshots.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const callerWith = (grant: Grant) => ({
  access: "remote" as const,
  grant: () => grant,
  gone: () => new AbortController().signal,
  from: { address: "10.77.0.2" },
});

async function trial() {
  const folder = await mkdtemp(join(tmpdir(), "screenshots-"));
  const path = (name: string) => join(folder, name);
  await writeFile(path("screen.png"), png);
  await writeFile(path("game.png"), png);
  await writeFile(path("secret.txt"), "key");
  const world = { hasScreen: true, isPlaying: false, isFull: false, of: path("game.png") };
  const take = createScreenshots({
    devices: {
      captureScreen: async () => (world.hasScreen ? path("screen.png") : undefined),
      async refuseFullScreenshots() {
        if (world.isFull) throw failed("there are 500 files");
      },
    },
    launchQueue: {
      activeMedia: () => (world.isPlaying ? {} : undefined),
      picture: async () => world.of,
    },
  });
  return {
    world,
    path,
    take: (grant: Grant) => take(undefined, callerWith(grant)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test("an owner gets the device's own screen, and others only the media, because a pairing code may be on it", async () => {
  await using deck = await trial();
  expect(await deck.take("own")).toEqual({
    path: deck.path("screen.png"),
    contentType: "image/png",
    size: png.length,
    data: png.toString("base64"),
  });
  await expect(deck.take("change")).rejects.toThrow(
    "nothing plays, and only an owner may see the device's own screen",
  );
  deck.world.isPlaying = true;
  expect(await deck.take("change")).toMatchObject({ path: deck.path("game.png") });
  // A song does not change the screen.
  expect(await deck.take("own")).toMatchObject({ path: deck.path("screen.png") });
  deck.world.hasScreen = false;
  expect(await deck.take("own")).toMatchObject({ path: deck.path("game.png") });
});

test("a file that is no picture is not sent, whatever a player names, and a full folder takes no more", async () => {
  await using deck = await trial();
  Object.assign(deck.world, { isPlaying: true, of: deck.path("secret.txt") });
  await expect(deck.take("change")).rejects.toThrow(
    `the picture is saved, but it cannot be sent: ${deck.path("secret.txt")}`,
  );
  deck.world.isFull = true;
  await expect(deck.take("change")).rejects.toThrow("there are 500 files");
});

test("one picture is taken at a time, and a failed one does not hold up the next", async () => {
  await using deck = await trial();
  const first = deck.take("own");
  await expect(deck.take("own")).rejects.toThrow("a picture is being taken already: ask again in a second");
  await first;
  deck.world.hasScreen = false;
  await expect(deck.take("own")).rejects.toThrow("nothing plays, and there is no screen to save");
  deck.world.hasScreen = true;
  expect(await deck.take("own")).toMatchObject({ size: png.length });
});
