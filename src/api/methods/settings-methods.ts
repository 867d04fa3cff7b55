/** Settings and play-time limits: `settings`, `settings.update`, `playtime`, `playtime.limits.update`. */
import * as v from "valibot";
import { ServiceError } from "../../core/errors.ts";
import { method, requireRight } from "../method.ts";
import { playTimeLimits, playTimeState, rootFolders, settingsFields } from "../schemas.ts";

export const settingsMethods = [
  method({
    name: "settings",
    right: "change",
    docs: "The settings that the API offers. `reader` and `readers` have one value, and so do `rootFolder` and `rootFolders`: that of the config file, without detected readers and defaults.",
    result: v.object({ ...settingsFields, systems: rootFolders }),
    run(services) {
      const { reader, rootFolder, ...rest } = services.settings.read();
      return { reader, readers: reader, ...rest, systems: { rootFolder, rootFolders: rootFolder } };
    },
  }),
  method({
    name: "settings.update",
    right: "change",
    docs: "Changes the given settings, at once and in the config file. The rest of the file stays as it is, with its comments. `reader`, `readers`, `systems`, `consoleLogging` and `debug` name files, devices or traces, and require the right `own`. Settings that open the device to others can be changed in the file only.",
    changes: (params) =>
      Object.entries(params)
        .flatMap(([name, value]) => (value === undefined ? [] : [name]))
        .join(" "),
    params: v.object({
      ...v.partial(v.object(settingsFields)).entries,
      systems: v.optional(v.partial(rootFolders)),
    }),
    errors: ["failed"],
    async run(services, { reader, readers, systems = {}, ...rest }, caller) {
      const { consoleLogging, debug } = rest;
      const local = { reader, readers, ...systems, consoleLogging, debug };
      for (const [name, value] of Object.entries(local))
        if (value !== undefined) requireRight(`settings.update of ${name}`, "own", caller);
      await services.settings.update({
        reader: eitherSpelling("", { reader, readers }),
        rootFolder: eitherSpelling("systems.", systems),
        ...rest,
      });
    },
  }),
  method({
    name: "playtime",
    right: "change",
    docs: "The play time of today and of this session, and the time that is left. `enabled` is true if there is a time limit; 0 minutes are no limit. `volumeMax` is the highest volume that cards and programs may set, in percent. `clockBelieved` is false while the clock of the device cannot be right: until it is set, no new day begins.",
    result: playTimeState,
    run: (services) => services.playTime(),
  }),
  method({
    name: "playtime.limits.update",
    right: "own",
    docs: "Changes the given limits, at once and in the config file. Time limits are in minutes, and 0 means none. `volumeMax` is in percent, and 100 means none; a player that is louder is turned down if it has a volume of its own (mpv).",
    params: v.object(v.partial(v.object(playTimeLimits)).entries),
    errors: ["failed"],
    run: (services, limits) => services.settings.update(limits),
  }),
] as const;

/** Two fields have two spellings each, because known clients use either. */
function eitherSpelling(prefix: string, spellings: Readonly<Record<string, readonly string[] | undefined>>) {
  const [one, other = one] = Object.values(spellings).filter((value) => value !== undefined);
  if (Bun.deepEquals(one, other)) return one;
  const names = Object.keys(spellings).map((name) => `${prefix}${name}`);
  throw new ServiceError("invalid-params", `${names.join(" and ")} are one setting: give one of them`);
}
