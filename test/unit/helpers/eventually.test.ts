// Covers: test/helpers/processes.ts.
import { expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  eventually,
  eventuallyExists,
  eventuallyReaped,
  newestLines,
  opened,
  showLog,
  within,
} from "../../helpers/processes.ts";

/** The message of a wait that gives up. */
const failureOf = (wait: Promise<void>) =>
  wait.then(
    () => "none",
    (error: unknown) => (error instanceof Error ? error.message : "not an error"),
  );

test("an assertion that never holds fails with the value observed last, the time and its own source", async () => {
  let total = 0;
  const message = await failureOf(eventually(async () => expect(++total).toBe(-2), 50));
  expect(message).toMatch(/^did not hold within \d+\.\d s, \d+ looks: async \(\) => expect\(\+\+total\)/);
  expect(message).toContain("Expected: -2");
  expect(message).toContain(`Received: ${total}`);
  expect(message).toContain(`${total} looks`);
});

test("a condition that stays false fails with its source, after the time that it was given", async () => {
  const before = performance.now();
  const message = await failureOf(eventually(() => before < 0, 50));
  expect(performance.now() - before).toBeGreaterThanOrEqual(50);
  expect(message).toMatch(/looks: \(\) => before < 0$/);
});

test("an assertion that throws at first and holds later passes, and so does a condition", async () => {
  let looks = 0;
  await eventually(() => expect(++looks).toBeGreaterThan(3));
  expect(looks).toBe(4);
  await eventually(async () => ++looks > 6);
  expect(looks).toBe(7);
  await eventually(() => {
    if (++looks < 10) throw new Error("not yet");
  });
  expect(looks).toBe(10);
});

test("a rejection counts as a look that failed, and is the cause of the failure", async () => {
  const failure = new Error("no such reader");
  const rejection = await eventually(() => Promise.reject(failure), 10).catch((error: unknown) => error);
  expect(rejection).toMatchObject({ message: expect.stringContaining("no such reader"), cause: failure });
});

test("a look that does not end is a failure too, with the log lines", async () => {
  using _log = showLog("the service", () => "listening");
  const message = await failureOf(eventually(() => new Promise<void>(() => {}), 10, 20));
  expect(message).toContain("1 looks: () => new Promise");
  expect(message).toContain("the last look does not end\n\nlog of the service");
});

test("the pauses between looks grow, so that a long wait costs few of them", async () => {
  let looks = 0;
  await failureOf(
    eventually(() => {
      looks++;
      return false;
    }, 600),
  );
  // If the pauses stayed at 2 ms, there would be about 250 looks on a quiet machine.
  expect(looks).toBeLessThan(110);
});

test("a failure shows the newest 20 lines of each log, until the log is disposed", async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  {
    using _log = showLog("the service", () => `${lines.join("\n")}\n`);
    using _other = showLog("the board", () => "login:");
    const message = await failureOf(eventually(() => false, 10));
    expect(message).toEndWith(
      `\n\nlog of the service, newest 20 lines:\n${lines.slice(10).join("\n")}\n\nlog of the board, newest 20 lines:\nlogin:`,
    );
    expect(message).not.toContain("line 9\n");
  }
  expect(newestLines()).toBe("");
});

test("only the newest four logs are shown", () => {
  using stack = new DisposableStack();
  for (const name of ["a", "b", "c", "d", "e"]) stack.use(showLog(name, () => `of ${name}`));
  expect([...newestLines().matchAll(/^of (.)$/gm)].map(([, name]) => name)).toEqual(["b", "c", "d", "e"]);
});

test("a file that does not come fails with the names beside it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-eventually-"));
  await writeFile(join(folder, "other"), "");
  const path = join(folder, "wanted");
  expect(await failureOf(eventuallyExists(path, 10))).toContain(`${path} does not exist; beside it: other`);
  expect(await failureOf(eventuallyExists(join(path, "deeper"), 10))).toContain("ENOENT");
  const waiting = eventuallyExists(path);
  await writeFile(path, "");
  await waiting;
  await rm(folder, { recursive: true });
});

test("a process that does not go away fails with its state", async () => {
  const child = Bun.spawn(["sleep", "600"]);
  expect(await failureOf(eventuallyReaped(child.pid, 10))).toContain(`still there: ${child.pid} (`);
  child.kill();
  await eventuallyReaped(child.pid);
});

test("an event that does not come fails with its name, the events that came and the log lines", async () => {
  using _log = showLog("the service", () => "listening");
  const never = new Promise<void>(() => {});
  const message = await failureOf(within("tap", never, { seen: () => ["reader"], msMax: 10 }));
  expect(message).toStartWith('no tap within 0.01 s; seen: [ "reader" ]\n\nlog of the service');
  expect(message).toEndWith("listening");
  expect(await within("tap", Promise.resolve("it came"))).toBe("it came");
  expect(await failureOf(within("tap", Promise.reject(new Error("no reader"))))).toBe("no reader");
});

test("a socket that nobody accepts fails at once", async () => {
  using server = Bun.serve({ port: 0, fetch: () => new Response("no", { status: 404 }) });
  const url = `ws://127.0.0.1:${server.port}/`;
  expect(await failureOf(opened(new WebSocket(url)))).toStartWith(`${url} closed with 1`);
});
