/** What a client has under way over HTTP with its bearer token, so that a revocation ends it. Sockets have their own way. */

export interface Revocation {
  /** `end` is called when the client is revoked, until disposed. */
  watch(clientId: string, end: () => void): Disposable;
  cut(clientId: string): void;
}

export function createRevocation(): Revocation {
  const underWay = new Map<string, Set<() => void>>();
  return {
    watch(clientId, end) {
      const ends = underWay.get(clientId) ?? new Set();
      underWay.set(clientId, ends);
      ends.add(end);
      return {
        [Symbol.dispose]() {
          ends.delete(end);
          if (ends.size === 0 && underWay.get(clientId) === ends) underWay.delete(clientId);
        },
      };
    },
    cut(clientId) {
      for (const end of [...(underWay.get(clientId) ?? [])]) end();
    },
  };
}
