/** The content of the audit log: pairings, revocations, refusals, and remote launches and changes. It holds no secrets. */

/** Events of pairing. */
export type AuditNote =
  | { readonly event: "pairing-opened"; readonly by: PairedBy }
  | { readonly event: "paired"; readonly client: string; readonly name: string; readonly by: PairedBy }
  | { readonly event: "revoked"; readonly client: string; readonly name: string }
  /** A pairing link was not used in time. */
  | { readonly event: "expired"; readonly client: string; readonly name: string };

/** `secret`: created on the device with its secret; `pin`: by a PIN (version 1); `code`: by a short code. */
export type PairedBy = "secret" | "pin" | "code";

/** Why a caller was refused. */
export type RefusalReason =
  | "host-or-origin"
  | "too-many-requests"
  | "too-many-connections"
  | "encryption-required"
  | "secure-failure"
  | "too-many-failures"
  | "wrong-pin"
  | "wrong-code"
  | "wrong-token"
  | "launch-not-allowed"
  | "forbidden-method";

/** A remote caller: its address, and its client id if it is authenticated. */
export interface From {
  readonly address: string;
  readonly client?: string | undefined;
}

export interface Audit {
  note(note: AuditNote): void;
  /** Consecutive refusals of one kind become one line with a count. */
  refused(why: RefusalReason, from: From): void;
  /** Counted like refusals; the history holds the media. */
  launched(from: From): void;
  /** A change by a remote caller, in a line of its own. */
  changed(from: From, change: Change): void;
}

/** A change by a remote caller. */
export interface Change {
  /** The method that made it. */
  readonly method: string;
  /** The changed object, such as `mapping 7`; no secret, and no text of a card. */
  readonly object: string;
}

/** A line of the log. `time` is RFC 3339, and of counted events that of the last one. */
export interface AuditEntry {
  readonly time: string;
  readonly event: AuditNote["event"] | "refused" | "launched" | "changed";
  readonly client?: string;
  readonly name?: string;
  readonly by?: PairedBy;
  readonly why?: RefusalReason;
  readonly address?: string;
  readonly method?: string;
  readonly object?: string;
  /** The number of events since the previous line of this kind; 1 if absent. */
  readonly count?: number;
}

/** For tests and tools. */
export const silentAudit: Audit = { note() {}, refused() {}, launched() {}, changed() {} };
