/**
 * Schedules requests fairly. In one turn of the event loop, requests run at once for a short time; the rest wait in the queue
 * of their connection. The queues are served round-robin. A flood of requests therefore delays no heartbeat and no tap.
 */
import { requestsWaitingBytesMax, requestsWaitingMax } from "../core/limits.ts";

/** The requests of one connection, first in, first out. */
export interface Lane {
  /** Runs `work`, and sends its messages in one go. */
  readonly cork: (work: () => void) => void;
  readonly waiting: Waiting[];
}

interface Waiting {
  readonly work: () => void;
  readonly bytes: number;
}

// A heartbeat may wait for two turns: the work of a tap, and that of the socket. Together they take less than the 5 ms
// that a heartbeat may take.
const turnMs = 1.5;
const inOneGo = 64;

export function createFairScheduler() {
  const lanes: Lane[] = [];
  let count = 0;
  let bytes = 0;
  let turnEndMs = 0;

  const begin = () => {
    turnEndMs = performance.now() + turnMs;
    setImmediate(next);
  };
  const next = () => {
    turnEndMs = 0;
    if (count === 0) return;
    begin();
    const endMs = turnEndMs;
    serve(() => performance.now() < endMs);
  };
  const serve = (goesOn: () => boolean) => {
    for (let lane = lanes.shift(); lane !== undefined; lane = goesOn() ? lanes.shift() : undefined) {
      const { waiting, cork } = lane;
      const some = waiting.splice(0, inOneGo);
      count -= some.length;
      for (const one of some) bytes -= one.bytes;
      cork(() => {
        for (const { work } of some) work();
      });
      if (waiting.length > 0) lanes.push(lane);
    }
  };

  return {
    /** Runs `work` now or soon; `work` keeps `size` bytes in memory until then. */
    take(lane: Lane, work: () => void, size: number) {
      if (turnEndMs === 0) begin();
      if (lane.waiting.length === 0 && performance.now() < turnEndMs) return work();
      if (lane.waiting.length === 0) lanes.push(lane);
      lane.waiting.push({ work, bytes: size });
      count += 1;
      bytes += size;
      // Back-pressure: nothing more is read from the sockets until all of this has run.
      if (count >= requestsWaitingMax || bytes > requestsWaitingBytesMax) serve(() => true);
    },
  };
}
