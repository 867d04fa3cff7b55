/** Every method, as its transcript shows, over a real socket against the compiled binary. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { opened, within } from "../helpers/processes.ts";
import { makePlace, noReaders, sleeper, startTapdeck } from "../helpers/tapdeck.ts";
import { difference, readTranscript } from "../helpers/transcript.ts";

const folder = join(import.meta.dir, "../transcripts/api");
const files = readdirSync(folder).map((file) => file.replace(/\.txt$/, ""));

const config = `${noReaders}${sleeper(".sfc")}
[script]
allow_input = true
[[launchers]]
id = "absent"
systems = ["NES"]
command = ["no-such-player", "{path}"]
`;

for (const name of files) {
  test(`${name} does what its transcript says`, async () => {
    await using place = await makePlace(config);
    await place.file("SNES/Game.sfc");
    await using _service = await startTapdeck(place);
    const steps = readTranscript(readFileSync(join(folder, `${name}.txt`), "utf8"));
    // The service indexes media a moment after its start, which does not matter in most transcripts.
    const tellsOf = (event: string) => steps.some((step) => "name" in step && step.name === event);
    const line = await openLine(
      `ws://127.0.0.1:${place.port}/api/v0.1`,
      tellsOf("media.indexing") ? "" : "media.indexing",
    );
    for (const step of steps) {
      if (step.kind === "send") {
        line.send(step.text);
        continue;
      }
      if (step.kind === "events") {
        while (isOf(await line.peek(), step.name)) await line.next();
        continue;
      }
      const message = await line.next();
      const expected =
        step.kind === "receive"
          ? step.expected
          : { jsonrpc: "2.0", method: step.name, params: step.expected };
      const found = difference(expected, message);
      if (found !== undefined) {
        throw new Error(`${name}.txt, line ${step.line}: ${found}\nreceived ${JSON.stringify(message)}`);
      }
    }
    // No message came that the transcript does not have.
    line.send("ping");
    expect(await line.next()).toBe("pong");
    line.close();
  });
}

function isOf(message: unknown, method: string): boolean {
  return typeof message === "object" && message !== null && "method" in message && message.method === method;
}

/** Notifications with the name `unheard` are left out. */
async function openLine(url: string, unheard: string) {
  const socket = new WebSocket(url);
  const messages: unknown[] = [];
  let wake = () => {};
  socket.addEventListener("message", ({ data }) => {
    const message: unknown = data === "pong" ? data : JSON.parse(String(data));
    if (isOf(message, unheard)) return;
    messages.push(message);
    wake();
  });
  await opened(socket);
  const arrived = async () => {
    const arrival = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (messages.length === 0) await within("message", arrival);
  };
  return {
    send: (text: string) => socket.send(text),
    /** The next message, which stays first in the queue. */
    async peek(): Promise<unknown> {
      await arrived();
      return messages[0];
    },
    async next(): Promise<unknown> {
      await arrived();
      return messages.shift();
    },
    close: () => socket.close(),
  };
}
