/** What readers show by lights of their own: that a card was heard, and that what it asked for failed. */
import type { Bus } from "../bus.ts";
import type { Clock } from "../core/clock.ts";
import type { Readers } from "../readers/readers.ts";

export interface ReaderSignalParts {
  readonly bus: Bus;
  readonly clock: Clock;
  /** How long after a card was heard: what it starts comes first. */
  readonly behindTapMs: number;
  /** Undefined while the service starts. */
  readonly readers: () => Pick<Readers, "tokens" | "signal"> | undefined;
}

/** Until disposed. Whether anything is shown is the settings' word, and the readers' to heed. */
export function showOnReaders({ bus, clock, behindTapMs, readers }: ReaderSignalParts): Disposable {
  const later = (show: () => void) => void clock.after(behindTapMs, show);
  /** Where this card lies, or lay at last; undefined for what no reader saw. */
  const readerOf = (uid: string) => {
    const tokens = readers()?.tokens();
    const seen = [...(tokens?.active ?? []), ...(tokens?.last === undefined ? [] : [tokens.last])];
    return uid === "" ? undefined : seen.find((token) => token.uid === uid)?.readerId;
  };
  const following = [
    bus.on("tokens.added", ({ readerId }) => later(() => readers()?.signal(readerId, "scanned"))),
    bus.on("launch.finished", ({ success, uid }) => {
      if (success) return;
      later(() => {
        const readerId = readerOf(uid);
        if (readerId !== undefined) readers()?.signal(readerId, "failed");
      });
    }),
  ];
  return {
    [Symbol.dispose]: () => {
      for (const one of following) one[Symbol.dispose]();
    },
  };
}
