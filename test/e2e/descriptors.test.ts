/** A service without free descriptors reports this, breaks nothing, and works again as soon as some are free. */
import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { noDescriptors } from "../../src/core/operating-system.ts";
import { printed } from "../helpers/processes.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

const player = `${noReaders}[[launchers]]
id = "true"
systems = ["SNES"]
command = ["true", "{path}"]
`;

test.skipIf(Bun.which("prlimit") === null)(
  "a launch without a free descriptor says why, over and over, and the first with one starts its player",
  async () => {
    await using place = await makePlace(player);
    await place.file("SNES/Game.sfc");
    await using service = await startTapdeck(place);
    const { client, heard } = service;
    const launched = async () => {
      await client.call("launch", "SNES/Game.sfc");
      return heard.next("launch.finished");
    };
    const limit = (most: string) => printed(["prlimit", `--pid=${service.pid}`, `--nofile=${most}:`]);
    const open = async () => (await readdir(`/proc/${service.pid}/fd`)).length;

    expect(await launched()).toMatchObject({ success: true });
    // The index of the start is finished, and its files are open.
    await heard.next("media.indexing", ({ exists, indexing }) => exists && !indexing);
    const atRest = await open();
    // A soft limit below the number of open descriptors: not one more can be opened.
    await limit("8");
    for (let time = 0; time < 20; time++)
      expect(await launched()).toMatchObject({
        success: false,
        error: expect.stringContaining(noDescriptors),
      });
    await limit("1024");
    expect(await launched()).toMatchObject({ success: true });
    expect(await open()).toBeLessThanOrEqual(atRest + 4);
    expect((await client.call("tokens.history", { limit: 50 })).entries).toHaveLength(22);
  },
);
