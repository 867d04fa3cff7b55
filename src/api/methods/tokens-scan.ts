/** `tokens.scan`: a virtual token that passes the whole way of a real one (decisions, "Methods ..."). */
import * as v from "valibot";
import { scanMsMax } from "../../core/limits.ts";
import { method, requesterOf } from "../method.ts";
import { nothing, saysSomething, tokenFields, toToken } from "../schemas.ts";

const durationMsDefault = 500;

export const tokensScan = method({
  name: "tokens.scan",
  right: "change",
  launches: true,
  docs: "Lays a virtual token on a reader for `duration` milliseconds: `tokens.added`, its launch, and `tokens.removed` follow. `readerId` names a simulated reader, whose bytes then run through the real driver.",
  params: v.pipe(
    v.object({
      ...tokenFields,
      duration: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(scanMsMax))),
      readerId: v.optional(v.pipe(v.string(), v.maxLength(128))),
    }),
    saysSomething(),
  ),
  shorthand: "text",
  result: nothing,
  errors: ["not-found", "busy"],
  run(services, { duration = durationMsDefault, readerId, ...params }, caller) {
    services.scan(toToken(params), duration, readerId, requesterOf(caller));
    return null;
  },
});
