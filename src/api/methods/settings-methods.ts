/** Settings and play-time limits: `settings`, `settings.update`, `playtime`, `playtime.limits.update`. */
import * as v from "valibot";
import { ServiceError } from "../../core/errors.ts";
import type { ValueOf } from "../../core/shapes.ts";
import { settingFacts } from "../device-schemas.ts";
import { method, requireRight } from "../method.ts";
import { allSettings, playTimeLimits, playTimeState, rootFolders } from "../schemas.ts";

const settingsUpdate = v.object({
  ...v.partial(v.object(allSettings)).entries,
  systems: v.optional(v.partial(rootFolders)),
});

/**
 * Settings that require the right `own`. Each names files or devices, controls the log, limits the acts of members, or
 * can make the screen useless.
 */
const localSettings: ReadonlySet<string> = new Set([
  ...["reader", "rootFolder", "consoleLogging", "debug"],
  ...["quietFrom", "quietUntil", "quietVolumeMax", "timeZone"],
  ...["televisionVolumeMax", "usbVolumeMax", "jackVolumeMax", "bluetoothVolumeMax"],
  ...["televisionOverscan", "televisionRotation"],
]);

/** Settings of later clients that do not exist on this device. */
const missingSettings: ReadonlySet<string> = new Set([
  ...["runZapScript", "audioVolume", "readersConnect", "systemDefaults", "errorReporting", "encryption"],
  ...["launchGuardTimeout", "launchGuardDelay", "launchGuardRequireConfirm"],
  ...["profilesRequireForLaunch", "profilesSwapData", "updateChannel", "updateCheck", "updateInstall"],
  ...["backupRemoteEnabled", "backupRemoteSchedule", "backupRemoteBaseUrl", "playtimeSyncEnabled"],
]);

