/** A queue for work that must not overlap, such as changes of one file. */

/** Runs tasks one at a time, in order. A failure does not stop the next task. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(task: () => Promise<T>): Promise<T> => {
    const mine = last.then(task);
    last = mine.catch(() => {});
    return mine;
  };
}
