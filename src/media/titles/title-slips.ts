/**
 * Slips of the fingers: how far two keys are apart, and a first look that costs nothing and leaves few to be compared.
 *
 *   a signature   bits 0 to 25 which letters a key has, a byte beyond ASCII counting as one of them; bits 26 to 31 a sum
 *                 over its digits in their order
 */

/** At most one in five characters is wrong, missing or too much, and never more than four. */
export function slipsMax(characters: number): number {
  return Math.min(4, Math.floor(characters / 5));
}

export function signatureOf(key: Uint8Array, start: number, end: number): number {
  let letters = 0;
  let digits = 0;
  for (let at = start; at < end; at++) {
    const byte = key[at] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) digits = (digits * 11 + byte - 0x2f) & 0x3f;
    else letters |= 1 << (byte >= 0x80 ? byte % 26 : (byte - 0x61 + 26) % 26);
  }
  return (letters | (digits << 26)) >>> 0;
}

/** False where two keys of these signatures are more than `most` bytes apart, or have other numbers. */
export function mayBeNear(a: number, b: number, most: number): boolean {
  if ((a ^ b) >>> 26 !== 0) return false;
  return bitsOf(a & ~b) <= most && bitsOf(b & ~a) <= most;
}

const rows = [new Uint16Array(512), new Uint16Array(512)] as const;

/**
 * Insertions, deletions and changes of one element (Levenshtein); `most + 1` where there are more than `most`. Of lists of
 * at most 511 elements.
 */
export function slipsBetween(a: ArrayLike<unknown>, b: ArrayLike<unknown>, most: number): number {
  const far = most + 1;
  if (Math.abs(a.length - b.length) > most || b.length >= rows[0].length) return far;
  let [before, row] = rows;
  for (let j = 0; j <= b.length; j++) before[j] = Math.min(j, far);
  for (let i = 1; i <= a.length; i++) {
    // Beyond that band there are more than `most` in any case.
    const [from, to] = [Math.max(1, i - most), Math.min(b.length, i + most)];
    row[from - 1] = from === 1 ? Math.min(i, far) : far;
    let least = far;
    for (let j = from; j <= to; j++) {
      const change = (before[j - 1] ?? far) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const cell = Math.min(change, (before[j] ?? far) + 1, (row[j - 1] ?? far) + 1, far);
      row[j] = cell;
      least = Math.min(least, cell);
    }
    row[to + 1] = far;
    if (least > most && i - most > 0) return far;
    [before, row] = [row, before];
  }
  return Math.min(before[b.length] ?? far, far);
}

function bitsOf(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
