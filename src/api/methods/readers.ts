/** `readers`: the readers that there are (decisions, "Objects"). */
import { Type } from "typebox";
import { method, noParams } from "../method.ts";
import { reader } from "../schemas.ts";

export const readers = method({
  name: "readers",
  access: "anyone",
  docs: "The readers that are connected, and those of the config file that are not.",
  params: noParams,
  result: Type.Object({ readers: Type.Array(reader) }),
  run: (services) => ({
    readers: services.readers().map((one) => ({ ...one, capabilities: [...one.capabilities] })),
  }),
});
