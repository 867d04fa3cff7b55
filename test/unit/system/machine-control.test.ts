import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UpdateState } from "../../../src/core/device-shapes.ts";
import { silentLog } from "../../../src/core/log.ts";
import { createMachineControl } from "../../../src/system/machine-control.ts";
import { stateIn } from "../../../src/system/update-engine.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";

/** A device with the pipe of the image, which `read` reads, and a server that has an update. */
async function image({ onEnding = async () => {}, stopMedia = async () => {} } = {}) {
  await using made = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-machine-"));
  made.defer(() => rm(folder, { recursive: true }));
  expect(Bun.spawnSync(["mkfifo", join(folder, "requests")]).exitCode).toBe(0);
  const reading = made.use(
    Bun.spawn(["sh", "-c", 'echo ready; exec cat <>"$1"', "sh", join(folder, "requests")], {
      stdin: "ignore",
      stdout: "pipe",
    }),
  );
  const pipe = openSync(join(folder, "requests"), "w");
  made.defer(() => closeSync(pipe));
  const words = reading.stdout.pipeThrough(new TextDecoderStream()).getReader();
  expect((await words.read()).value).toBe("ready\n");
  const server = Bun.serve({
    port: 0,
    fetch: ({ url }) =>
      url.endsWith("/there") ? new Response("a bundle") : new Response("", { status: 404 }),
  });
  made.defer(() => server.stop(true));
  const clock = createManualClock();
  const states: UpdateState[] = [];
  let heard = () => {};
  let stops = 0;
  const control = made.use(
    createMachineControl({
      environment: { TAPDECK_MACHINE: folder },
      pipe,
      dataFolder: folder,
      clock,
      log: silentLog,
      stopMedia() {
        stops += 1;
        return stopMedia();
      },
      restart() {},
      onEnding,
      onUpdate: (state) => {
        states.push(state);
        heard();
      },
    }),
  );
  const whole = made.move();
  return {
    folder,
    clock,
    control,
    states,
    url: `http://127.0.0.1:${server.port}`,
    word: async () => (await words.read()).value,
    stops: () => stops,
    /** Resolves when an update is at this step. */
    async at(step: UpdateState["step"], percent?: number) {
      while (states.at(-1)?.step !== step || states.at(-1)?.percent !== percent) {
        const next = Promise.withResolvers<void>();
        heard = next.resolve;
        await next.promise;
      }
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

test("the answer to a shutdown came only after the screen had said so, which takes up to twenty seconds", async () => {
  for (const isDrawn of [true, false]) {
    const drawn = Promise.withResolvers<void>();
    await using device = await image({ onEnding: () => drawn.promise });
    let word: string | undefined;
    const written = device.word().then((one) => {
      word = one;
    });
    await device.control.shutdown();
    expect([word, device.stops()]).toEqual([undefined, 1]);
    if (isDrawn) drawn.resolve();
    else device.clock.advance(20_000);
    await written;
    expect(word).toBe("shutdown\n");
  }
});

test("a device without a screen answered a shutdown before the position of its media was stored", async () => {
  for (const hasStopped of [true, false]) {
    const stopped = Promise.withResolvers<void>();
    await using device = await image({ stopMedia: () => stopped.promise });
    let isAnswered = false;
    const answered = device.control.shutdown().then(() => {
      isAnswered = true;
    });
    const word = device.word();
    await Bun.sleep(0);
    expect(isAnswered).toBe(false);
    // A player that does not end must not keep the machine on.
    if (hasStopped) stopped.resolve();
    else device.clock.advance(20_000);
    await answered;
    expect(await word).toBe("shutdown\n");
  }
});

test("media that cannot be stopped do not keep the machine on", async () => {
  await using device = await image({ stopMedia: () => Promise.reject(new Error("no player")) });
  await device.control.shutdown();
  expect(await device.word()).toBe("shutdown\n");
});

test("on the image a restart and a shutdown stop the media and ask the root script", async () => {
  await using device = await image();
  expect(device.control.actions).toEqual(["restart", "shutdown", "update"]);
  await device.control.restart();
  expect(await device.word()).toBe("restart\n");
  await device.control.shutdown();
  expect(await device.word()).toBe("shutdown\n");
  expect(device.stops()).toBe(2);
});

test("a word goes into a pipe only: without one, the request is refused, and a file stays as it is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-machine-"));
  const path = join(folder, "file");
  const file = openSync(path, "w");
  try {
    using control = createMachineControl({
      environment: { TAPDECK_MACHINE: folder },
      pipe: file,
      dataFolder: folder,
      clock: createManualClock(),
      log: silentLog,
      stopMedia: async () => {},
      restart() {},
      onUpdate: () => {},
    });
    expect(control.shutdown()).rejects.toThrow("the image did not take the request (it is no pipe)");
    expect(await readFile(path, "utf8")).toBe("");
  } finally {
    closeSync(file);
    await rm(folder, { recursive: true });
  }
});

