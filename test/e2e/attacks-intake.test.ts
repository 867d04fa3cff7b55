/**
 * Attacks by messages: strangers over TLS send more and longer messages, and messages of a higher cost, than a home
 * needs.
 */
import { expect } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  anonymousJsonValuesMax,
  anonymousMax,
  anonymousMessagesPerConnectionMax,
  anonymousMessagesPerSecondMax,
  anonymousParsedBytesPerSecondMax,
  messageBytesMax,
} from "../../src/core/limits.ts";
import { attackTest, opened, startScene, urls } from "../helpers/attack-scene.ts";
import { type Line, startPeer, wordOf } from "../helpers/peer.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";
import { bounds } from "../load/hostile-probes.ts";

const burst = 4; // A token bucket holds this many seconds of its rate.

/** A valid request of almost 1 MiB, with few values. */
const large = (id: number) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "version", params: { x: "x".repeat(messageBytesMax - 200) } });
const small = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "version" });

/** For these connections: how often their refusals name each limit, and the number of other answers. */
function counted(...lines: readonly Line[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of lines.flatMap(({ texts }) => texts)) {
    // A notification, or a heartbeat.
    if (text.includes('"method"') || text === "pong") continue;
    const word = /"limit":"(\w+)"/.exec(text)?.[1] ?? "answered";
    counts[word] = (counts[word] ?? 0) + 1;
  }
  return counts;
}

const over = (line: Line) =>
  eventually(() => expect({ isOver: line.isOver(), ...counted(line) }).toMatchObject({ isOver: true }));

attackTest("a stranger sends messages of 1 MiB one after another, and all are parsed", async () => {
  await using scene = await startScene(noReaders);
  const line = await scene.stranger();
  for (let id = 0; id < 10; id++) line.send(large(id));
  await over(line);
  // The block does not apply to another address.
  expect(wordOf(await (await scene.stranger()).call("version"))).toBe("result");
  const { answered = 0, ...refused } = counted(line);
  // The second message begins with the rest of the allowance after the first one.
  expect(answered).toBeWithin(1, 3);
  expect(refused).toEqual({ anonymousBytesPerConnectionMax: 1 });
});

attackTest("sixteen strangers send 1 MiB each, and all of it is parsed", async () => {
  await using scene = await startScene(noReaders);
  const startMs = Date.now();
  const lines: Line[] = [];
  for (let nth = 0; nth < anonymousMax; nth++) lines.push(await scene.stranger());
  for (const [id, line] of lines.entries()) line.send(large(id));
  await eventually(() => expect(lines.filter(({ texts }) => texts.length > 0).length).toBe(anonymousMax));
  const seconds = burst + (Date.now() - startMs) / 1000;
  const { answered = 0, ...refused } = counted(...lines);
  // The last message may have been accepted with one byte of allowance left.
  expect(answered).toBeWithin(1, (seconds * anonymousParsedBytesPerSecondMax) / messageBytesMax + 2);
  expect(Object.keys(refused).filter((limit) => !limit.startsWith("anonymous"))).toEqual([]);
  expect(Object.keys(refused).length).toBeGreaterThan(0);
  // Short messages are still answered, for every caller that was not disconnected.
  expect(wordOf(await (await scene.stranger()).call("version"))).toBe("result");
  for (const line of lines)
    if (counted(line).anonymousReceivedBytesPerSecondMax) await over(line);
    else expect(wordOf(await line.call("version"))).toBe("result");
});

attackTest("a stranger sends a message with very many values, which is parsed", async () => {
  await using scene = await startScene(noReaders);
  const params = { values: Array.from({ length: anonymousJsonValuesMax }, () => 0) };
  const line = await scene.stranger();
  line.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rights", params }));
  await eventually(() => expect(counted(line)).toEqual({ anonymousJsonValuesMax: 1 }));
  // A client with an identity may send this many values.
  const sealed = await scene.sealed(await scene.client("player"));
  const { error } = await sealed.call("rights", params);
  expect(error?.data?.limit).toBeUndefined();
});

