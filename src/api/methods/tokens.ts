/** `tokens`: what lies on the readers (decisions, "Methods whose shape the contract does not show"). */
import { Type } from "typebox";
import { method, noParams } from "../method.ts";
import { token } from "../schemas.ts";

export const tokens = method({
  name: "tokens",
  access: "anyone",
  docs: "The tokens that lie on readers now, and the last one that came.",
  params: noParams,
  result: Type.Object({ active: Type.Array(token), last: Type.Union([token, Type.Null()]) }),
  run(services) {
    const { active, last } = services.tokens();
    return { active: [...active], last: last ?? null };
  },
});
