/** `playtime` and the limits for a family: how long may be played yet, and how loud. */
import * as v from "valibot";
import { playTimeMinutesMax } from "../../core/limits.ts";
import { method, noParams } from "../method.ts";
import { count, nothing } from "../schemas.ts";

const minutes = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(playTimeMinutesMax));
const account = { usedMs: count, remainingMs: v.exactOptional(count) };
const percent = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100));
const limits = {
  dailyMinutes: minutes,
  sessionMinutes: minutes,
  sessionResetMinutes: minutes,
  volumeMax: percent,
};

export const playtime = method({
  name: "playtime",
  right: "change",
  docs: "How long was played today and in this session, and how long may be played yet. `enabled` tells whether any limit of time is set; minutes of 0 are none. `volumeMax` is the loudest that cards and programs may make it, in percent. `clockBelieved` is false while the clock of the device cannot be right: until it is set, no new day begins.",
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
  right: "own",
  docs: "Changes the limits given, at once and in the config file: those of time in minutes, where 0 means none, and `volumeMax` in percent, where 100 means none; what plays louder is turned down where its player can (mpv).",
  params: v.object(v.partial(v.object(limits)).entries),
  result: nothing,
  errors: ["failed"],
  async run(services, { dailyMinutes, sessionMinutes, sessionResetMinutes, volumeMax }) {
    await services.settings.update({ dailyMinutes, sessionMinutes, sessionResetMinutes, volumeMax });
    return null;
  },
});
