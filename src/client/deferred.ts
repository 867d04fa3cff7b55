/** A promise with its ends: as `Promise.withResolvers`, which Node 20 and browsers of before 2024 lack. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export function deferred<T>(): Deferred<T> {
  let [resolve, reject]: [(value: T) => void, (reason: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((onValue, onReason) => {
    [resolve, reject] = [onValue, onReason];
  });
  return { promise, resolve, reject };
}
