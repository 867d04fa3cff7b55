/** Values that come by themselves, for `for await`: kept until they are taken, up to a limit. */

export interface Stream<T> {
  push(value: T): void;
  /** What was pushed before can still be taken. */
  end(): void;
  /** `onReturn` is called where the loop is left early. */
  iterate(onReturn: () => void): AsyncIterableIterator<T>;
}

// Whoever falls behind by so many has stopped looking: an error is kinder than memory that grows.
const keptMax = 10_000;

export function createStream<T>(): Stream<T> {
  const kept: T[] = [];
  let isOpen = true;
  let hasLost = false;
  let wake = () => {};

  return {
    push(value) {
      if (!isOpen) return;
      if (kept.length < keptMax) kept.push(value);
      else hasLost = true;
      wake();
    },
    end() {
      isOpen = false;
      wake();
    },
    async *iterate(onReturn) {
      try {
        for (;;) {
          for (let next = kept.shift(); next !== undefined; next = kept.shift()) yield next;
          if (hasLost) throw new Error(`more than ${keptMax} notifications were waiting to be looked at`);
          if (!isOpen) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        onReturn();
      }
    },
  };
}
