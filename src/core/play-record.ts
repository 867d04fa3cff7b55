/** How long was played, as it is kept over restarts. Days are local dates, `2031-05-08`. */
export interface PlayRecord {
  /** The day that is counted on. */
  readonly day: string;
  /** Milliseconds by day. */
  readonly days: ReadonlyMap<string, number>;
  /** Of the session that was the last. */
  readonly sessionMs: number;
  /** The newest time that was believed, in milliseconds since 1970; 0 where none was. */
  readonly seenMs: number;
}
