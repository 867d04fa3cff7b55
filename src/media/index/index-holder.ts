/** Holds the index in use, and puts a newer one in its place without a pause that anyone could feel. */
import { nextTurn } from "../../core/slices.ts";
import { IndexDamage } from "../../store/media-index-file.ts";
import { type MediaIndex, openIndex } from "./index-file.ts";

export interface IndexHolder {
  /** The index in use; undefined where there is none. The first call waits for it, should it still be read. */
  current(): MediaIndex | undefined;
  /** Runs `ask` on the index in use; undefined where there is none, or where it proved damaged. */
  use<T>(ask: (index: MediaIndex) => T): T | undefined;
  /**
   * As `use`, for what takes steps: after each slice of 2 ms everybody else has a turn. Begins anew where another index was put
   * to use meanwhile.
   */
  walk<T>(ask: (index: MediaIndex) => Generator<void, T, void>): Promise<T | undefined>;
  /** Reads the index that now stands in the file, a little at a time, and puts it to use. */
  renew(): Promise<void>;
  close(): void;
}

/** A heartbeat is answered within 5 ms (decisions, "Transport"). */
const sliceMs = 2;

/**
 * Begins to read the index at `path`. `onDamage` is called when the one in use was given up. `now` is in milliseconds and
 * goes forward only.
 */
export function holdIndex(
  path: string,
  onDamage: (why: string) => void,
  now: () => number = () => performance.now(),
): IndexHolder {
  let index: MediaIndex | undefined;
  let reading: ReturnType<typeof openIndex> | undefined = openIndex(path);

  const giveUp = (error: unknown) => {
    const why = damageOf(error);
    index?.close();
    index = undefined;
    onDamage(why);
  };
  /** One step; true when there is nothing more to read. */
  const step = (of: NonNullable<typeof reading>): boolean => {
    try {
      const { done, value } = of.next();
      if (!done) return false;
      index?.close();
      index = value;
    } catch (error) {
      giveUp(error);
    }
    return true;
  };
  const readOn = async (of: NonNullable<typeof reading>) => {
    while (reading === of) {
      await nextTurn();
      if (reading === of && step(of)) reading = undefined;
    }
    // One that was overtaken closes its file.
    of.return(undefined);
  };
  const current = () => {
    const first = reading;
    while (index === undefined && reading !== undefined)
      if (step(reading) && reading === first) reading = undefined;
    return index;
  };
  void readOn(reading);

  return {
    current,
    use(ask) {
      const held = current();
      try {
        return held && ask(held);
      } catch (error) {
        giveUp(error);
        return undefined;
      }
    },
    async walk(ask) {
      for (;;) {
        const held = current();
        if (held === undefined) return undefined;
        const steps = ask(held);
        try {
          for (let startedMs = now(); index === held; ) {
            const { done, value } = steps.next();
            if (done) return value;
            if (now() - startedMs < sliceMs) continue;
            await nextTurn();
            startedMs = now();
          }
        } catch (error) {
          giveUp(error);
          return undefined;
        }
      }
    },
    renew() {
      reading = openIndex(path);
      return readOn(reading);
    },
    close() {
      reading = undefined;
      index?.close();
      index = undefined;
    },
  };
}

/** What is damaged; throws what is no damage. */
function damageOf(error: unknown): string {
  if (!(error instanceof IndexDamage)) throw error;
  return error.message;
}
