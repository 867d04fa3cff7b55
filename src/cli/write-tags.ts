/** `tapdeck write`: one text to one tag, or the lines of a list to one tag each, one after another. */
import { readFile, stat } from "node:fs/promises";
import { type Calls, type Client, RpcError } from "../client/client.ts";
import { exitCodes, exitFailure, StartError } from "../core/errors.ts";
import { fileFault } from "../core/file-faults.ts";
import { writeListBytesMax } from "../core/limits.ts";
import { didYouMean } from "../core/text.ts";
import type { Reader } from "../core/token.ts";
import type { Terminal } from "./show.ts";

interface WriteTagsOptions extends Pick<Terminal, "print" | "prompt"> {
  /** Either `text` or `list` is given. */
  readonly text: string | undefined;
  /** The path of a file with one text on each line; blank lines are skipped. */
  readonly list: string | undefined;
  /** The reader to write with; if absent, the first one that can write. */
  readonly readerId: string | undefined;
  readonly force: boolean;
  /** Prints JSON instead of sentences. */
  readonly json?: boolean;
  /** The NDEF record for the text: Text, or URI, which phones open. */
  readonly record?: "text" | "uri";
}

/** Throws `StartError`, and `RpcError` if the service refuses permanently. */
export async function writeTags(client: Client, options: WriteTagsOptions): Promise<void> {
  const texts = options.list === undefined ? [options.text ?? ""] : await linesOf(options.list);
  const { readers } = await client.call("readers");
  // Each call names the reader, so Ctrl-C cancels this write only.
  const readerId = writerOf(readers, options.readerId);
  using interruption = onInterrupt(() => {
    // If there is nothing to cancel or the service is gone, the write has ended anyway.
    client.call("readers.write.cancel", { readerId }).catch(() => {});
  });
  const common = {
    readerId,
    ...(options.force ? { force: true } : {}),
    ...(options.record === undefined ? {} : { record: options.record }),
  };

  for (const [index, text] of texts.entries()) {
    const name = texts.length === 1 ? "" : `${index + 1}/${texts.length} ${text}: `;
    if (interruption.happened()) return ended(options, index);
    options.prompt(`${name}lay a tag on the reader`);
    for (let tries = 0; ; tries++) {
      const newTag = index > 0 || tries > 0;
      const refusal = await tryWrite(client, { text, ...common, ...(newTag ? { newTag } : {}) });
      if (refusal === undefined) break;
      if (interruption.happened()) return ended(options, index);
      // With a list, a person is present and can put another tag on the reader.
      if (options.list === undefined || refusal.cause === undefined) throw refusal.error;
      if (refusal.cause !== "timeout") options.prompt(`${name}${refusal.error.message}`);
    }
    if (options.json) options.print(JSON.stringify({ written: text }));
    else options.print(texts.length === 1 ? "written" : `written ${text}`);
  }
}

/** The reader with this id, or the first that can write. Throws before a person is asked for a tag. */
export function writerOf(readers: readonly Reader[], wanted: string | undefined): string {
  const ids = readers
    .filter(({ connected, capabilities }) => connected && capabilities.includes("write"))
    .map(({ readerId }) => readerId);
  const found = wanted === undefined ? ids[0] : ids.find((id) => id === wanted);
  if (found !== undefined) return found;
  if (wanted === undefined)
    throw exitFailure("no reader that can write is connected: tapdeck readers lists the readers");
  const meant = didYouMean(wanted, ids);
  throw exitFailure(
    readers.some(({ readerId, connected }) => readerId === wanted && connected)
      ? `the reader ${wanted} cannot write: tapdeck readers lists the readers`
      : readers.some(({ readerId }) => readerId === wanted)
        ? `the reader ${wanted} is not connected`
        : `no reader has the id ${wanted}${meant}: tapdeck readers lists the readers`,
  );
}

interface Refusal {
  readonly error: RpcError;
  /** The cause of the refusal if another tag could help; otherwise undefined. */
  readonly cause: string | undefined;
}

async function tryWrite(
  client: Client,
  params: Calls["readers.write"]["params"],
): Promise<Refusal | undefined> {
  try {
    await client.call("readers.write", params);
    return undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const { data } = error;
    const hasCause = typeof data === "object" && data !== null && "cause" in data;
    return { error, cause: hasCause ? String(data.cause) : undefined };
  }
}

function ended({ list, prompt }: WriteTagsOptions, written: number): void {
  if (list === undefined) throw exitFailure("nothing was written");
  prompt(`${written} written`);
}

async function linesOf(path: string): Promise<readonly string[]> {
  const content = await read(path);
  const lines = content.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new StartError(exitCodes.usage, `${path} holds no text: write one a line`);
  return lines;
}

async function read(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > writeListBytesMax) throw new Error(`it has more than ${writeListBytesMax} bytes`);
    return (await readFile(path, "utf8")).replace(/^\ufeff/, "");
  } catch (error) {
    throw new StartError(exitCodes.usage, `cannot read the list ${path}: ${fileFault(error)}`, error);
  }
}

/** Handles Ctrl-C and termination signals until disposed: the first one calls `run`, a second one ends the program. */
export function onInterrupt(run: () => void): Disposable & { happened(): boolean } {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let happened = false;
  const listener = () => {
    happened = true;
    off();
    run();
  };
  const off = () => {
    for (const signal of signals) process.off(signal, listener);
  };
  for (const signal of signals) process.on(signal, listener);
  return { happened: () => happened, [Symbol.dispose]: off };
}
