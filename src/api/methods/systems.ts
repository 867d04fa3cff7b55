/** `systems` and `launchers`: the systems that have media, and the players. */
import * as v from "valibot";
import { playerKinds } from "../../core/playback.ts";
import { allows } from "../../core/rights.ts";
import { method, noParams } from "../method.ts";
import { system } from "../schemas.ts";

export const systems = method({
  name: "systems",
  right: "look",
  docs: "All systems that have media in the index.",
  params: noParams,
  result: v.object({ systems: v.array(system) }),
  run: (services) => ({ systems: services.media.systems() }),
});

export const launchers = method({
  name: "launchers",
  right: "look",
  docs: "The players of the config file and the built-in ones: what each plays, how it is spoken with, and whether its program is here. No systems or no extensions means any. `reason` is for callers with the right `change`: it may name a file.",
  params: noParams,
  result: v.object({
    launchers: v.array(
      v.object({
        id: v.string(),
        name: v.string(),
        kind: v.picklist(playerKinds),
        systems: v.array(v.string()),
        extensions: v.array(v.string()),
        available: v.boolean(),
        reason: v.exactOptional(v.string()),
      }),
    ),
  }),
  run(services, _params, caller) {
    const isShown = allows(caller.grant(), "change");
    const launchers = services.launchers();
    return { launchers: isShown ? launchers : launchers.map(({ reason: _reason, ...launcher }) => launcher) };
  },
});
