/** `playtime` and its limits: how long may be played yet. */
import * as v from "valibot";
import { playTimeMinutesMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { count, nothing } from "../schemas.ts";

const minutes = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(playTimeMinutesMax));
const account = { usedMs: count, remainingMs: v.exactOptional(count) };
const limits = { dailyMinutes: minutes, sessionMinutes: minutes, sessionResetMinutes: minutes };

export const playtime = method({
  name: "playtime",
  access: "anyone",
  docs: "How long was played today and in this session, and how long may be played yet. `enabled` tells whether any limit is set; minutes of 0 are none. `clockBelieved` is false while the clock of the device cannot be right: until it is set, no new day begins.",
  params: noParams,
  result: v.object({
    enabled: v.boolean(),
    limits: v.object({ ...limits, warningMinutes: v.array(minutes) }),
    day: v.object({ date: v.string(), ...account }),
    session: v.object(account),
    clockBelieved: v.boolean(),
  }),
  run: (services) => services.playTime(),
});

export const playtimeLimitsUpdate = method({
  name: "playtime.limits.update",
  access: "device",
  docs: "Changes the limits given, in minutes, at once and in the config file; 0 means none.",
  params: v.object(v.partial(v.object(limits)).entries),
  result: nothing,
  errors: ["failed"],
  async run(services, { dailyMinutes, sessionMinutes, sessionResetMinutes }) {
    await services.settings.update({ dailyMinutes, sessionMinutes, sessionResetMinutes });
    return null;
  },
});
