/** The word that somebody probably meant. */

/** The nearest of `known` to `word`, where it is near enough to be a slip of the fingers. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const typed = word.slice(0, 64);
  const best = known
    .map((candidate) => ({ candidate, distance: editDistance(typed, candidate) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.candidate.length / 3))
    ? best.candidate
    : undefined;
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** Insertions, deletions, changes and swaps of neighbours, each of one character (optimal string alignment), row by row. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const change = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const isSwap = i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j];
      const swap = isSwap ? (before[j - 1] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
