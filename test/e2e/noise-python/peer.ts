/**
 * The service's side of the secure layer without a network: a text a line on stdin and stdout. It greets with a long
 * payload, then echoes every payload. TAPDECK_PEER_ID and TAPDECK_PEER_SECRET hold the client that it knows.
 */
import { acceptHandshake } from "../../../src/secure/handshake.ts";
import { linesOf } from "../../helpers/lines.ts";

export const greeting = "g".repeat(150_000);

/** Runs until stdin ends, or until a refusal. */
async function serve(): Promise<void> {
  const say = (text: string) => Bun.write(Bun.stdout, `${text}\n`);
  const lines = linesOf(Bun.stdin.stream());
  const hello = (await lines.next()).value ?? "";
  const accepted = await acceptHandshake(hello, (id) =>
    id === process.env.TAPDECK_PEER_ID ? process.env.TAPDECK_PEER_SECRET : undefined,
  );
  if (accepted.kind === "refused") {
    const { code, message } = accepted.error;
    await say(JSON.stringify({ jsonrpc: "2.0", error: { reason: code, message } }));
    return;
  }
  const { session, reply } = accepted;
  await say(reply);
  await say(session.seal(greeting));
  for await (const line of lines) {
    const opened = session.open(line);
    if (opened.kind === "payload") await say(session.seal(opened.text));
  }
}

if (import.meta.main) await serve();
