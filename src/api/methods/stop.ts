/** `stop`: ends what plays (contract, Methods). */
import { method, noParams } from "../method.ts";
import { nothing } from "../schemas.ts";

export const stop = method({
  name: "stop",
  right: "play",
  docs: "Stops what plays and empties the launch queue. Does not tell whether anything was stopped.",
  params: noParams,
  result: nothing,
  run(services) {
    services.stop();
    return null;
  },
});
