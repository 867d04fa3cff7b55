/** `media.active`: what plays (decisions, "Methods ..."). */
import { Type } from "typebox";
import { method, noParams } from "../method.ts";
import { activeMedia } from "../schemas.ts";

export const mediaActive = method({
  name: "media.active",
  access: "anyone",
  docs: "The media that plays now, or null.",
  params: noParams,
  result: Type.Union([activeMedia, Type.Null()]),
  run: (services) => services.activeMedia() ?? null,
});
