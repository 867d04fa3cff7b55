/** `version`: what runs here (contract, Methods). */
import { Type } from "typebox";
import { method, noParams } from "../method.ts";

export const version = method({
  name: "version",
  access: "anyone",
  docs: "The service's version (semver) and platform.",
  params: noParams,
  result: Type.Object({ platform: Type.String(), version: Type.String() }),
  run: ({ platform, version }) => ({ platform, version }),
});
