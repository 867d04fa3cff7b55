/** Launching and stopping: `launch`, `run`, `stop`, `sleep`, `confirm`. */
import * as v from "valibot";
import { sleepMinutesMax } from "../../core/limits.ts";
import { allows } from "../../core/rights.ts";
import { time } from "../../core/shapes.ts";
import type { MethodCaller } from "../connection.ts";
import { method, requesterOf } from "../method.ts";
import { tokenParams, toToken } from "../schemas.ts";
import type { Services } from "../services.ts";

const sleepState = v.object({ endsAt: v.exactOptional(time) });
const stateOf = (endsAt: string | undefined) => (endsAt === undefined ? {} : { endsAt });

/** `launch`, and `run`, its newer name. */
const launching = {
  right: "play",
  launches: true,
  params: tokenParams,
  shorthand: "text",
  run(services: Services, params: v.InferOutput<typeof tokenParams>, caller: MethodCaller) {
    const trusted = allows(caller.grant(), "change");
    services.launch(toToken(params), { trusted, requester: requesterOf(caller) });
  },
} as const;

export const launchMethods = [
  method({
    ...launching,
    name: "launch",
    docs: "Queues a launch as if a token with this content had been scanned. A string stands for its text. Returns before the script has ended; `launch.finished` has its result. For a caller without the right `change` the script is not trusted: commands that reach outside the device, or that concern cards, are refused.",
  }),
  method({
    ...launching,
    name: "run",
    docs: "As `launch`.",
  }),
  method({
    name: "stop",
    right: "play",
    docs: "Stops the player and empties the launch queue. The answer does not say whether anything was stopped.",
    run: (services) => services.stop(),
  }),
  method({
    name: "sleep",
    right: "look",
    docs: "The sleep timer, which the command `**sleep` of cards also sets. `endsAt` is when the media stop; it is absent if no timer runs.",
    result: sleepState,
    run: ({ sleepTimer }) => stateOf(sleepTimer.endsAt()),
  }),
  method({
    name: "sleep.update",
    right: "play",
    docs: "Sets the sleep timer, in minutes, and 0 ends it.",
    params: v.object({
      minutes: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(sleepMinutesMax)),
    }),
    result: sleepState,
    run({ sleepTimer }, { minutes }) {
      sleepTimer.set(minutes * 60_000);
      return stateOf(sleepTimer.endsAt());
    },
  }),
  method({
    name: "confirm",
    right: "play",
    docs: "Launches the card that the launch guard holds back, as putting it on once more would.",
    errors: ["not-found", "busy"],
    run: (services) => services.confirm(),
  }),
] as const;
