/** The arm64 binary on the processor of a Raspberry Pi Zero 2 W (Cortex-A53), emulated: it starts, and it answers. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../../package.json";
import { makePlace, startTapdeck } from "../helpers/tapdeck.ts";

const binary = join(import.meta.dir, "../../dist/tapdeck-linux-arm64");
const libraries = "/usr/aarch64-linux-gnu";

test("the arm64 binary answers ping and version on an emulated Cortex-A53", async () => {
  const root = existsSync(libraries) ? ["-L", libraries] : [];
  await using place = await makePlace("[readers]\ndetect = false\n");
  await using service = await startTapdeck(place, [
    "qemu-aarch64-static",
    "-cpu",
    "cortex-a53",
    ...root,
    binary,
  ]);
  await service.client.ping();
  expect(await service.client.call("version")).toEqual({ platform: "linux", version: packageFile.version });
  expect(await (await fetch(`http://127.0.0.1:${place.port}/ping`)).text()).toBe("pong");
}, 120_000);
