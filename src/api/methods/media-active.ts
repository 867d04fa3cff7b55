/** `media.active`: what plays (decisions, "Methods ..."). */
import * as v from "valibot";
import { method, noParams } from "../method.ts";
import { activeMedia } from "../schemas.ts";

export const mediaActive = method({
  name: "media.active",
  access: "anyone",
  docs: "The media that plays now, or null.",
  params: noParams,
  result: v.nullable(activeMedia),
  run: (services) => services.activeMedia() ?? null,
});
