/** Tokens on the readers, virtual ones, and the launch history: `tokens`, `tokens.scan`, `tokens.history`. */
import * as v from "valibot";
import { historyPageMax, scanMsMax, scriptBytesMax } from "../../core/limits.ts";
import { launchEntry, token } from "../../core/shapes.ts";
import { method, requesterOf } from "../method.ts";
import { hasContent, isoTime, tokenFields, toToken, upTo } from "../schemas.ts";

const durationMsDefault = 500;

const limitDefault = 100;

export const tokenMethods = [
  method({
    name: "tokens",
    right: "change",
    docs: "The tokens that are on readers now, and the last one that arrived.",
    result: v.object({ active: v.array(token), last: v.nullable(token) }),
    run(services) {
      const { active, last } = services.tokens();
      return { active, last: last ?? null };
    },
  }),
  method({
    name: "tokens.scan",
    right: "change",
    launches: true,
    docs: "Lays a virtual token on a reader for `duration` milliseconds: `tokens.added`, its launch, and `tokens.removed` follow. `readerId` names a simulated reader, whose bytes then run through the real driver.",
    params: v.pipe(
      v.object({
        ...tokenFields,
        duration: v.optional(upTo(scanMsMax)),
        readerId: v.optional(v.pipe(v.string(), v.maxLength(128))),
      }),
      hasContent(),
    ),
    shorthand: "text",
    errors: ["not-found", "busy"],
    run: (services, { duration = durationMsDefault, readerId, ...params }, caller) =>
      services.scan(toToken(params), duration, readerId, requesterOf(caller)),
  }),
  method({
    name: "tokens.history",
    right: "change",
    docs: "Recent launches, newest first; `before` pages back, and `uid` leaves only those of one card. A page of long texts has fewer than `limit` entries, so only an empty page is the last one.",
    params: v.object({
      limit: v.optional(upTo(historyPageMax), limitDefault),
      before: v.optional(isoTime),
      uid: v.optional(v.pipe(v.string(), v.maxLength(scriptBytesMax))),
    }),
    result: v.object({ entries: v.array(launchEntry) }),
    run(services, { limit, before, uid = "" }) {
      const page = before === undefined ? { limit, uid } : { limit, uid, beforeMs: Date.parse(before) };
      return { entries: services.history(page) };
    },
  }),
] as const;
