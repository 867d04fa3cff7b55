/** The content of the audit log: pairings, revocations, refusals, and what remote callers launched and changed. No secrets. */

/** What people did about who may come in. */
export type AuditNote =
  | { readonly event: "pairing-opened"; readonly by: PairedBy }
  | { readonly event: "paired"; readonly client: string; readonly name: string; readonly by: PairedBy }
  | { readonly event: "revoked"; readonly client: string; readonly name: string }
  /** A pairing link that nobody used in time. */
  | { readonly event: "expired"; readonly client: string; readonly name: string };

/** `secret`: made on the device, with its secret; `pin`: by the PIN of a known client; `code`: by a short code. */
export type PairedBy = "secret" | "pin" | "code";

/** Why somebody was turned away. */
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

/** Who called from afar: by address, and by client where it has shown that it is one. */
export interface From {
  readonly address: string;
  readonly client?: string | undefined;
}

export interface Audit {
  note(note: AuditNote): void;
  /** Counted: many of a kind in a row become one line. */
  refused(why: RefusalReason, from: From): void;
  /** Counted, like refusals. What was launched is in the history. */
  launched(from: From): void;
  /** A remote caller has changed something: one line for each change. */
  changed(from: From, change: Change): void;
}

/** A change by a remote caller. */
export interface Change {
  /** The method that made it. */
  readonly method: string;
  /** What was changed, such as `mapping 7`; no secret, and no text of a card. */
  readonly object: string;
}

/** A line of the log. `time` is RFC 3339; of counted ones, that of the last. */
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
  /** How many there were since the line before of the same kind; 1 where absent. */
  readonly count?: number;
}

/** For tests and tools that want none. */
export const silentAudit: Audit = { note() {}, refused() {}, launched() {}, changed() {} };
