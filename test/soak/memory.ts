/** Decides whether a day's memory is flat: a leak per tap shows after enough taps. */

// The growth that is allowed: a tenth for caches that fill late, and for random leftovers of a collection.
const shareMax = 0.1;
const mbMax = 1;

/**
 * A sentence if the medians show that the last third of the day needs more memory than the second one; undefined if the
 * memory is flat. The first third is not compared, because memory is allocated once in it.
 */
export function growthOf(heapMb: readonly number[]): string | undefined {
  const third = Math.floor(heapMb.length / 3);
  if (third === 0) return "there are too few figures of the memory to judge it";
  const before = medianOf(heapMb.slice(-2 * third, -third));
  const after = medianOf(heapMb.slice(-third));
  if (after - before <= before * shareMax + mbMax) return undefined;
  return `the heap grew from ${before} MB in the second third of the day to ${after} MB in the last`;
}

function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
