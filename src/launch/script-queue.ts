/**
 * Scripts run one at a time, in order. While a script waits, the script of a tap may run, so a `**delay` blocks no reader.
 */

/** Lets other scripts run during `wait`. Resolves or rejects as `wait` did, once the script has its turn again. */
export type Aside = <T>(wait: () => Promise<T>) => Promise<T>;

export interface QueuedScript {
  /** True if the script may run while scripts before it wait. */
  readonly cutsIn: boolean;
  /** Runs the script. It never rejects. */
  run(aside: Aside): Promise<void>;
}

export function createScriptQueue<J extends QueuedScript>() {
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
    add(job: J): void {
      queue = [...queue, job];
      // The script begins a microtask later, so the event `running` of this launch comes first.
      queueMicrotask(next);
    },
    waiting: () => queue,
    /** The scripts that have begun and not ended. At most one of them runs, and the others wait. */
    begun: (): readonly J[] => [...begun],
    /** Removes and returns the scripts that have not begun and that `isMeant` accepts. */
    drop(isMeant: (job: J) => boolean): readonly J[] {
      const dropped = queue.filter(isMeant);
      queue = queue.filter((job) => !dropped.includes(job));
      return dropped;
    },
    /** Resolves once the queue is empty and no script runs. */
    async idle(): Promise<void> {
      if (begun.size === 0 && queue.length === 0) return;
      idle ??= Promise.withResolvers();
      await idle.promise;
    },
  };
}
