/** Cuts what arrives into lines: UTF-8, each ended by a line feed. A line that is too long is left out, not kept. */

/** Returns a sink for chunks. `take` gets each line of at most `bytesMax` bytes, without its end. */
export function cutLines(bytesMax: number, take: (line: string) => void): (chunk: Uint8Array) => void {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const keep = (part: Uint8Array) => {
    bytes += part.length;
    if (bytes <= bytesMax) parts.push(part);
    else parts = [];
  };
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      if (bytes <= bytesMax) take(Buffer.concat(parts).toString("utf8"));
      parts = [];
      bytes = 0;
      from = end + 1;
    }
    // A copy: the chunk may be used again.
    if (from < chunk.length) keep(chunk.slice(from));
  };
}
