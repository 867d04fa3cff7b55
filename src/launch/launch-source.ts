/** The source of a launch, and how far its script is trusted: when it is queued, and again when it starts. */
import { allows, type Requester } from "../core/rights.ts";
import type { TagProblem } from "../core/token.ts";
import type { ScriptOrigin } from "../script/command.ts";

export interface LaunchSource {
  readonly readerId?: string;
  /** The caller of the API that asked for it, or that laid the card down. */
  readonly requester?: Requester | undefined;
  /** Why the reader found no text. */
  readonly problem?: TagProblem;
  /** False for a page or a link that anybody may have made: commands that reach outside the device are refused. */
  readonly trusted?: boolean;
  /** The token lay on a reader of this device; false for what the API laid on a virtual or a simulated one. */
  readonly isFromReader?: boolean;
  /** A card was put down, rather than a launch asked for: the guard may hold it back, and what it starts is its own. */
  readonly isTap?: boolean;
}

/** The origin of its script at this moment. */
export function originOf({ trusted = true, isFromReader = false, requester }: LaunchSource): ScriptOrigin {
  return trusted ? originNow(isFromReader ? "reader" : "trusted", requester) : "untrusted";
}

/** An origin that was found earlier, as it counts now: a grant that was lowered since takes the trust away. */
export function originNow(origin: ScriptOrigin, requester: Requester | undefined): ScriptOrigin {
  return requester === undefined || allows(requester.grant(), "change") ? origin : "untrusted";
}

/** False where the caller of a script has lost its right to start anything. */
export function mayLaunch(requester: Requester | undefined): boolean {
  return requester === undefined || allows(requester.grant(), "play");
}
