/** Launching and stopping: `launch`, `run`, `stop`, `confirm`. */
import { allows } from "../../core/rights.ts";
import { type MethodCaller, method, noParams, requesterOf } from "../method.ts";
import { nothing, tokenParams, toToken } from "../schemas.ts";

const facts = {
  right: "play",
  launches: true,
  params: tokenParams,
  shorthand: "text",
  result: nothing,
} as const;

export const launch = method({
  ...facts,
  name: "launch",
  docs: "Queues a launch as if a token with this content had been scanned. A string stands for its text. Returns before the script has ended; `launch.finished` has its result. For a caller without the right `change` the script is not trusted: commands that reach outside the device, or that concern cards, are refused.",
  run(services, params, caller) {
    services.launch(toToken(params), sourceOf(caller));
    return null;
  },
});

/** `run`: as `launch`, by its newer name. */
export const run = method({
  ...facts,
  name: "run",
  docs: "As `launch`.",
  run(services, params, caller) {
    services.launch(toToken(params), sourceOf(caller));
    return null;
  },
});

function sourceOf(caller: MethodCaller) {
  return { trusted: allows(caller.grant(), "change"), requester: requesterOf(caller) };
}

export const stop = method({
  name: "stop",
  right: "play",
  docs: "Stops what plays and empties the launch queue. The answer does not say whether anything was stopped.",
  params: noParams,
  result: nothing,
  run(services) {
    services.stop();
    return null;
  },
});

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
