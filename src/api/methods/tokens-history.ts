/** `tokens.history`: recent launches, newest first (contract, Launch entry). */
import * as v from "valibot";
import { ServiceError } from "../../core/errors.ts";
import { historyPageMax } from "../../core/limits.ts";
import { method } from "../method.ts";
import { launchEntry } from "../schemas.ts";

const limitDefault = 100;

export const tokensHistory = method({
  name: "tokens.history",
  access: "anyone",
  docs: "Recent launches, newest first; `before` (RFC 3339) pages back.",
  params: v.object({
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(historyPageMax))),
    before: v.optional(v.pipe(v.string(), v.maxLength(64))),
  }),
  result: v.object({ entries: v.array(launchEntry) }),
  run(services, { limit = limitDefault, before }) {
    const beforeMs = before === undefined ? undefined : Date.parse(before);
    if (beforeMs !== undefined && (Number.isNaN(beforeMs) || !/^\d{4}-\d\d-\d\d[Tt]/.test(before ?? ""))) {
      throw new ServiceError(
        "invalid-params",
        "before: must be a time in RFC 3339, such as 2026-01-31T12:00:00Z",
      );
    }
    return { entries: [...services.history(beforeMs === undefined ? { limit } : { limit, beforeMs })] };
  },
});
