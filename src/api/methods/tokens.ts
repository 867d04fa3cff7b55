/** `tokens`: what lies on the readers (decisions, "Methods whose shape the contract does not show"). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";
import { token } from "../schemas.ts";

export const tokens = method({
  name: "tokens",
  right: "change",
  docs: "The tokens that lie on readers now, and the last one that came.",
  params: noParams,
  result: v.object({ active: v.array(token), last: v.nullable(token) }),
  run(services) {
    const { active, last } = services.tokens();
    return { active, last: last ?? null };
  },
});
