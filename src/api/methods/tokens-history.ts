/** `tokens.history`: recent launches, newest first (contract, Launch entry). */
import * as v from "valibot";
import { historyPageMax } from "../../core/limits.ts";
import { method } from "../method.ts";
import { launchEntry } from "../schemas.ts";

const limitDefault = 100;

export const tokensHistory = method({
  name: "tokens.history",
  right: "change",
  docs: "Recent launches, newest first; `before` pages back. Of long texts a page holds fewer than `limit`: the last page is the empty one.",
  params: v.object({
    limit: v.optional(
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(historyPageMax)),
      limitDefault,
    ),
    before: v.optional(
      v.pipe(v.string(), v.isoTimestamp("must be a time in RFC 3339, such as 2026-01-31T12:00:00Z")),
    ),
  }),
  result: v.object({ entries: v.array(launchEntry) }),
  run(services, { limit, before }) {
    const page = before === undefined ? { limit } : { limit, beforeMs: Date.parse(before) };
    return { entries: services.history(page) };
  },
});
