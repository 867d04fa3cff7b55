/**
 * Processes long lists in slices and yields to the event loop between them. A folder of 100,000 files therefore delays
 * no heartbeat and no tap.
 */

// A slice takes about a millisecond.
const itemsPerSlice = 1000;
const comparisonsPerSlice = 500;

/** Calls `each` for all of `list`, in order. */
export async function eachInSlices<T>(list: readonly T[], each: (one: T) => void): Promise<void> {
  for (let from = 0; from < list.length; from += itemsPerSlice) {
    if (from > 0) await nextTurn();
    for (const one of list.slice(from, from + itemsPerSlice)) each(one);
  }
}

/** The members of `list` that `keeps` accepts, in order. */
export async function filterInSlices<T>(list: readonly T[], keeps: (one: T) => boolean): Promise<T[]> {
  const kept: T[] = [];
  await eachInSlices(list, (one) => {
    if (keeps(one)) kept.push(one);
  });
  return kept;
}

/** A sorted copy; the sort is stable. */
export async function sortInSlices<T extends NonNullable<unknown>>(
  list: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  let comparisons = 0;
  // Merge sort from runs of one.
  let runs = list;
  for (let length = 1; length < list.length; length *= 2) {
    const merged: T[] = [];
    for (let start = 0; start < runs.length; start += 2 * length) {
      const left = runs.slice(start, start + length);
      const right = runs.slice(start + length, start + 2 * length);
      let at = 0;
      let other = 0;
      while (at < left.length || other < right.length) {
        const one = left[at];
        const two = right[other];
        const isLeft = two === undefined || (one !== undefined && compare(one, two) <= 0);
        const next = isLeft ? one : two;
        if (isLeft) at += 1;
        else other += 1;
        if (next !== undefined) merged.push(next);
        if (++comparisons % comparisonsPerSlice === 0) await nextTurn();
      }
    }
    runs = merged;
  }
  return runs;
}

let lastTurn = Promise.resolve();

/**
 * Resolves in a later turn of the event loop. If several callers wait, each gets a turn of its own, in order, so many
 * tasks in slices do not add up to one long turn.
 */
export function nextTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
  return lastTurn;
}
