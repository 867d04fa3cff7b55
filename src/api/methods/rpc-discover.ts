/** `rpc.discover`: the API's own description (spec.open-rpc.org, "Service Discovery Method"). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";

export const rpcDiscover = method({
  name: "rpc.discover",
  right: "look",
  docs: "This description, as an OpenRPC document.",
  params: noParams,
  result: v.object({
    openrpc: v.string(),
    info: v.looseObject({ title: v.string(), version: v.string() }),
    methods: v.array(v.looseObject({ name: v.string() })),
  }),
  run: async (services) => services.describe(),
});
