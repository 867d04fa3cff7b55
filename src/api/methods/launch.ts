/** `launch`: as if a token with this content had been scanned. */
import { allows } from "../../core/rights.ts";
import { type Caller, method, requesterOf } from "../method.ts";
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
  docs: "Queues a launch as if a token with this content had been scanned. A string stands for its text. Returns before the script has ended; `launch.finished` tells how it did. For a caller without the right `change` the script is not trusted: commands that reach outside the device, or that concern cards, are refused.",
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

function sourceOf(caller: Caller) {
  return { trusted: allows(caller.grant(), "change"), requester: requesterOf(caller) };
}
