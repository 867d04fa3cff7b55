/** The sleep timer and the end of the device, by cards on a reader of the device and over the API. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../helpers/processes.ts";
import { makePlace, startTapdeck } from "../helpers/tapdeck.ts";

test("a card sets the sleep timer, a second tap ends it, and a phone sees and changes it", async () => {
  await using place = await makePlace();
  const card = join(place.folder, "card");
  await Bun.write(card, "");
  await place.config(`[readers]\ndetect = false\nconnect = ["file:${card}"]\n`);
  await using service = await startTapdeck(place);
  const { client, heard } = service;
  await eventually(async () => expect((await client.call("readers")).readers).toHaveLength(1));
  const tap = async (text: string) => {
    await Bun.write(card, text);
    const ended = await heard.next("launch.finished", (launch) => launch.text === text);
    await Bun.write(card, "");
    await heard.next("tokens.removed");
    return ended;
  };
  const before = Date.now();
  expect(await tap("**sleep:30m")).toMatchObject({ success: true });
  const { endsAt = "" } = await client.call("sleep");
  expect(Date.parse(endsAt) - before).toBeGreaterThanOrEqual(30 * 60_000);
  expect(await tap("**sleep:30m")).toMatchObject({ success: true });
  expect(await client.call("sleep")).toEqual({});
  expect(await client.call("sleep.update", { minutes: 15 })).toHaveProperty("endsAt");
  expect(await tap("**sleep:off")).toMatchObject({ success: true });
  expect(await client.call("sleep")).toEqual({});
  // Only Tapdeck's own image can be switched off.
  expect(await tap("**shutdown")).toMatchObject({
    success: false,
    error: expect.stringContaining("the service may switch off only Tapdeck's own image"),
  });
});
