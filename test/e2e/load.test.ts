/** Many clients at once, and some that never read: answers stay right, and memory stays limited. */
import { expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { connect } from "../../src/client/client.ts";
import { connectionsMax } from "../../src/core/limits.ts";
import { openDeafSocket } from "../helpers/raw-socket.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

const clients = 64;
const inFlight = 100;
const deafClients = 16;
const floodRequests = 2000; // Each answer has some 40 KiB. All answers to all clients would take 1.3 GB.
const residentMbMax = 256; // The unsent bytes of 16 clients, as text, as bytes and as garbage, and 60 MB of the idle service.

const flood = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rpc.discover" });

test(`${clients} clients with ${inFlight} requests each in flight, and ${deafClients} that never read`, async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const url = `ws://127.0.0.1:${place.port}/api/v0.1`;
  const deaf = await Promise.all(Array.from({ length: deafClients }, () => openDeafSocket(place.port)));
  for (const socket of deaf) for (let n = 0; n < floodRequests; n++) socket.send(flood);

  const all = await Promise.all(Array.from({ length: clients }, () => connect(url)));
  const answers = await Promise.all(
    all.flatMap((client, who) =>
      Array.from({ length: inFlight }, async (_, n) => {
        const params = { limit: 1, before: new Date(who * 1000 + n).toISOString() };
        return n % 2 === 0 ? client.call("version") : client.call("tokens.history", params);
      }),
    ),
  );
  expect(answers).toHaveLength(clients * inFlight);
  for (const [index, answer] of answers.entries()) {
    if (index % 2 === 0) expect(answer).toMatchObject({ platform: "linux" });
    else expect(answer).toEqual({ entries: [] });
  }
  const residentMb = await peakMb(service.pid);
  process.stdout.write(`peak resident memory: ${residentMb.toFixed(0)} MB\n`);
  expect(residentMb).toBeLessThan(residentMbMax);
  for (const client of all) client.close();
  expect(await service.client.call("version")).toMatchObject({ platform: "linux" });
  for (const socket of deaf) socket.close();
});

test("a listener that does not read is cut off once 4 MiB wait for it, and nobody else is", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const deaf = await openDeafSocket(place.port);
  let isOpen = true;
  void deaf.closed.then(() => {
    isOpen = false;
  });
  // Each text is sent twice, and the kernel's own buffers hold some of it.
  const text = `no-such-file-${"x".repeat(16_000)}`;
  for (let n = 0; isOpen && n < 5000; n++) {
    await service.client.call("launch", text).catch(() => {});
    // The client notices the end of its connection only when it sends.
    if (n % 50 === 0) deaf.send("ping");
  }
  expect(isOpen).toBe(false);
  expect(await service.client.call("version")).toMatchObject({ platform: "linux" });
});

test("a connection above `connectionsMax` is refused with a sentence, and a place that becomes free is given again", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const url = `ws://127.0.0.1:${place.port}/api/v0.1`;
  // One connection is the test's own.
  const all = await Promise.all(Array.from({ length: connectionsMax - 1 }, () => connect(url)));
  await expect(connect(url)).rejects.toThrow();
  const refused = await fetch(`http://127.0.0.1:${place.port}/api/v0.1`);
  expect([refused.status, await refused.text()]).toEqual([
    503,
    "too many connections: close some, or try again in a second\n",
  ]);
  all[0]?.close();
  await all[0]?.closed;
  const last = await connect(url);
  expect(await last.call("version")).toMatchObject({ platform: "linux" });
  for (const client of [...all, last]) client.close();
});

async function peakMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
