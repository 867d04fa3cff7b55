/** `input.keyboard` and `input.gamepad`: a remote control in the hand, by the same macros that cards have. */
import * as v from "valibot";
import { scriptBytesMax } from "../../core/limits.ts";
import { method } from "../method.ts";
import { nothing } from "../schemas.ts";

const macro = v.pipe(v.string(), v.minLength(1), v.maxLength(scriptBytesMax));
const docs =
  "Refused unless the config file says `script.allow_input = true`. Answers once all is up again. What may stand there is written in [SCRIPT.md](SCRIPT.md).";

export const inputKeyboard = method({
  name: "input.keyboard",
  right: "change",
  isLong: true,
  docs: `Types on a virtual keyboard with US layout: \`abc{enter}{ctrl+c}\`. ${docs}`,
  params: v.object({ keys: macro }),
  result: nothing,
  errors: ["busy", "failed", "forbidden"],
  async run(services, { keys }) {
    await services.input("keyboard", keys);
    return null;
  },
});

export const inputGamepad = method({
  name: "input.gamepad",
  right: "change",
  isLong: true,
  docs: `Presses buttons of a virtual gamepad: \`^^vv<><>BA{start}\`. ${docs}`,
  params: v.object({ buttons: macro }),
  result: nothing,
  errors: ["busy", "failed", "forbidden"],
  async run(services, { buttons }) {
    await services.input("gamepad", buttons);
    return null;
  },
});
