/** `launch`: as if a token with this content had been scanned (contract, method detail 1). */
import { method } from "../method.ts";
import { nothing, tokenParams, toToken } from "../schemas.ts";

const facts = {
  access: "anyone",
  launches: true,
  params: tokenParams,
  shorthand: "text",
  result: nothing,
} as const;

export const launch = method({
  ...facts,
  name: "launch",
  docs: "Queues a launch as if a token with this content had been scanned. A string stands for its text. Returns before the script has ended; `launch.finished` tells how it did.",
  run(services, params) {
    services.launch(toToken(params));
    return null;
  },
});

/** `run`: as `launch`, by its newer name. */
export const run = method({
  ...facts,
  name: "run",
  docs: "As `launch`.",
  run(services, params) {
    services.launch(toToken(params));
    return null;
  },
});
