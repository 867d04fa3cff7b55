/**
 * A NES game that is one color (iNES, mapper 0, 16 KiB of program, 8 KiB of pictures): red; green while A is held; and blue for
 * good once B was pressed. Battery RAM, the file `<game>.srm`, begins with the frames that it ran for, one byte.
 */
const start = 0xc000;
// Colors of the console (nesdev.org, "PPU palettes").
const [red, green, blue] = [0x16, 0x2a, 0x12];
// In the console's memory: whether B was ever pressed, and whether A is held.
const [wasB, isA] = [0x10, 0x11];

const program = [
  ...[0x78, 0xd8, 0xa2, 0xff, 0x9a], // SEI, CLD, LDX #$FF, TXS
  ...[0xa9, 0x00, 0x85, wasB, 0x8d, 0x00, 0x20, 0x8d, 0x01, 0x20], // LDA #0, STA wasB, STA $2000, $2001: nothing is drawn
  ...[0x2c, 0x02, 0x20, 0x10, 0xfb], // BIT $2002, BPL to it: the chip takes a picture to warm up
];
const frame = [
  ...[0x2c, 0x02, 0x20, 0x10, 0xfb], // BIT $2002, BPL to it: the picture ends
  ...[0xa9, 0x01, 0x8d, 0x16, 0x40, 0xa9, 0x00, 0x8d, 0x16, 0x40], // LDA #1, STA $4016, LDA #0, STA $4016: ask the controller
  ...[0xad, 0x16, 0x40, 0x29, 0x01, 0x85, isA], // LDA $4016, AND #1, STA isA: A comes first
  ...[0xad, 0x16, 0x40, 0x29, 0x01, 0x05, wasB, 0x85, wasB], // LDA $4016, AND #1, ORA wasB, STA wasB: then B
  ...[0xa2, red, 0xa5, isA, 0xf0, 0x02, 0xa2, green], // LDX #red, LDA isA, BEQ over, LDX #green
  ...[0xa5, wasB, 0xf0, 0x02, 0xa2, blue], // LDA wasB, BEQ over, LDX #blue
  ...[0xa9, 0x3f, 0x8d, 0x06, 0x20, 0xa9, 0x00, 0x8d, 0x06, 0x20], // LDA #$3F, STA $2006, LDA #0, STA $2006: the backdrop
  ...[0x8e, 0x07, 0x20, 0x8d, 0x06, 0x20, 0x8d, 0x06, 0x20], // STX $2007, STA $2006, STA $2006: away from the palette
  ...[0xee, 0x00, 0x60], // INC $6000
];

export function makeColorNesGame(): Uint8Array {
  const loop = start + program.length;
  const rom = new Uint8Array(16 * 1024);
  rom.set([...program, ...frame, 0x4c, loop & 0xff, loop >> 8]);
  // The vectors of NMI, reset and IRQ.
  rom.set([0x00, 0xc0, 0x00, 0xc0, 0x00, 0xc0], 0x3ffa);
  const hasBattery = 0x02;
  const header = Uint8Array.of(0x4e, 0x45, 0x53, 0x1a, 1, 1, hasBattery, ...new Array(9).fill(0));
  return Buffer.concat([header, rom, new Uint8Array(8 * 1024)]);
}
