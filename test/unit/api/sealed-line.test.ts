/** A sealed line: the session of a remote socket, with a real handshake. */
import { expect, test } from "bun:test";
import { errorText, notificationText, resultText } from "../../../src/api/envelope.ts";
import { createSealedLine } from "../../../src/api/sealed-line.ts";
import { messageBytesMax } from "../../../src/core/limits.ts";
import { acceptHandshake, startHandshake } from "../../../src/secure/handshake.ts";
import { clientId, lookup, secret } from "../../helpers/secure-pair.ts";

/** A line after its handshake; `read` opens all that it has sent since. */
async function openLine() {
  const sent: string[] = [];
  const line = createSealedLine({
    accept: (hello) => acceptHandshake(hello, lookup),
    send: (text) => void sent.push(text),
    onProved() {},
    onPayload() {},
    refuse(error) {
      throw error;
    },
  });
  const started = await startHandshake(clientId, secret);
  line.take(started.hello);
  while (sent.length === 0) await Promise.resolve();
  const session = started.finish(sent.splice(0).join(""));
  const read = () =>
    sent.splice(0).map((frame) => {
      const opened = session.open(frame);
      return opened.kind === "payload" ? JSON.parse(opened.text) : opened.kind;
    });
  return { line, read };
}

const long = "x".repeat(messageBytesMax);
const error = {
  code: -32000,
  message: "the answer is too long: ask for less",
  data: { reason: "busy", limit: "messageBytesMax" },
};

test("an answer that is too long for a payload is refused with the id of its request", async () => {
  const { line, read } = await openLine();
  for (const id of ["a", 7, null]) line.send(resultText(id, long));
  expect(read()).toEqual(["a", 7, null].map((id) => ({ jsonrpc: "2.0", id, error })));
  line.send(resultText("b", "short"));
  expect(read()).toEqual([{ jsonrpc: "2.0", id: "b", result: "short" }]);
});

test("in a batch that is too long, only the long answers are refused", async () => {
  const { line, read } = await openLine();
  const invalid = errorText(undefined, "invalid-request", "a request is an object");
  line.send(`[${resultText("a", long)},${invalid},${resultText("b", null)}]`);
  expect(read()).toEqual([
    [{ jsonrpc: "2.0", id: "a", error }, JSON.parse(invalid), { jsonrpc: "2.0", id: "b", result: null }],
  ]);
  const parts = [1, 2, 3].map((id) => resultText(id, "x".repeat(messageBytesMax / 3)));
  line.send(`[${parts.join(",")}]`);
  expect(read()).toEqual([[1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, error }))]);
});

test("a batch of a hundred is short enough once its long answers are refused", async () => {
  const { line, read } = await openLine();
  const overhead = resultText("a", "").length;
  const short = "x".repeat(Math.floor(messageBytesMax / 100) - 2 - overhead);
  const answers = Array.from({ length: 99 }, () => resultText("a", short));
  line.send(`[${answers.join(",")},${resultText("b", short.repeat(2))}]`);
  const [batch] = read();
  expect(batch.slice(0, 99).every(({ result }: { result: string }) => result === short)).toBe(true);
  expect(batch.slice(99)).toEqual([{ jsonrpc: "2.0", id: "b", error }]);
});

test("a notification that is too long is dropped, because nobody waits for it", async () => {
  const { line, read } = await openLine();
  line.send(notificationText("running", long));
  line.send(notificationText("running", "short"));
  expect(read()).toEqual([{ jsonrpc: "2.0", method: "running", params: "short" }]);
});
