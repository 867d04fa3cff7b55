/** The links of a hawkBit server that an attacker has taken over. */
import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { followHawkbit } from "../../../src/fleet/hawkbit.ts";
import { openUpdateJob } from "../../../src/fleet/update-job.ts";
import { defaultConfig } from "../../helpers/defaults.ts";
import { startFileServer } from "../../helpers/file-server.ts";
import { eventually } from "../../helpers/processes.ts";

test("a deployment of hawkBit does not lead to this device under another name", async () => {
  await using local = await startFileServer(Buffer.from("{}"));
  const href = `${local.url.replace("127.0.0.1", "localhost")}/deploymentBase/1`;
  await using server = await startFileServer(
    Buffer.from(
      JSON.stringify({ config: { polling: { sleep: "00:05:00" } }, _links: { deploymentBase: { href } } }),
    ),
  );
  const job = await openUpdateJob({
    engine: {
      fetch: async () => {},
      install: async () => {},
      seen: async () => ({ progress: { stamp: "", state: undefined }, last: undefined }),
      discard: async () => {},
    },
    idle: { is: () => true, wait: async () => {} },
    path: `${tmpdir()}/no-such-folder/job.json`,
    clock: systemClock,
    log: silentLog,
  });
  const deck = followHawkbit({
    settings: { ...defaultConfig.fleet, hawkbitUrl: new URL(server.url).origin },
    controllerId: "hall-1",
    board: "",
    attributes: {},
    dataFolder: tmpdir(),
    job,
    clock: systemClock,
    log: silentLog,
    onLatest: () => {},
    random: () => 0,
  });
  try {
    await eventually(() => expect(deck.status().fault).toContain("leads to this device itself"));
    expect(local.asked).toEqual([]);
  } finally {
    await deck.close();
  }
});