export const settingsMethods = [
  method({
    name: "settings",
    right: "change",
    docs: "The settings that the API offers. Some have several names, because clients differ: `reader` and `readers`; `rootFolder` and `rootFolders`; `audioFeedback` and `audioScanFeedback`; `detectReaders` and `readersAutoDetect`; `insertModeBlocklist` and `readersScanIgnoreSystems`; `insertModeExitDelay` and `readersScanExitDelay`; `debug` and `debugLogging`. `readersScanMode` is `hold` if `insertMode` is true, and `tap` otherwise. Readers and folders are those of the config file, without detected ones and defaults.",
    result: v.object({ ...allSettings, systems: rootFolders }),
    run(services) {
      const { rootFolder, ...rest } = services.settings.read();
      return {
        ...rest,
        readers: rest.reader,
        audioScanFeedback: rest.audioFeedback,
        readersAutoDetect: rest.detectReaders,
        readersScanMode: rest.insertMode ? ("hold" as const) : ("tap" as const),
        readersScanIgnoreSystems: rest.insertModeBlocklist,
        readersScanExitDelay: rest.insertModeExitDelay,
        debugLogging: rest.debug,
        systems: { rootFolder, rootFolders: rootFolder },
      };
    },
  }),
  method({
    name: "settings.describe",
    right: "change",
    docs: "Every setting for people, in the order of the config file: its place there (`key`), what it does (`docs`), its default as the file states it, and the kind of control that fits it. A setting with a `name` also has its `value`, and the right that its change requires: by `settings.update`, or by `playtime.limits.update` for a `key` of `playtime` and for `volumeMax`. A name with a point is a member: `systems.rootFolder`. The other settings can be changed in the file only, and their values are not shown.",
    result: v.object({ settings: v.array(settingFacts) }),
    run({ settings, playTime }) {
      const { limits } = playTime();
      const values = new Map<string, ValueOf<typeof settingFacts>["value"]>(
        Object.entries({ ...settings.read(), ...limits }),
      );
      const described = settings.describe().map(({ api = "", ...facts }) => {
        const value = values.get(api);
        if (value === undefined) return facts;
        const right = localSettings.has(api) || Object.hasOwn(limits, api) ? "own" : "change";
        const name = api === "rootFolder" ? "systems.rootFolder" : api;
        return { ...facts, name, value, right } as const;
      });
      return { settings: described };
    },
  }),
  method({
    name: "settings.update",
    right: "change",
    docs: `Changes the given settings, at once and in the config file. The rest of the file stays as it is, with its comments. A setting can be given by any of its names, or by several with one value. \`reader\`, \`readers\`, \`systems\`, \`consoleLogging\`, \`debug\` and \`debugLogging\` name files, devices or traces, and require the right \`own\`, as \`quietFrom\`, \`quietUntil\`, \`quietVolumeMax\`, \`timeZone\`, \`televisionVolumeMax\`, \`usbVolumeMax\`, \`jackVolumeMax\` and \`bluetoothVolumeMax\` do, which are limits; \`televisionOverscan\` and \`televisionRotation\` require it, because they can make the screen useless. Settings that open the device to others can be changed in the file only. Unknown settings are ignored and logged. Settings of later clients that this device does not have are refused, and nothing changes: ${[...missingSettings].map((name) => `\`${name}\``).join(", ")}.`,
    changes: (params) =>
      Object.entries(params)
        .flatMap(([name, value]) => (value === undefined || isUnknown(name) ? [] : [name]))
        .join(" "),
    // Unknown settings are kept in the result, because the service logs them.
    params: v.looseObject(settingsUpdate.entries),
    errors: ["failed"],
    async run(services, given, caller) {
      const unknown = Object.keys(given).filter(isUnknown);
      for (const name of unknown) refuseElsewhere(name);
      const { readers, audioScanFeedback, readersAutoDetect, debugLogging, ...known } = v.parse(
        settingsUpdate,
        given,
      );
      const { readersScanMode, readersScanIgnoreSystems, readersScanExitDelay, ...others } = known;
      const { systems = {}, ...settings } = others;
      const { reader, insertMode, insertModeBlocklist, insertModeExitDelay, consoleLogging, debug } =
        settings;
      const { quietFrom, quietUntil, quietVolumeMax, timeZone } = settings;
      const { televisionVolumeMax, usbVolumeMax, jackVolumeMax, bluetoothVolumeMax } = settings;
      const quiet = { quietFrom, quietUntil, quietVolumeMax, timeZone };
      const limits = { ...quiet, televisionVolumeMax, usbVolumeMax, jackVolumeMax, bluetoothVolumeMax };
      const { televisionOverscan, televisionRotation } = settings;
      const screen = { televisionOverscan, televisionRotation };
      const local = {
        reader,
        readers,
        ...systems,
        consoleLogging,
        debug,
        debugLogging,
        ...limits,
        ...screen,
      };
      for (const [name, value] of Object.entries(local))
        if (value !== undefined) requireRight(`settings.update of ${name}`, "own", caller);
      const scanMode = readersScanMode === undefined ? undefined : readersScanMode === "hold";
      const changes = {
        ...settings,
        reader: oneOf("", { reader, readers }),
        rootFolder: oneOf("systems.", systems),
        audioFeedback: oneOf("", { audioFeedback: settings.audioFeedback, audioScanFeedback }),
        detectReaders: oneOf("", { detectReaders: settings.detectReaders, readersAutoDetect }),
        insertMode: oneOf("", { insertMode, readersScanMode: scanMode }),
        insertModeBlocklist: oneOf("", { insertModeBlocklist, readersScanIgnoreSystems }),
        insertModeExitDelay: oneOf("", { insertModeExitDelay, readersScanExitDelay }),
        debug: oneOf("", { debug, debugLogging }),
      };
      await services.settings.update(changes, unknown).catch((error) => {
        throw insertModeBlocklist === undefined ? inLaterWords(error) : error;
      });
    },
  }),
  method({
    name: "playtime",
    right: "change",
    docs: "The play time of today and of this session, and the time that is left. `enabled` is true if there is a time limit that counts; 0 minutes are no limit, and without `limitsEnabled` none counts. `volumeMax` is the highest volume that cards and programs may set, in percent. `clockBelieved` is false while the clock of the device cannot be right: until it is set, no new day begins.",
    result: playTimeState,
    run: (services) => services.playTime(),
  }),
  method({
    name: "playtime.limits.update",
    right: "own",
    docs: "Changes the given limits, at once and in the config file. Time limits are in minutes, and 0 means none; `limitsEnabled` false suspends them. `volumeMax` is in percent, and 100 means none; a player that is louder is turned down if it has a volume of its own (mpv, RetroArch).",
    params: v.object({
      ...v.partial(v.object(playTimeLimits)).entries,
      enabled: v.optional(v.never("its name here is limitsEnabled")),
    }),
    changes: (limits) => Object.keys(limits).join(" "),
    errors: ["failed"],
    run: (services, { enabled: _, ...limits }) => services.settings.update(limits),
  }),
] as const;

/**
 * The same error, in the words of the caller: the list of ignored systems has two names, and the error uses the one in
 * the config.
 */
function inLaterWords(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== "invalid-params") return error;
  const message = error.message.replace(/^insertModeBlocklist\b/, "readersScanIgnoreSystems");
  return new ServiceError("invalid-params", message, {
    cause: error,
    ...(error.data !== undefined && { data: error.data }),
  });
}

/** Throws `invalid-params` for the name of a setting that `settings.update` cannot change. */
function refuseElsewhere(name: string): void {
  const why = missingSettings.has(name)
    ? "this device has no such setting"
    : Object.hasOwn(playTimeLimits, name)
      ? "playtime.limits.update changes it"
      : Object.hasOwn(rootFolders.entries, name)
        ? "it is a member of systems"
        : undefined;
  if (why !== undefined) throw new ServiceError("invalid-params", `${name}: ${why}`);
}

function isUnknown(name: string): boolean {
  return !Object.hasOwn(settingsUpdate.entries, name);
}

/** The value of a setting that has several names. Throws `invalid-params` if two values differ. */
function oneOf<T>(prefix: string, names: Readonly<Record<string, T | undefined>>): T | undefined {
  const [one, ...others] = Object.values(names).filter((value) => value !== undefined);
  if (others.every((other) => Bun.deepEquals(one, other))) return one;
  const spelt = Object.keys(names).map((name) => `${prefix}${name}`);
  throw new ServiceError("invalid-params", `${spelt.join(" and ")} are one setting: give one of them`);
}
