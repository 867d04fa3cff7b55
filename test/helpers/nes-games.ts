/** NES games made for tests (iNES, mapper 0): one that stands still, one that shows one color, and one that counts. */

// The address at which the program starts. The processor sees the 16 KiB of program twice, and this is the start of the
// second copy.
const start = 0xc000;

/** A game of 16 KiB of program, which begins with `init` and then repeats `loop`, and of 8 KiB of pictures. */
function nesGame(init: readonly number[], loop: readonly number[], hasBattery: boolean): Uint8Array {
  const again = start + init.length;
  const program = new Uint8Array(16 * 1024).fill(0xea); // NOP
  program.set([...init, ...loop, 0x4c, again & 0xff, again >> 8]); // JMP
  // The vectors of NMI, reset and IRQ.
  program.set([0x00, 0xc0, 0x00, 0xc0, 0x00, 0xc0], 0x3ffa);
  const header = Uint8Array.of(0x4e, 0x45, 0x53, 0x1a, 1, 1, hasBattery ? 0x02 : 0, ...new Array(9).fill(0));
  return Buffer.concat([header, program, new Uint8Array(8 * 1024)]);
}

/** A game that only jumps to itself. If asked, it plays a tone that does not end. */
export const makeNesGame = ({ withTone = false } = {}) => nesGame(withTone ? pulseTone : [], [], false);

/** A tone of the first pulse channel at its full volume: LDA #value, STA register (6502; nesdev.org, "APU"). */
const pulseTone = [
  [0x01, 0x15],
  [0xbf, 0x00],
  [0xc9, 0x02],
  [0x00, 0x03],
].flatMap(([value = 0, register = 0]) => [0xa9, value, 0x8d, register, 0x40]);

// Colors of the console (nesdev.org, "PPU palettes").
const [red, green, blue] = [0x16, 0x2a, 0x12];
// Places in the console's memory: whether B was ever pressed, and whether A is held.
const [wasB, isA] = [0x10, 0x11];

const colorStart = [
  ...[0x78, 0xd8, 0xa2, 0xff, 0x9a], // SEI, CLD, LDX #$FF, TXS
  ...[0xa9, 0x00, 0x85, wasB, 0x8d, 0x00, 0x20, 0x8d, 0x01, 0x20], // LDA #0, STA wasB, STA $2000, $2001: nothing is drawn
  ...[0x2c, 0x02, 0x20, 0x10, 0xfb], // BIT $2002, BPL to it: the chip takes a picture to warm up
];
const colorFrame = [
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

/**
 * A game that shows one color: red, green while A is held, and always blue after B was pressed. Its battery RAM, the file
 * `<game>.srm`, begins with the number of its frames, one byte.
 */
export const makeColorNesGame = () => nesGame(colorStart, colorFrame, true);

const countingStart = [
  ...[0x78, 0xd8, 0xa2, 0xff, 0x9a], // SEI, CLD, LDX #$FF, TXS
  ...[0xa9, 0x00, 0x85, 0x10, 0x85, 0x11, 0x85, 0x12], // LDA #0, STA $10, $11, $12: no frames yet
  ...[0xee, 0x00, 0x60, 0xad, 0x00, 0x60, 0x85, 0x13], // INC $6000, LDA $6000, STA $13
];
const countingFrame = [
  ...[0x2c, 0x02, 0x20, 0x10, 0xfb], // BIT $2002, BPL to it: the picture ends (nesdev.org, "PPU registers")
  ...[0xe6, 0x10, 0xd0, 0x06, 0xe6, 0x11, 0xd0, 0x02, 0xe6, 0x12], // INC $10; at 0 INC $11; at 0 INC $12
  ...[0x10, 0x11, 0x12, 0x13].flatMap((from, nth) => [0xa5, from, 0x8d, nth + 1, 0x60]), // LDA from, STA $6001 on
];

/**
 * A game that counts. Its battery RAM, which RetroArch keeps in the file `<game>.srm`, holds from its beginning, lowest byte
 * first:
 *
 *   1 byte    how often a console with it was switched on
 *   3 bytes   the frames that the game has run for
 *   1 byte    the first byte as it was when this game began
 *
 * The game keeps the last two values in the console's memory and copies them in each frame, so a loaded state also
 * restores them.
 */
export const makeCountingNesGame = () => nesGame(countingStart, countingFrame, true);

export interface Counted {
  /** The number of times that a console with this battery RAM was switched on. */
  readonly starts: number;
  readonly frames: number;
  /** The number of the start at which the game began. */
  readonly begunAt: number;
}

/** The content of the game's battery RAM. */
export function countedIn(batteryRam: Uint8Array): Counted {
  const [starts = 0, low = 0, middle = 0, high = 0, begunAt = 0] = batteryRam;
  return { starts, frames: low + (middle << 8) + (high << 16), begunAt };
}
