/** The lines of a stream as they come, without their ends. */
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
