/**
 * Toys with tags in them, identified by their memory, without I/O: amiibo (NTAG215) and LEGO Dimensions (NTAG213). The
 * layouts come from public reverse engineering, not from the makers.
 *
 *   amiibo    page 3           F1 10 FF EE
 *             page 21, 22      figure: character (2), variant, form, number (2), series, 02
 *   LEGO      page 24h, 25h    character: its id twice, little-endian, enciphered with TEA by a key of the UID
 *                              vehicle: its id, little-endian, in the clear
 *             page 26h         00 01 00 00 for a vehicle, zeros for a character
 */
const amiiboContainer: readonly number[] = [0xf1, 0x10, 0xff, 0xee];
export const amiiboFigure = { page: 21, pages: 2 } as const;
export const legoIdentity = { page: 0x24, pages: 3 } as const;

const figureBytes = 8;
const figureEnd = 0x02;

/** The eight bytes of an amiibo figure, as lists of amiibo print them: `0000000000000002`; undefined for other data. */
export function figureOf(pages: Uint8Array): Uint8Array | undefined {
  return pages.length >= figureBytes && pages[figureBytes - 1] === figureEnd
    ? pages.slice(0, figureBytes)
    : undefined;
}

export function isAmiibo(container: Uint8Array): boolean {
  return amiiboContainer.every((byte, index) => byte === container[index]);
}

const firstVehicle = 1000; // Ids of characters are below this number. Those of vehicles and gadgets begin with it.
const idMax = 0xffff;

/**
 * The identity of a LEGO Dimensions toy in eight bytes, if the twelve bytes of `pages` belong to one: its id, little-endian,
 * and page 26h, which marks a vehicle or a character. They stay the same when the game writes to the toy.
 */
export function legoToyOf(uid: Uint8Array, pages: Uint8Array): Uint8Array | undefined {
  if (uid.length !== 7 || pages.length < 12) return undefined;
  const [first = 0, second = 0, kind = 0] = wordsOf(pages.subarray(0, 12));
  if (kind === 0x0100) return first >= firstVehicle && first <= idMax ? withKind(first, pages) : undefined;
  if (kind !== 0) return undefined;
  const [id, again] = decipher([first, second], teaKeyOf(uid));
  return id === again && id > 0 && id < firstVehicle ? withKind(id, pages) : undefined;
}

function withKind(id: number, pages: Uint8Array): Uint8Array {
  return Uint8Array.of(id & 0xff, id >> 8, 0, 0, ...pages.subarray(8, 12));
}

// The UID is padded with these bytes to fill the words of a round, and the last byte is AA.
const keyPadding: readonly number[] = [
  0xb7, 0xd5, 0xd7, 0xe6, 0xe7, 0xba, 0x3c, 0xa8, 0xd8, 0x75, 0x47, 0x68, 0xcf, 0x23, 0xe9, 0xfe,
];

type Key = readonly [number, number, number, number];

/** The four words of the key are hashes of the UID, padded to three, four, five and six words. */
function teaKeyOf(uid: Uint8Array): Key {
  const word = (words: number) => {
    const bytes = Uint8Array.of(...uid, ...keyPadding.slice(0, words * 4 - uid.length - 1), 0xaa);
    return wordsOf(bytes).reduce(
      (mixed, next) => (next + rotateLeft(mixed, 7) + rotateLeft(mixed, 22) - mixed) >>> 0,
      0,
    );
  };
  return [word(3), word(4), word(5), word(6)];
}

const delta = 0x9e3779b9;
const cycles = 32;

/** Decrypts by the Tiny Encryption Algorithm (Wheeler and Needham, 1994). */
function decipher([a, b]: readonly [number, number], [k0, k1, k2, k3]: Key): readonly [number, number] {
  let left = a;
  let right = b;
  let sum = (delta * cycles) >>> 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    right = (right - (((left << 4) + k2) ^ (left + sum) ^ ((left >>> 5) + k3))) >>> 0;
    left = (left - (((right << 4) + k0) ^ (right + sum) ^ ((right >>> 5) + k1))) >>> 0;
    sum = (sum - delta) >>> 0;
  }
  return [left, right];
}

function rotateLeft(word: number, bits: number): number {
  return ((word << bits) | (word >>> (32 - bits))) >>> 0;
}

function wordsOf(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length >> 2 }, (_, index) => view.getUint32(index * 4, true));
}
