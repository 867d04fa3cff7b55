/**
 * Measures the wall of covers on a slow phone: real Chromium with six-fold throttling, in a network of its own, on a folder of
 * 5,000 games with pictures (`bun test/bench/page-scroll.ts [drawn]`, as root). Prints for each use the frames per second
 * of the page's main thread, how busy it was, its tasks over 50 ms, and the longest two; MajorGC in their parts is a
 * collection of V8. With `drawn` it also counts the frames that the compositor drew, which slows the main thread down.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { startChromium } from "../helpers/chromium.ts";
import { startDevice } from "../helpers/device.ts";
import { makeFiles } from "../helpers/library.ts";
import { connected } from "../helpers/page-visit.ts";
import { indexMedia, noReaders, sleeper } from "../helpers/tapdeck.ts";
import { msOf, partsOf, tasksIn, tracedWhile } from "./trace.ts";

const countsFrames = process.argv[2] === "drawn";
const count = 5000;
const throttling = 6;
const longMs = 50;
const print = (text: string) => process.stdout.write(`${text}\n`);
const nameOf = (number: number) => `Game ${String(number).padStart(6, "0")}`;

await using device = await startDevice(noReaders + sleeper(".sfc"));
const media = `${device.place.folder}/media`;
makeFiles(
  media,
  Array.from({ length: count }, (_, number) => `SNES/All/${nameOf(number)}.sfc`),
);
mkdirSync(`${media}/SNES/images/All`, { recursive: true });
const covers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(makeCover));
for (let number = 0; number < count; number++)
  writeFileSync(`${media}/SNES/images/All/${nameOf(number)}.jpg`, covers[number % covers.length] ?? "");
await indexMedia(device.service.client);
await using phone = await startChromium({}, device.network.onNeighbour);
const { out: link } = await device.run("pair", "Bench", "--host", device.network.deviceAddress);
const page = await phone.browser.newPage({ viewport: { width: 390, height: 844 } });
await page.goto(link);
await connected(page);
const session = await page.context().newCDPSession(page);
await session.send("Emulation.setCPUThrottlingRate", { rate: throttling });

/** A picture of 300 pixels, as programs that collect covers store it: a colored pattern of 12 by 16 fields. */
async function makeCover(seed: number): Promise<Uint8Array> {
  const head = 54;
  const bitmap = Buffer.alloc(head + 16 * 12 * 3);
  bitmap.write("BM");
  bitmap.writeUInt32LE(bitmap.length, 2);
  bitmap.writeUInt32LE(head, 10);
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeInt32LE(12, 18);
  bitmap.writeInt32LE(16, 22);
  bitmap.writeUInt16LE(1, 26);
  bitmap.writeUInt16LE(24, 28);
  for (let at = head; at < bitmap.length; at++) bitmap[at] = Math.imul(at * seed, 2654435761) >>> 24;
  return new Bun.Image(bitmap).resize(300, 400, { fit: "fill" }).jpeg({ quality: 85 }).bytes();
}

async function measure(name: string, run: () => Promise<unknown>): Promise<void> {
  let times: readonly number[] = [];
  const { own, drawnFrames } = await tracedWhile(
    session,
    async () => {
      await page.evaluate(() => {
        const seen: number[] = [];
        const step = (ms: number) => {
          seen.push(ms);
          if (Reflect.get(globalThis, "frameTimes") === seen) requestAnimationFrame(step);
        };
        Object.assign(globalThis, { frameTimes: seen });
        requestAnimationFrame(step);
      });
      await run();
      times = await page.evaluate(() => {
        const seen: number[] = Reflect.get(globalThis, "frameTimes");
        Object.assign(globalThis, { frameTimes: undefined });
        return seen;
      });
    },
    countsFrames,
  );
  const [firstMs = 0] = times;
  const wholeMs = (times.at(-1) ?? firstMs) - firstMs;
  const tasks = tasksIn(own);
  const busyMs = tasks.reduce((sum, task) => sum + msOf(task), 0);
  const perSecond = (frames: number) => Math.round((frames * 1000) / wholeMs);
  print(
    `${name}: ${perSecond(times.length - 1)} frames/s of the main thread${countsFrames ? `, ${perSecond(drawnFrames)} drawn` : ""}, ${Math.round((busyMs * 100) / wholeMs)} % busy, ${tasks.filter((task) => msOf(task) > longMs).length} tasks over ${longMs} ms`,
  );
  for (const task of tasks.slice(0, 2))
    print(`  ${Math.round(msOf(task))} ms: ${partsOf(task, own, 4).join(", ")}`);
}

/** Scrolls as a wheel does. A negative speed scrolls up. */
const scroll = (pixelsPerSecond: number, seconds: number) => () =>
  session.send("Input.synthesizeScrollGesture", {
    x: 195,
    y: 500,
    yDistance: -pixelsPerSecond * seconds,
    speed: Math.abs(pixelsPerSecond),
    preventFling: true,
    gestureSourceType: "mouse",
  });
const goTo = (address: string) => async () => {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  await page.waitForTimeout(3000);
};

await goTo("#library/SNES")();
await measure("opening", goTo("#library/SNES/All"));
await measure("calm, down", scroll(800, 6));
await measure("fast, down", scroll(3000, 6));
await measure("very fast, down", scroll(8000, 6));
await measure("fast, up", scroll(-3000, 6));
await measure("very fast, up", scroll(-8000, 4));
await measure("leaving", goTo("#library/SNES"));
await measure("opening again", goTo("#library/SNES/All"));
await measure("leaving again", goTo("#library/SNES"));
