/**
 * Short sounds, made here: notes of a sine that begin softly and fade away, as a WAV file (RIFF, format 1).
 *
 *   0 "RIFF"  4 bytes that follow u32  8 "WAVE"
 *   12 "fmt "  16 16 u32  20 format 1 u16  22 channels u16  24 frames a second u32  28 bytes a second u32
 *   32 bytes of a frame u16  34 bits of a sample u16
 *   36 "data"  40 bytes that follow u32  44 samples, s16, little-endian, left and right in turn
 */

export interface Note {
  /** Hz; 0 is a rest. */
  readonly pitch: number;
  readonly ms: number;
}

// What every device can do by itself, so that nothing has to be converted.
const framesPerSecond = 48_000;
const channels = 2;
const sampleBytes = 2;
const headerBytes = 44;
const peak = 0.25; // Of full scale, -12 dB: beside a game it is heard, and beside silence it startles nobody.
const attackMs = 4; // Shorter is a click.
const releaseMs = 12;

export function waveOf(notes: readonly Note[]): Uint8Array {
  const frames = notes.map(({ ms }) => Math.round((ms * framesPerSecond) / 1000));
  const dataBytes = frames.reduce((sum, count) => sum + count, 0) * channels * sampleBytes;
  const bytes = new Uint8Array(headerBytes + dataBytes);
  const view = new DataView(bytes.buffer);
  writeHeader(view, dataBytes);
  let at = headerBytes;
  for (const [index, { pitch }] of notes.entries()) {
    const count = frames[index] ?? 0;
    for (let frame = 0; frame < count; frame++) {
      const level = peak * loudness(frame, count) * Math.sin((2 * Math.PI * pitch * frame) / framesPerSecond);
      const sample = Math.round(level * 0x7fff);
      for (let channel = 0; channel < channels; channel++, at += sampleBytes) view.setInt16(at, sample, true);
    }
  }
  return bytes;
}

/** From 0 to 1: up in a moment, then ever softer, to nothing at the end. */
function loudness(frame: number, frames: number): number {
  const ms = (1000 * frame) / framesPerSecond;
  const leftMs = (1000 * (frames - 1 - frame)) / framesPerSecond;
  const fading = Math.exp((-2 * frame) / frames);
  return Math.min(1, ms / attackMs) * Math.min(1, leftMs / releaseMs) * fading;
}

function writeHeader(view: DataView, dataBytes: number): void {
  const frameBytes = channels * sampleBytes;
  const text = (at: number, letters: string) => {
    for (const [index, letter] of [...letters].entries()) view.setUint8(at + index, letter.charCodeAt(0));
  };
  text(0, "RIFF");
  view.setUint32(4, headerBytes - 8 + dataBytes, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, framesPerSecond, true);
  view.setUint32(28, framesPerSecond * frameBytes, true);
  view.setUint16(32, frameBytes, true);
  view.setUint16(34, 8 * sampleBytes, true);
  text(36, "data");
  view.setUint32(40, dataBytes, true);
}
