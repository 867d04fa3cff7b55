/** `rights`: what the caller may do, so that a page shows nothing that would fail. */
import * as v from "valibot";
import { rights as allRights, rightsOf } from "../../core/rights.ts";
import { method, noParams } from "../method.ts";

export const rights = method({
  name: "rights",
  right: "look",
  docs: "The rights that the caller has now, the lowest first: `look`, `play`, `change`, `own`. Each method and notification names the one that it requires (`x-right`).",
  params: noParams,
  result: v.object({ rights: v.array(v.picklist(allRights)) }),
  run: (_services, _params, caller) => ({ rights: rightsOf(caller.grant()) }),
});
