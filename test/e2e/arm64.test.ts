/** The arm64 binary on the processor of a Raspberry Pi Zero 2 W (Cortex-A53), emulated: it starts, and it answers. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import packageFile from "../../package.json";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, readerConfig, startTapdeck } from "../helpers/tapdeck.ts";

const binary = join(import.meta.dir, "../../dist/tapdeck-linux-arm64");
const libraries = "/usr/aarch64-linux-gnu";
const emulator = [
  "qemu-aarch64-static",
  "-cpu",
  "cortex-a53",
  ...(existsSync(libraries) ? ["-L", libraries] : []),
];

test("the arm64 binary answers ping and version on an emulated Cortex-A53", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place, [...emulator, binary]);
  await service.client.ping();
  expect(await service.client.call("version")).toEqual({ platform: "linux", version: packageFile.version });
  expect(await (await fetch(`http://127.0.0.1:${place.port}/ping`)).text()).toBe("pong");
}, 120_000);

test("the arm64 binary carries node-hid's addon for its processor, and does without its libraries where they lack", async () => {
  await using place = await makePlace(readerConfig("toypad:/dev/null"));
  const folder = join(place.folder, "addons");
  await using service = await startTapdeck(place, [...emulator, binary]);
  await eventually(async () =>
    expect(JSON.stringify(await service.client.call("health"))).toContain("no HID device"),
  );
  const [unpacked = ""] = await readdir(folder);
  const addon = join(import.meta.dir, "../../node_modules/node-hid/prebuilds/HID_hidraw-linux-arm64");
  const bytes = await readFile(join(folder, unpacked));
  expect(bytes.equals(await readFile(join(addon, "node-napi-v4.node")))).toBe(true);
}, 120_000);
