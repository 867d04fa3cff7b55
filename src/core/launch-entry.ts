/** A launch as the history remembers it and the API shows it. */

/** A row of the token history (contract, Launch entry). */
export interface LaunchEntry {
  readonly type: string;
  readonly uid: string;
  readonly text: string;
  readonly data: string;
  readonly success: boolean;
  /** RFC 3339. */
  readonly time: string;
  readonly readerId?: string;
  /** The text after mapping. */
  readonly script?: string;
  /** A sentence; only where `success` is false. */
  readonly error?: string;
}
