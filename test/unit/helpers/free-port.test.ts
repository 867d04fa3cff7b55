// Covers: test/helpers/free-port.ts.
import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { freePort } from "../../helpers/free-port.ts";
import { linesOf } from "../../helpers/lines.ts";

test("two processes of the tests got one port, if the service of the first one was about to start", async () => {
  const helper = join(import.meta.dir, "../../helpers/free-port.ts");
  const program = `
    const { freePort } = await import(${JSON.stringify(helper)});
    console.log(freePort());
    process.stdin.resume();
  `;
  const other = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "pipe" });
  try {
    const { value } = await linesOf(other.stdout).next();
    const theirs = Number(value);
    using random = spyOn(Math, "random").mockReturnValueOnce((theirs - 10_000) / 20_000);
    expect(freePort()).not.toBe(theirs);
    expect(random.mock.calls.length).toBeGreaterThan(1);
  } finally {
    other.kill();
    await other.exited;
  }
});
