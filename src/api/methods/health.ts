/** `health`: whether the service is well, and what is not (decisions, "Methods ..."). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";

export const health = method({
  name: "health",
  access: "anyone",
  docs: "Whether readers, database and disk are well, with a sentence where they are not; `uptime` in seconds. On our SD image also `device`, what its start found wrong, and `watchdog`, what it did within the last day.",
  params: noParams,
  result: v.object({
    status: v.picklist(["ok", "degraded"]),
    readers: v.object({
      connected: v.pipe(v.number(), v.integer()),
      configured: v.pipe(v.number(), v.integer()),
    }),
    uptime: v.pipe(v.number(), v.integer()),
    checks: v.array(
      v.object({
        name: v.picklist(["readers", "database", "disk", "settings", "device", "watchdog"]),
        ok: v.boolean(),
        reason: v.exactOptional(v.string()),
      }),
    ),
  }),
  run: (services) => services.health(),
});
