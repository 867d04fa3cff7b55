/** Which card it is: what the rules of holding, confirming and playing know one by. */
import type { TokenParams } from "../core/token.ts";
import { normalizeUid } from "../core/token.ts";

/**
 * The same for each tap of one card, on whichever reader; another one where the card was rewritten, for then it asks for
 * something else.
 */
export function cardOf({ uid, text, data }: TokenParams): string {
  return JSON.stringify([normalizeUid(uid), text, uid === "" && text === "" ? data : ""]);
}
