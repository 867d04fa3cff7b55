/** The content of the audit log: pairings, revocations, refusals, and remote launches and changes. It holds no secrets. */
import type { Role } from "./rights.ts";
import type { AuditEntry } from "./shapes.ts";

export type { AuditEntry } from "./shapes.ts";

/** Events of paired clients. */
export type AuditNote =
  | { readonly event: "pairing-opened"; readonly by: PairedBy }
  | { readonly event: "paired"; readonly client: string; readonly name: string; readonly by: PairedBy }
  | {
      readonly event: "role-changed";
      readonly client: string;
      readonly name: string;
      readonly role: Role;
    }
  /** `expired`: a pairing link was not used in time. */
  | { readonly event: "revoked" | "expired"; readonly client: string; readonly name: string };

/** The method that made a change, and the object that it changed. */
export type Change = Required<Pick<AuditEntry, "method" | "object">>;
export type PairedBy = NonNullable<AuditEntry["by"]>;
export type RefusalReason = NonNullable<AuditEntry["why"]>;

/** A remote caller: its address, and its client id if it is authenticated. */
export interface From {
  readonly address: string;
  readonly client?: string | undefined;
  /** The name of the client; absent if it was not looked up. */
  readonly name?: string | undefined;
}

/** The caller of commands that come through a broker, which hides their senders. */
export const fromBroker: From = { address: "mqtt", client: "mqtt" };

export interface Audit {
  note(note: AuditNote): void;
  /** Consecutive refusals of one kind become one line with a count. */
  refused(why: RefusalReason, from: From): void;
  /** Records a remote launch. It is counted like refusals, and the history holds the media. */
  launched(from: From): void;
  /** Records a change by a remote caller, in a line of its own. */
  changed(from: From, change: Change): void;
}
