/** `confirm`: launches what the launch guard holds back. */
import { method, noParams } from "../method.ts";
import { nothing } from "../schemas.ts";

export const confirm = method({
  name: "confirm",
  right: "play",
  docs: "Launches the card that the launch guard holds back, as putting it on once more would.",
  params: noParams,
  result: nothing,
  errors: ["not-found", "busy"],
  run(services) {
    services.confirm();
    return null;
  },
});
