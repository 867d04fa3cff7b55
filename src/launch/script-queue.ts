/**
 * Whose turn it is. Scripts run one after another, in the order in which they came; while one only waits, a card that was
 * put down may have its turn, so that no sleep timer makes the console deaf.
 */

/** Has one's turn passed on while `wait` runs, and resolves as it does once the turn has come back. */
export type Aside = <T>(wait: () => Promise<T>) => Promise<T>;

export interface Job {
  /** It need not wait for those that were begun before to end: only for its turn. */
  readonly cutsIn: boolean;
  /** Never rejects. */
  run(aside: Aside): Promise<void>;
}

export interface Turns<J extends Job> {
  add(job: J): void;
  /** Those that have not begun. */
  waiting(): readonly J[];
  /** Those that have begun and not ended: one at most whose turn it is, and those that wait. */
  begun(): readonly J[];
  /** Forgets those that have not begun and are meant, and returns them. */
  drop(isMeant: (job: J) => boolean): readonly J[];
  /** Resolves once none is left. */
  idle(): Promise<void>;
}

export function createTurns<J extends Job>(): Turns<J> {
  let queue: readonly J[] = [];
  const begun = new Set<J>();
  const comingBack: (() => void)[] = [];
  let isTaken = false;
  let idle: PromiseWithResolvers<void> | undefined;

  const next = () => {
    if (isTaken) return;
    const comeBack = comingBack.shift();
    const job = queue.find(({ cutsIn }) => begun.size === 0 || cutsIn);
    if (comeBack !== undefined) {
      isTaken = true;
      comeBack();
    } else if (job !== undefined) {
      isTaken = true;
      queue = queue.filter((other) => other !== job);
      begun.add(job);
      void job.run(aside).finally(() => {
        begun.delete(job);
        passOn();
      });
    } else if (begun.size === 0) {
      idle?.resolve();
      idle = undefined;
    }
  };
  const passOn = () => {
    isTaken = false;
    next();
  };
  const aside: Aside = async (wait) => {
    passOn();
    try {
      return await wait();
    } finally {
      const back = Promise.withResolvers<void>();
      comingBack.push(back.resolve);
      next();
      await back.promise;
    }
  };

  return {
    add(job) {
      queue = [...queue, job];
      // A step later, so that whoever is told of it, and adds one in its turn, finds that this one came first.
      queueMicrotask(next);
    },
    waiting: () => queue,
    begun: () => [...begun],
    drop(isMeant) {
      const dropped = queue.filter(isMeant);
      queue = queue.filter((job) => !dropped.includes(job));
      return dropped;
    },
    async idle() {
      if (begun.size === 0 && queue.length === 0) return;
      idle ??= Promise.withResolvers();
      await idle.promise;
    },
  };
}