const progressOf = (...percents: readonly number[]) =>
  percents.map((percent) => `${JSON.stringify({ step: "checking", percent })}\n`).join("");

test("an update is fetched and handed over, and its progress is reported to its end", async () => {
  await using device = await image();
  const { control, folder, clock, states } = device;
  control.update(`${device.url}/there`);
  expect(() => control.update(`${device.url}/there`)).toThrow("an update is being installed");
  expect(control.restart()).rejects.toThrow("an update is being installed");
  expect(await device.word()).toBe("update\n");
  expect(await readFile(join(folder, "update.bundle"), "utf8")).toBe("a bundle");
  await device.at("checking", 0);
  await writeFile(join(folder, "update"), progressOf(0, 50));
  clock.advance(500);
  await device.at("checking", 50);
  const why = "the file was altered, or signed by a key that this system does not trust";
  await writeFile(
    join(folder, "update"),
    `${progressOf(50)}{"failed":${JSON.stringify(why)}}\ntapdeck: ${why}\n{"exit":1}\n`,
  );
  clock.advance(500);
  await device.at("failed");
  expect(states.at(-1)).toEqual({ step: "failed", why, at: "checking" });
  expect(control.updating()).toEqual({ step: "failed", why, at: "checking" });
});

test("an update that cannot be fetched fails with the reason, and another one may begin", async () => {
  await using device = await image();
  device.control.update(`${device.url}/absent`);
  await device.at("failed");
  expect(device.states.at(-1)?.why).toContain("the server answered 404");
  device.control.update(`${device.url}/there`);
  expect(await device.word()).toBe("update\n");
});

test("the state of an update is read from its last fact", () => {
  expect(stateIn("")).toBeUndefined();
  expect(stateIn('{"installing":"1.2.3"}\n')).toBeUndefined();
  expect(stateIn('{"step":"reading back","percent":90}\n')).toEqual({ step: "reading back", percent: 90 });
  expect(stateIn(`${progressOf(100)}{"backup":"before-update-1.tapdeck"}\n`)).toEqual({
    step: "checking",
    percent: 100,
  });
  expect(stateIn(`${progressOf(100)}{"restarting":"1.2.3"}\n`)).toEqual({ step: "restarting" });
  expect(stateIn(`${progressOf(10)}Killed\n{"exit":137}\n`)).toEqual({
    step: "failed",
    why: "it ended with the code 137",
    at: "checking",
  });
});

test("a machine that is not the image is not controlled", async () => {
  const control = createMachineControl({
    environment: {},
    pipe: 0,
    dataFolder: "/nowhere",
    clock: createManualClock(),
    log: silentLog,
    stopMedia: async () => {},
    restart() {},
    onUpdate: () => {},
  });
  expect(control.actions).toEqual([]);
  expect(control.restart()).rejects.toThrow("started by hand");
  expect(control.shutdown()).rejects.toThrow("only Tapdeck's own image");
  expect(() => control.update("http://x/")).toThrow("only Tapdeck's own image");
});