attackTest("a stranger sends thousands of short messages, and all are answered", async () => {
  await using scene = await startScene(noReaders);
  const startMs = Date.now();
  const line = await scene.stranger();
  for (let times = 0; times < 5000; times++) line.send(small);
  await over(line);
  // The answer to another stranger comes after the service has read all messages of the flooder.
  expect(wordOf(await (await scene.stranger()).call("version"))).toBe("result");
  const { answered = 0, ...refused } = counted(line);
  const seconds = burst + (Date.now() - startMs) / 1000;
  expect(answered).toBeWithin(1, seconds * anonymousMessagesPerConnectionMax + 2);
  expect(refused).toEqual({ anonymousMessagesPerConnectionMax: 1 });
});

attackTest("sixteen strangers send short messages, and everybody else waits for the answers", async () => {
  await using scene = await startScene(noReaders);
  const member = await scene.sealed(await scene.client("member"));
  const lines: Line[] = [];
  for (let nth = 0; nth < anonymousMax - 1; nth++) lines.push(await scene.stranger());
  const each = burst * anonymousMessagesPerConnectionMax - 10;
  // Each connection sends fewer messages than its own limit allows, but all together send more than the common limit.
  expect(each * lines.length).toBeGreaterThan(2 * burst * anonymousMessagesPerSecondMax);
  for (const line of lines) for (let times = 0; times < each; times++) line.send(small);
  expect(wordOf(await member.call("mappings"))).toBe("result");
  await Promise.all(lines.map((line) => line.fence()));
  expect(counted(...lines).anonymousMessagesPerSecondMax).toBeGreaterThan(0);
  // The first message of another stranger is not refused because of these messages.
  expect(wordOf(await (await scene.stranger()).call("version"))).toBe("result");
});

attackTest("a stranger posts 1 MiB again and again, and all of it is parsed", async () => {
  await using scene = await startScene(noReaders);
  const headers = { "content-type": "application/json" };
  const startMs = Date.now();
  const answers: { readonly status: number; readonly body: string }[] = [];
  for (let id = 0; id < 12; id++)
    answers.push(await scene.neighbour.ask({ url: urls.tls, method: "POST", headers, body: large(id) }));
  const seconds = burst + (Date.now() - startMs) / 1000;
  const read = answers.filter(({ status }) => status === 200).length;
  expect(read).toBeWithin(1, (seconds * anonymousParsedBytesPerSecondMax) / messageBytesMax + 2);
  const refused = answers.find(({ status }) => status === 429);
  expect(JSON.parse(refused?.body ?? "{}").error.data).toMatchObject({
    reason: "busy",
    limit: expect.stringMatching(/^anonymous/),
  });
});

attackTest("a flooder opens the next connection at once, and goes on", async () => {
  await using scene = await startScene(noReaders);
  const { network } = scene.device;
  await using flooder = startPeer(network.onNeighbour, [network.neighbourAddress]);
  const line = await opened(flooder.open({ url: urls.wss }));
  for (let id = 0; id < 3; id++) line.send(large(id));
  await over(line);
  expect(await flooder.open({ url: urls.wss })).toMatchObject({ status: 429 });
  // The block does not apply to other addresses.
  expect(wordOf(await (await scene.stranger()).call("version"))).toBe("result");
});

const floodSeconds = 8;
const asksMax = 1000; // Each request costs memory itself, until its garbage is collected.

attackTest("the largest messages on all connections take the memory of the service", async () => {
  await using scene = await startScene(noReaders);
  const { network, service } = scene.device;
  const member = await scene.sealed(await scene.client("member"));
  const script = join(import.meta.dir, "../programs/attacker.ts");
  const sources = Array.from({ length: 30 }, (_, host) => `10.77.0.${host + 20}`);
  const words = [
    process.execPath,
    script,
    "tls-large",
    network.deviceAddress,
    String(floodSeconds),
    ...sources,
  ];
  let isOver = false;
  const attack = printed(network.onNeighbour(words)).finally(() => {
    isOver = true;
  });
  let asked = 0;
  while (!isOver && asked < asksMax) {
    expect(wordOf(await member.call("mappings"))).toBe("result");
    expect(await scene.launch(`**echo:${asked}`)).toBe("done");
    asked += 1;
  }
  expect(JSON.parse(await attack).opened).toBeGreaterThanOrEqual(anonymousMax);
  const status = await readFile(`/proc/${service.pid}/status`, "utf8");
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  process.stdout.write(`peak resident memory: ${peakMb.toFixed(0)} MB, asked ${asked} times\n`);
  expect(peakMb).toBeLessThan(bounds.peakMbMax);
});
