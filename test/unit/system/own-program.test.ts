/** Children of this program: their input. */
import { expect, test } from "bun:test";
import { giveInput } from "../../../src/system/own-program.ts";

const start = (...command: string[]) => Bun.spawn(command, { stdin: "pipe", stdout: "pipe" });

test("a child that has ended before it read its input is no fault, and no unhandled rejection", async () => {
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", note);
  try {
    for (let n = 0; n < 100; n++) {
      const child = start("true");
      if (n % 2 === 0) await child.exited;
      await giveInput(child, "x".repeat(100_000));
      expect(await child.exited).toBe(0);
    }
    await Bun.sleep(0);
    expect(rejections).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("a child reads all of its input, and its end", async () => {
  const text = "y".repeat(300_000);
  const ends = start("cat");
  await giveInput(ends, text);
  expect(await new Response(ends.stdout).text()).toBe(text);
});
