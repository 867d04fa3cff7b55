/** A public NDEF library of another language reads our messages, and writes messages that we read: 10,000 each way. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import {
  encodeTextMessage,
  encodeUriMessage,
  parseMessage,
  textOfRecords,
  uriBeginnings,
} from "../../../drivers/protocol/ndef.ts";
import { pythonSetUpMs, pythonWith } from "../../helpers/python.ts";

const messages = 10_000;
const seed = 20;

/** Answers of the library to these questions, in order, from one process. */
async function ask(questions: readonly unknown[]): Promise<readonly unknown[]> {
  const python = await pythonWith("ndef-python", join(import.meta.dir, "requirements.txt"));
  const child = Bun.spawn([python, join(import.meta.dir, "judge.py")], {
    env: { ...process.env, PYTHONUTF8: "1" },
    stdin: new TextEncoder().encode(questions.map((question) => `${JSON.stringify(question)}\n`).join("")),
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return said
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

// Both libraries drop a byte-order mark at the beginning, each in its own way.
const text = fc
  .oneof(fc.string({ unit: "grapheme", maxLength: 60 }), fc.string({ unit: "binary", maxLength: 400 }))
  .filter((value) => !value.startsWith("\ufeff"));
// Characters that no library rewrites in a URI, after a host that every library accepts.
const path = fc.string({ unit: fc.constantFrom(..."abcXYZ019/-._~"), maxLength: 300 });
const uri = fc
  .tuple(fc.constantFrom(...uriBeginnings.slice(1)), path)
  .map(([beginning, rest]) => `${beginning}example.org/${rest}`);

test(
  `it reads ${messages} messages of ours as they were meant`,
  async () => {
    const message = fc.oneof(
      text.map((value) => ({ text: value, bytes: encodeTextMessage(value) })),
      uri.map((value) => ({ uri: value, bytes: encodeUriMessage(value) })),
    );
    const written = fc.sample(message, { numRuns: messages, seed });
    const answers = await ask(written.map(({ bytes }) => ({ decode: bytes.toHex() })));
    expect(answers.length).toBe(messages);
    const wanted = written.map((each) =>
      "text" in each ? { text: each.text, language: "en" } : { uri: each.uri },
    );
    for (const [index, answer] of answers.entries()) expect(answer).toMatchObject([wanted[index] ?? {}]);
  },
  pythonSetUpMs,
);

test(
  `we read ${messages} messages of its own, of several records, as they were meant`,
  async () => {
    const name = fc.string({ unit: fc.constantFrom(..."abc"), maxLength: 5 });
    const record = fc.oneof(
      fc.record({
        text,
        language: fc.constantFrom("en", "de-AT", "ja"),
        encoding: fc.constantFrom("UTF-8", "UTF-16"),
        name,
      }),
      fc.record({ uri, name }),
      fc.record({ poster: uri, title: fc.constantFrom("", "A title"), name }),
      fc.record({
        type: fc.constantFrom("image/png", "urn:nfc:ext:example.org:x", "unknown"),
        data: fc.uint8Array({ maxLength: 600 }).map((bytes) => bytes.toHex()),
        name,
      }),
    );
    const asked = fc.sample(fc.array(record, { minLength: 1, maxLength: 4 }), { numRuns: messages, seed });
    const answers = await ask(asked.map((records) => ({ encode: records })));
    expect(answers.length).toBe(messages);
    for (const [index, answer] of answers.entries()) {
      const records = asked[index] ?? [];
      const parsed = parseMessage(Uint8Array.fromHex(String(answer)));
      if (parsed.kind !== "message") throw new Error(`${parsed.why}: ${answer}`);
      expect(parsed.records.length).toBe(records.length);
      const texts = records
        .map((each) =>
          "text" in each ? each.text : "uri" in each ? each.uri : "poster" in each ? each.poster : undefined,
        )
        .filter((value) => value !== undefined);
      // A script comes first, and then a text that is not blank.
      const script = texts.find((value) => value.startsWith("**"));
      const wanted = script ?? texts.find((value) => value.trim() !== "") ?? texts[0];
      expect(textOfRecords(parsed.records)).toBe(wanted);
    }
  },
  pythonSetUpMs,
);
