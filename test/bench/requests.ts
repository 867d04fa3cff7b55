/** Requests a second and their times, beside the same method in Node with `ws` and `json-rpc-2.0`. */
import { join } from "node:path";
import { openDeafSocket, openRawSocket } from "../helpers/raw-socket.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";
import { cpuSeconds, line, quantile, spread, title } from "./figures.ts";

const secondsEach = 3;
const competitor = join(import.meta.dir, "json-rpc-server.mjs");

export async function measureRequests(): Promise<void> {
  title(`Requests: version, for ${secondsEach} s each; beside Node with ws and json-rpc-2.0`);
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const node = Bun.spawn(["node", competitor], { stdio: ["ignore", "pipe", "inherit"] });
  const theirs = `ws://127.0.0.1:${(await firstLine(node.stdout)).trim()}/`;
  const ours = `ws://127.0.0.1:${place.port}/api/v0.1`;
  for (const [connections, inFlight] of [
    [1, 1],
    [1, 32],
    [16, 1],
    [16, 32],
  ] as const) {
    // The two are measured in turns, so a busy machine is busy for both.
    const [a, b] = [[], []] as [Measured[], Measured[]];
    for (let turn = 0; turn < 3; turn++) {
      a.push(await withCpu(service.pid, () => load(ours, connections, inFlight)));
      b.push(await withCpu(node.pid, () => load(theirs, connections, inFlight)));
    }
    const [own, other] = [total(a), total(b)];
    line(
      `${connections} connections, ${inFlight} in flight on each`,
      `${shown(own)}; node ${shown(other)}; ratio ${(own.perSecond / other.perSecond).toFixed(1)}`,
      "3 times as many",
    );
  }
  node.kill();
  await node.exited;
  await measurePing(service.pid, place.port, ours);
}

interface Measured {
  readonly times: readonly number[];
  readonly perSecond: number;
  /** Processor time of the server, in microseconds a request. */
  readonly cpuUs?: number;
}

async function withCpu(pid: number, run: () => Promise<Measured>): Promise<Measured> {
  const before = await cpuSeconds(pid);
  const measured = await run();
  return { ...measured, cpuUs: (((await cpuSeconds(pid)) - before) * 1e6) / measured.times.length };
}

function shown({ perSecond, p99, cpuUs }: Total): string {
  return `${perSecond.toFixed(0)}/s, p99 ${p99.toFixed(2)} ms, ${cpuUs.toFixed(1)} us of processor each`;
}

const request = JSON.stringify({
  jsonrpc: "2.0",
  id: "5f0b7c1e-8f6a-4a53-9d3d-0a3f3c2b1a00",
  method: "version",
});

/**
 * Loads a server over raw sockets with a client that costs next to nothing. The frames are made in advance, and answers,
 * all of one length, are counted by their bytes.
 */
async function load(url: string, connections: number, inFlight: number): Promise<Measured> {
  const answerLength = await lengthOfAnswer(url);
  const endMs = performance.now() + (secondsEach * 1000) / 3;
  const startedMs = performance.now();
  const all = await Promise.all(
    Array.from({ length: connections }, () =>
      loadOne(Number(new URL(url).port), { inFlight, answerLength, endMs }),
    ),
  );
  const times = all.flat();
  return { times, perSecond: times.length / ((performance.now() - startedMs) / 1000) };
}

interface Load {
  readonly inFlight: number;
  readonly answerLength: number;
  readonly endMs: number;
}

async function loadOne(port: number, { inFlight, answerLength, endMs }: Load): Promise<readonly number[]> {
  const socket = await openRawSocket(port, (bytes) => take(bytes));
  const frames = socket.framesOf(request, inFlight);
  const times: number[] = [];
  const sent: number[] = [];
  const done = Promise.withResolvers<void>();
  let [received, answered] = [0, 0];
  const send = (count: number) => {
    const nowMs = performance.now();
    for (let n = 0; n < count; n++) sent.push(nowMs);
    socket.write(frames.subarray(0, (frames.length / inFlight) * count));
  };
  const take = (bytes: number) => {
    received += bytes;
    const nowMs = performance.now();
    const count = Math.floor(received / answerLength) - answered;
    for (let n = 0; n < count; n++) times.push(nowMs - (sent[answered + n] ?? nowMs));
    answered += count;
    if (nowMs < endMs) send(count);
    else if (answered === sent.length) done.resolve();
  };
  send(inFlight);
  await done.promise;
  socket.close();
  return times;
}

/** Bytes of the frame that answers the request. */
async function lengthOfAnswer(url: string): Promise<number> {
  const counted = Promise.withResolvers<number>();
  const socket = await openRawSocket(Number(new URL(url).port), counted.resolve);
  socket.write(socket.framesOf(request, 1));
  const length = await counted.promise;
  socket.close();
  return length;
}

interface Total {
  readonly perSecond: number;
  readonly p99: number;
  readonly cpuUs: number;
}

function total(turns: readonly Measured[]): Total {
  const mean = (of: (turn: Measured) => number) =>
    turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length;
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    p99: quantile(
      turns.flatMap(({ times }) => times),
      0.99,
    ),
    cpuUs: mean(({ cpuUs }) => cpuUs ?? Number.NaN),
  };
}

/** `ping` while 64 clients keep 100 requests in flight and 16 more never read. */
async function measurePing(pid: number, port: number, url: string): Promise<void> {
  const deaf = await Promise.all(Array.from({ length: 16 }, () => openDeafSocket(port)));
  const flood = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "rpc.discover" });
  for (const socket of deaf) for (let n = 0; n < 100; n++) socket.send(flood);
  const pinger = Bun.spawn([process.execPath, join(import.meta.dir, "pinger.ts"), url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const loaded = await load(url, 64, 100);
  await load(url, 64, 100);
  await load(url, 64, 100);
  const times: number[] = JSON.parse(await new Response(pinger.stdout).text());
  for (const socket of deaf) socket.close();
  const status = await Bun.file(`/proc/${pid}/status`).text();
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
  line("ping beside 64 clients with 100 requests each", spread(times, "ms"), "5 ms at p99");
  line("the same, requests served", `${loaded.perSecond.toFixed(0)}/s; peak memory ${peakMb.toFixed(0)} MB`);
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  for await (const chunk of stream) return new TextDecoder().decode(chunk);
  throw new Error("the competitor did not start");
}
