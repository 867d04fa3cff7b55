/** `audit`: pairings, revocations, refusals, remote launches and remote changes. */
import * as v from "valibot";
import { auditPageMax } from "../../core/limits.ts";
import { method } from "../method.ts";

const event = v.picklist([
  "pairing-opened",
  "paired",
  "revoked",
  "expired",
  "refused",
  "launched",
  "changed",
]);
const why = v.picklist([
  "host-or-origin",
  "too-many-requests",
  "too-many-connections",
  "encryption-required",
  "secure-failure",
  "too-many-failures",
  "wrong-pin",
  "wrong-code",
  "wrong-token",
  "launch-not-allowed",
  "forbidden-method",
]);

export const audit = method({
  name: "audit",
  right: "own",
  docs: "The audit log, newest first: pairings, revocations, expired links, refusals, remote launches and remote changes. A change names its `method` and its `object`. Refusals and launches of a kind are counted together: `count` tells how many a line stands for, 1 where it is absent.",
  params: v.object({
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(auditPageMax)), 100),
  }),
  result: v.object({
    entries: v.array(
      v.object({
        time: v.pipe(v.string(), v.isoTimestamp()),
        event,
        client: v.exactOptional(v.string()),
        name: v.exactOptional(v.string()),
        by: v.exactOptional(v.picklist(["secret", "pin", "code"])),
        why: v.exactOptional(why),
        address: v.exactOptional(v.string()),
        method: v.exactOptional(v.string()),
        object: v.exactOptional(v.string()),
        count: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
      }),
    ),
  }),
  run: async (services, { limit }) => ({ entries: await services.audit(limit) }),
});
