/** `health`: whether the service is well, and what is not (decisions, "Methods ..."). */
import { Type } from "typebox";
import { method, noParams } from "../method.ts";

export const health = method({
  name: "health",
  access: "anyone",
  docs: "Whether readers, database and disk are well, with a sentence where they are not; `uptime` in seconds.",
  params: noParams,
  result: Type.Object({
    status: Type.Union([Type.Literal("ok"), Type.Literal("degraded")]),
    readers: Type.Object({ connected: Type.Integer(), configured: Type.Integer() }),
    uptime: Type.Integer(),
    checks: Type.Array(
      Type.Object({
        name: Type.Union([Type.Literal("readers"), Type.Literal("database"), Type.Literal("disk")]),
        ok: Type.Boolean(),
        reason: Type.Optional(Type.String()),
      }),
    ),
  }),
  run(services) {
    const state = services.health();
    return { ...state, checks: [...state.checks] };
  },
});
