/** The compiled binaries contain the addon of node-hid, and unpack and load it only when a HID reader is opened. */
import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../helpers/processes.ts";
import { makePlace, type Running, readerConfig, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const addonOf = (target: string) =>
  join(root, `node_modules/node-hid/prebuilds/HID_hidraw-linux-${target}/node-napi-v4.node`);
/** The HID class exists, and has no device. */
const named = readerConfig("toypad:/dev/null");

async function faultOf({ client }: Running): Promise<string> {
  const { checks } = await client.call("health");
  return JSON.stringify(checks);
}

test("a HID reader in the config makes the binary load the addon that it carries, and is listed with its reason", async () => {
  await using place = await makePlace(named);
  await using service = await startTapdeck(place);
  await eventually(async () => expect(await faultOf(service)).toContain("/dev/null"));
  expect(await faultOf(service)).toContain("it is no HID device");
  const unpacked = await readdir(join(place.folder, "addons"));
  expect(unpacked.length).toBe(1);
  const bytes = await readFile(join(place.folder, "addons", unpacked[0] ?? ""));
  expect(bytes.equals(await readFile(addonOf(process.arch === "arm64" ? "arm64" : "x64")))).toBe(true);
  expect(await readFile(`/proc/${service.pid}/maps`, "utf8")).toContain(".node");
  // The other parts of the service still work.
  await service.client.ping();
});

test("without a HID reader no addon is unpacked or loaded", async () => {
  await using place = await makePlace("[readers]\ndetect = true\n");
  await using service = await startTapdeck(place);
  await service.client.call("readers");
  expect(await readdir(join(place.folder, "addons"))).toEqual([]);
  expect(await readFile(`/proc/${service.pid}/maps`, "utf8")).not.toContain(".node");
});

test.each(["x64", "arm64"])(
  "the program for %p named folders of the machine that compiled it",
  async (target) => {
    const bytes = await readFile(join(root, `dist/tapdeck-linux-${target}`));
    expect(bytes.indexOf(root)).toBe(-1);
  },
);
