/** `version`: what runs here (contract, Methods). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";

export const version = method({
  name: "version",
  right: "look",
  docs: "The service's version (semver) and platform.",
  params: noParams,
  result: v.object({ platform: v.string(), version: v.string() }),
  run: ({ platform, version }) => ({ platform, version }),
});
