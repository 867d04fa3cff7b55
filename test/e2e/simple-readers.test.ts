/** The compiled program with home-made readers: a board on a real pty, and a file. */
import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLineReader } from "../emulators/line-reader.ts";
import { firstReader, makePlace, readerConfig, startTapdeck } from "../helpers/tapdeck.ts";

test("a card of a board that speaks in lines is launched; a tap is marked as one, and goes by itself", async () => {
  const board = createLineReader();
  try {
    await using place = await makePlace(readerConfig(`serial-line:${board.path}?baud=115200`));
    await using service = await startTapdeck(place);
    await firstReader(service);
    const { heard } = service;
    board.say("SCAN\tuid=04:A1:B2:C3\ttext=**delay:1\n");
    expect(await heard.next("tokens.added")).toMatchObject({ uid: "04a1b2c3", text: "**delay:1" });
    expect(await heard.next("launch.finished")).toMatchObject({ text: "**delay:1", success: true });
    board.say("SCAN\n");
    expect(await heard.next("tokens.removed")).toMatchObject({ uid: "04a1b2c3" });

    board.say("SCAN\tremovable=no\ttext=**delay:2\n");
    expect(await heard.next("tokens.added")).toMatchObject({ text: "**delay:2", removable: false });
    expect(await heard.next("tokens.removed")).toMatchObject({ text: "**delay:2", removable: false });

    // The board is pulled out while a card is on it, and plugged in again: no removal, and no second tap.
    board.lay({ uid: "04d1", text: "**delay:3" });
    await heard.next("tokens.added", ({ uid }) => uid === "04d1");
    await board.unplug();
    await heard.next("readers.removed");
    board.plug();
    await heard.next("readers.added", ({ connected }) => connected);
    board.lay({ uid: "04d1", text: "**delay:3" });
    board.lay({ uid: "04d2", text: "**delay:4" });
    await heard.next("tokens.added", ({ uid }) => uid === "04d2");
    const taps = heard.all.filter((one) => one.method === "tokens.added" && one.params.uid === "04d1");
    expect(taps.length).toBe(1);
  } finally {
    await board.close();
  }
});

test("a file that a script writes is a card for as long as it is there", async () => {
  await using place = await makePlace();
  const path = join(place.folder, "card");
  await place.config(readerConfig(`file:${path}`));
  await using service = await startTapdeck(place);
  await firstReader(service);
  const { heard } = service;
  await writeFile(path, "**delay:1\n");
  expect(await heard.next("tokens.added")).toMatchObject({ text: "**delay:1" });
  expect(await heard.next("launch.finished")).toMatchObject({ success: true });
  await rm(path);
  await heard.next("tokens.removed");
});
