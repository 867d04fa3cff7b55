/** A small library that is made here: a few short tones and pictures, and the cards that play them. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

export interface Card {
  readonly title: string;
  /** The NDEF text of the card. */
  readonly text: string;
}

interface Work extends Card {
  readonly make: () => Uint8Array;
}

const library: readonly Work[] = [
  { title: "a rising fifth", text: "Audio/Rising Fifth.wav", make: () => wave([440, 660]) },
  {
    title: "a major chord, one by one",
    text: "Audio/Little Arpeggio.wav",
    make: () => wave([262, 330, 392, 523]),
  },
  { title: "a doorbell", text: "Audio/Doorbell.wav", make: () => wave([659, 523]) },
  {
    title: "a sunset",
    text: "Image/Sunset.png",
    make: () => picture((x, y) => [255 - y / 4, 120 - y / 3, 60 + y / 2 + x / 16]),
  },
  {
    title: "a chessboard",
    text: "Image/Chessboard.png",
    make: () => picture((x, y) => (((x >> 5) ^ (y >> 5)) & 1 ? [240, 240, 230] : [40, 40, 60])),
  },
];

/** The cards, in the order in which they are shown. */
export const deck: readonly Card[] = library;

/** Makes the missing files of the library below `folder`. */
export async function makeLibrary(folder: string): Promise<void> {
  for (const { text, make } of library) {
    const path = join(folder, text);
    if (existsSync(path)) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, make());
  }
}

/**
 * A sound (RIFF WAVE, PCM, 16 bits, one channel), with half a second for each tone, and soft edges.
 *
 *   0 "RIFF" length  8 "WAVE"  12 "fmt " 16, 1 = PCM, channels, rate, bytes/s, block, bits  36 "data" length, samples
 */
function wave(tonesHz: readonly number[]): Uint8Array {
  const rate = 44_100;
  const perTone = rate / 2;
  const samples = tonesHz.length * perTone;
  const file = Buffer.alloc(44 + samples * 2);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(36 + samples * 2, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(samples * 2, 40);
  for (const [tone, hz] of tonesHz.entries()) {
    for (let index = 0; index < perTone; index++) {
      const loudness = Math.min(1, index / 400, (perTone - index) / 8000) * 0.3;
      const level = Math.sin((2 * Math.PI * hz * index) / rate) * loudness;
      file.writeInt16LE(Math.round(level * 32_767), 44 + (tone * perTone + index) * 2);
    }
  }
  return file;
}

/** A picture as PNG, 8-bit RGB, 320 by 240 (PNG specification, section 5: signature, IHDR, IDAT, IEND). */
function picture(colour: (x: number, y: number) => readonly [number, number, number]): Uint8Array {
  const [width, height] = [320, 240];
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows.set(colour(x, y).map(asByte), y * (1 + width * 3) + 1 + x * 3);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function asByte(level: number): number {
  return Math.max(0, Math.min(255, Math.round(level)));
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
