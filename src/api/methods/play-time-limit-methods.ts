/** Methods of later clients, in the shapes of these clients. The functions are those of other methods. */
import * as v from "valibot";
import { playTimeMinutesMax, playTimeWarningsMax } from "../../core/limits.ts";
import { shortDuration } from "../../core/text.ts";
import { method } from "../method.ts";
import { ruleSchemas } from "../schemas.ts";

/** Minutes of a duration as Go writes it, such as `1h30m0s`; undefined if it is none. */
function minutesIn(duration: string): number | undefined {
  const parts = durationForm.exec(duration)?.slice(1);
  if (parts === undefined) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = parts.map((part = "0") => Number(part));
  return hours * 60 + minutes + seconds / 60;
}

const durationForm = /^(?:0|(?:(\d{1,7})h)?(?:(\d{1,7})m)?(?:(\d{1,7})s)?)$/;

const durationOf = (minutes: number) => shortDuration(minutes * 60);

const wholeMinutes = (least: number) => {
  const rule = v.check<string, string>((text) => {
    const minutes = minutesIn(text) ?? Number.NaN;
    return Number.isInteger(minutes) && minutes >= least && minutes <= playTimeMinutesMax;
  }, `must be a duration of ${least} to ${playTimeMinutesMax} whole minutes, such as 1h30m`);
  ruleSchemas.set(rule, { pattern: durationForm.source });
  return v.pipe(
    v.string(),
    rule,
    v.transform((text) => minutesIn(text) ?? 0),
  );
};

/** An absent `daily` or `session` means that there is no such limit. */
const limits = v.object({
  enabled: v.boolean(),
  daily: v.exactOptional(v.string()),
  session: v.exactOptional(v.string()),
  sessionReset: v.string(),
  warnings: v.array(v.string()),
});

export const playTimeLimitMethods = [
  method({
    name: "settings.playtime.limits",
    right: "change",
    docs: "The limits of `playtime` as later clients read them: durations such as `1h30m0s`. `daily` and `session` are absent without such a limit. `enabled` is `limitsEnabled`.",
    result: limits,
    run(services) {
      const { limitsEnabled, ...minutes } = services.playTime().limits;
      const { dailyMinutes: daily, sessionMinutes: session } = minutes;
      return {
        enabled: limitsEnabled,
        ...(daily === 0 ? {} : { daily: durationOf(daily) }),
        ...(session === 0 ? {} : { session: durationOf(session) }),
        sessionReset: durationOf(minutes.sessionResetMinutes),
        warnings: minutes.warningMinutes.map(durationOf),
      };
    },
  }),
  method({
    name: "settings.playtime.limits.update",
    right: "own",
    docs: "As `playtime.limits.update`, with durations in whole minutes, such as `1h30m`. `0s` means no limit. `retention` is refused, because the device always keeps the play time of 31 days.",
    params: v.object({
      enabled: v.optional(v.boolean()),
      daily: v.optional(wholeMinutes(0)),
      session: v.optional(wholeMinutes(0)),
      sessionReset: v.optional(wholeMinutes(0)),
      warnings: v.optional(v.pipe(v.array(wholeMinutes(1)), v.maxLength(playTimeWarningsMax))),
      retention: v.optional(v.never("this device always keeps the play time of 31 days")),
    }),
    changes: (limits) => Object.keys(limits).join(" "),
    errors: ["failed"],
    run: (services, { enabled, daily, session, sessionReset, warnings }) =>
      services.settings.update({
        limitsEnabled: enabled,
        dailyMinutes: daily,
        sessionMinutes: session,
        sessionResetMinutes: sessionReset,
        warningMinutes: warnings,
      }),
  }),
  method({
    name: "settings.reload",
    right: "change",
    docs: "Reads the config file and the mapping files again. The service also does so after each change. Answers `failed` if the config file has a fault.",
    errors: ["failed"],
    async run(services) {
      await services.mappings.reload();
      await services.settings.reload();
    },
  }),
  method({
    name: "mappings.reload",
    right: "change",
    docs: "Reads the mapping files that changed. The service also does so after each change. A file with a fault is named in the log, and its last valid mappings stay in use.",
    run: (services) => services.mappings.reload(),
  }),
  method({
    name: "launchers.refresh",
    right: "change",
    docs: "Does nothing, because `launchers` looks for the programs at each call.",
    run: () => {},
  }),
] as const;
