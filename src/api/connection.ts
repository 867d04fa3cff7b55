/**
 * One connection as dispatch and notifications see it. While one of its requests is being answered, notifications wait:
 * the answer to a request comes before whatever the request causes (decisions, "Order").
 */
export interface Connection {
  /** Requests that are not answered yet. */
  inFlight: number;
  /** Sends an answer at once. */
  answer(text: string): void;
  /** Sends a notification, or keeps it until `release`. */
  notify(text: string): void;
  /** Keeps notifications back; to be called once for each `release`. */
  hold(): void;
  release(): void;
}

export function createConnection(send: (text: string) => void): Connection {
  let holds = 0;
  let kept: string[] = [];
  return {
    inFlight: 0,
    answer: send,
    notify(text) {
      if (holds > 0) kept.push(text);
      else send(text);
    },
    hold() {
      holds += 1;
    },
    release() {
      holds -= 1;
      if (holds > 0) return;
      const texts = kept;
      kept = [];
      texts.forEach(send);
    },
  };
}
