/** The text of a stream, as it arrives. */

/** The output of a stream so far. */
export interface Gathered {
  text(): string;
  /** Resolves with the whole output after its end. */
  readonly whole: Promise<string>;
}

export function gather(stream: ReadableStream<Uint8Array>): Gathered {
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
    return text;
  };
  return { text: () => text, whole: read() };
}

/** The lines of a stream as they arrive, without their ends. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of stream) {
    const [first = "", ...more] = decoder.decode(chunk, { stream: true }).split("\n");
    parts.push(first);
    if (more.length === 0) continue;
    yield parts.join("");
    parts = [more.pop() ?? ""];
    yield* more;
  }
}
