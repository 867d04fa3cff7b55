/** Bytes of a stream, read in the counts that a protocol needs. One reader at a time. */

export interface Reader {
  push(bytes: Uint8Array): void;
  /** Notes the end of the stream. A waiting read is then rejected. */
  end(): void;
  /** Resolves with exactly this many bytes. Rejects if the stream ends before. */
  take(count: number): Promise<Uint8Array>;
}

export function createReader(): Reader {
  const chunks: Uint8Array[] = [];
  let there = 0;
  let ended = false;
  let waiting: { readonly count: number; readonly wake: () => void } | undefined;

  const cut = (count: number): Uint8Array => {
    const out = new Uint8Array(count);
    let at = 0;
    while (at < count) {
      const first = chunks[0] ?? new Uint8Array();
      const part = first.subarray(0, count - at);
      out.set(part, at);
      at += part.length;
      if (part.length === first.length) chunks.shift();
      else chunks[0] = first.subarray(part.length);
    }
    there -= count;
    return out;
  };
  return {
    push(bytes) {
      chunks.push(bytes.slice());
      there += bytes.length;
      if (waiting !== undefined && there >= waiting.count) waiting.wake();
    },
    end() {
      ended = true;
      waiting?.wake();
    },
    async take(count) {
      if (there < count && !ended) {
        await new Promise<void>((resolve) => {
          waiting = { count, wake: resolve };
        });
        waiting = undefined;
      }
      if (there < count) throw new Error("the stream has ended");
      return cut(count);
    },
  };
}
