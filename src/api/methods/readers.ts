/** `readers`: the readers that there are (decisions, "Objects"). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";
import { reader } from "../schemas.ts";

export const readers = method({
  name: "readers",
  access: "anyone",
  docs: "The readers that are connected, and those of the config file that are not.",
  params: noParams,
  result: v.object({ readers: v.array(reader) }),
  run: (services) => ({
    readers: services.readers().map((one) => ({ ...one, capabilities: [...one.capabilities] })),
  }),
});
