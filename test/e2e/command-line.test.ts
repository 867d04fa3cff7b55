/** The commands of the terminal, against the compiled service. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import {
  firstReader,
  makePlace,
  noReaders,
  type Place,
  program,
  readerConfig,
  startTapdeck,
} from "../helpers/tapdeck.ts";

async function ended(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { out, err, code: await child.exited };
}

const tapdeck = (place: Place, ...words: readonly string[]) =>
  ended([program, ...words, `--data=${place.folder}`]);

test("a second `make run` printed hints before it failed", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const demo = [process.execPath, join(import.meta.dir, "../../tools/demo.ts")];
  const { out, err, code } = await ended(demo, { TAPDECK_DEMO_PORT: String(place.port) });
  expect(out).toBe("");
  expect(err).toStartWith(`Another instance is running at http://localhost:${place.port}/:
  process ${service.pid}: ${program} --data=${place.folder}
`);
  expect(code).toBe(69);
});

test("write x without a reader asked for a tag, and call took a mapping to a missing file without a word", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const missing = "no reader that can write is connected: tapdeck readers lists the readers";
  expect(await tapdeck(place, "write", "x")).toEqual({ out: "", err: `tapdeck: ${missing}\n`, code: 1 });
  const mapping = { type: "uid", match: "exact", pattern: "04a1", override: "SNES/Gone.sfc" };
  const made = await tapdeck(place, "call", "mappings.new", JSON.stringify(mapping));
  expect(JSON.parse(made.out)).toMatchObject({
    id: 1,
    warning: expect.stringMatching(/^there is no file SNES\/Gone\.sfc below the media folders/),
  });
  const again = await tapdeck(place, "call", "mappings.new", JSON.stringify(mapping));
  expect(again.err).toStartWith("tapdeck: pattern: the mapping 1 is for this UID already");
});

test("a tap during a write was reported as nothing launched, because of hold mode or a busy reader", async () => {
  await using place = await makePlace(readerConfig("simulated:"));
  await using service = await startTapdeck(place);
  await firstReader(service);
  const writing = service.client.call("readers.write", { text: "**echo:hello" });
  // The service reads the messages of a connection in order.
  await service.client.call("version");
  const tap = await tapdeck(place, "tap", "Audio/Other.wav");
  expect(tap).toEqual({ out: "written, not launched\n", err: "", code: 0 });
  expect(await writing).toBeNull();
  expect(await service.heard.next("tokens.written")).toEqual({
    readerId: expect.stringMatching(/./),
    uid: expect.stringMatching(/^[0-9a-f]{14}$/),
  });
});
