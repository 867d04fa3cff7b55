/**
 * A NES game with battery RAM that tells where it is (iNES, mapper 0, 16 KiB of program, 8 KiB of pictures). Its battery RAM,
 * which RetroArch keeps in the file `<game>.srm`, holds from its beginning, lowest byte first:
 *
 *   1 byte    how often a console with it was switched on
 *   3 bytes   the frames that the game has run for
 *   1 byte    the first byte as it was when this game began
 *
 * The game keeps the last two in the console's memory and copies them in each frame: it goes on where a state left it.
 */
const program = [
  ...[0x78, 0xd8, 0xa2, 0xff, 0x9a], // SEI, CLD, LDX #$FF, TXS
  ...[0xa9, 0x00, 0x85, 0x10, 0x85, 0x11, 0x85, 0x12], // LDA #0, STA $10, $11, $12: no frames yet
  ...[0xee, 0x00, 0x60, 0xad, 0x00, 0x60, 0x85, 0x13], // INC $6000, LDA $6000, STA $13
];
const frame = [
  ...[0x2c, 0x02, 0x20, 0x10, 0xfb], // BIT $2002, BPL to it: the picture ends (nesdev.org, "PPU registers")
  ...[0xe6, 0x10, 0xd0, 0x06, 0xe6, 0x11, 0xd0, 0x02, 0xe6, 0x12], // INC $10; at 0 INC $11; at 0 INC $12
  ...[0x10, 0x11, 0x12, 0x13].flatMap((from, nth) => [0xa5, from, 0x8d, nth + 1, 0x60]), // LDA from, STA $6001 on
];
const start = 0xc000;

export function makeCountingNesGame(): Uint8Array {
  const jump = start + program.length;
  const rom = new Uint8Array(16 * 1024);
  rom.set([...program, ...frame, 0x4c, jump & 0xff, jump >> 8]);
  // The vectors of NMI, reset and IRQ.
  rom.set([0x00, 0xc0, 0x00, 0xc0, 0x00, 0xc0], 0x3ffa);
  const hasBattery = 0x02;
  const header = Uint8Array.of(0x4e, 0x45, 0x53, 0x1a, 1, 1, hasBattery, ...new Array(9).fill(0));
  return Buffer.concat([header, rom, new Uint8Array(8 * 1024)]);
}

export interface Counted {
  /** How often a console with this battery RAM was switched on. */
  readonly starts: number;
  readonly frames: number;
  /** Which of these starts the game began with. */
  readonly begunAt: number;
}

/** What battery RAM of the game holds. */
export function countedIn(batteryRam: Uint8Array): Counted {
  const [starts = 0, low = 0, middle = 0, high = 0, begunAt = 0] = batteryRam;
  return { starts, frames: low + (middle << 8) + (high << 16), begunAt };
}
