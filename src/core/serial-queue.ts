/** Work that must not overlap, such as changes of one file. */

/** Runs tasks one at a time, in order. A failure does not stop the next task. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(task: () => Promise<T>): Promise<T> => {
    const mine = last.then(task);
    last = mine.catch(() => {});
    return mine;
  };
}

/**
 * Returns a function that runs `work`, and after that once more for all calls that came meanwhile. Its promise resolves when no
 * run is left; a run that fails rejects it, and the next call runs again.
 */
export function createCoalesced(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isAsked = false;
  const runAll = async () => {
    try {
      while (isAsked) {
        isAsked = false;
        await work();
      }
    } finally {
      // No call can come between the last look at `isAsked` and this.
      running = undefined;
    }
  };
  return () => {
    isAsked = true;
    running ??= runAll();
    return running;
  };
}
