/** Films of one color after another, as uncompressed AVI (Microsoft, "AVI RIFF file reference"), without sound. */

export interface ColorFilm {
  readonly width: number;
  readonly height: number;
  /** The colors in red, green and blue. Each is shown for `seconds`, and all of them are repeated `rounds` times. */
  readonly colors: readonly (readonly [number, number, number])[];
  readonly seconds: number;
  readonly rounds: number;
}

const framesPerSecond = 2;
const keyFrame = 0x10; // A flag of an index entry (AVIIF_KEYFRAME).
const hasIndex = 0x10; // A flag of the main header (AVIF_HASINDEX).

export function makeColorFilm({ width, height, colors, seconds, rounds }: ColorFilm): Uint8Array {
  const frameBytes = width * height * 3;
  const each = colors.flatMap((color) =>
    Array.from({ length: seconds * framesPerSecond }, () => frameOf(color, frameBytes)),
  );
  const frames = Array.from({ length: rounds }, () => each).flat();
  const microseconds = 1e6 / framesPerSecond;
  const main = words(
    microseconds,
    frameBytes * framesPerSecond,
    0,
    hasIndex,
    frames.length,
    0,
    1,
    frameBytes,
  );
  const stream = Buffer.concat([
    ...[tag("vids"), tag("DIB "), words(0, 0, 0, 1, framesPerSecond, 0, frames.length, frameBytes)],
    ...[words(0xffffffff, 0, 0), shorts(width, height)],
  ]);
  // The format BITMAPINFOHEADER: three bytes a pixel, blue first.
  const format = Buffer.concat([words(40, width, height), shorts(1, 24), words(0, frameBytes, 0, 0, 0, 0)]);
  const headers = list("hdrl", [
    chunk("avih", Buffer.concat([main, words(width, height, 0, 0, 0, 0)])),
    list("strl", [chunk("strh", stream), chunk("strf", format)]),
  ]);
  const index = frames.map((_, nth) =>
    Buffer.concat([tag("00db"), words(keyFrame, 4 + nth * (frameBytes + 8), frameBytes)]),
  );
  const movie = list(
    "movi",
    frames.map((frame) => chunk("00db", frame)),
  );
  const body = Buffer.concat([tag("AVI "), headers, movie, chunk("idx1", Buffer.concat(index))]);
  return chunk("RIFF", body);
}

function frameOf([red, green, blue]: readonly [number, number, number], bytes: number): Uint8Array {
  return Buffer.alloc(bytes, Uint8Array.of(blue, green, red));
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const padding = new Uint8Array(data.length % 2);
  return Buffer.concat([tag(name), words(data.length), data, padding]);
}

function list(name: string, chunks: readonly Uint8Array[]): Uint8Array {
  return chunk("LIST", Buffer.concat([tag(name), ...chunks]));
}

const tag = (name: string): Uint8Array => Buffer.from(name, "latin1");

function words(...values: readonly number[]): Uint8Array {
  const out = new DataView(new ArrayBuffer(values.length * 4));
  for (const [nth, value] of values.entries()) out.setUint32(nth * 4, value, true);
  return new Uint8Array(out.buffer);
}

function shorts(...values: readonly number[]): Uint8Array {
  const out = new DataView(new ArrayBuffer(values.length * 2));
  for (const [nth, value] of values.entries()) out.setUint16(nth * 2, value, true);
  return new Uint8Array(out.buffer);
}
