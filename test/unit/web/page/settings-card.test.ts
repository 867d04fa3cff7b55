/** The method by which the page changes each setting, and the place of the page that has it. */
import { expect, test } from "bun:test";
import { playTimeLimits } from "../../../../src/api/schemas.ts";
import { describeSettings } from "../../../../src/config/settings-table.ts";
import { isLimit, settingsPlace } from "../../../../src/web/page/settings-card.ts";

test("a new limit of play time was sent to settings.update, which does not know it", () => {
  const named = describeSettings().flatMap(({ key, api }) => (api === undefined ? [] : [{ key, name: api }]));
  const limits = named.filter(isLimit).map(({ name }) => name);
  expect(limits.toSorted()).toEqual(Object.keys(playTimeLimits).toSorted());
});

test("each setting that the API changes is at one place of the page, but for limits and the broker", () => {
  const named = describeSettings().flatMap(({ key, api }) => (api === undefined ? [] : [{ key, name: api }]));
  const others = named.filter(({ key }) => !key.startsWith("mqtt."));
  const at = Object.groupBy(others, (setting) => settingsPlace(setting) ?? "limits");
  const names = Object.fromEntries(
    Object.entries(at).map(([place, found]) => [place, found.map(({ name }) => name).toSorted()]),
  );
  expect(names).toEqual({
    limits: ["dailyMinutes", "limitsEnabled", "sessionMinutes", "sessionResetMinutes", "warningMinutes"],
    log: ["consoleLogging", "debug"],
    media: ["playbackResume", "rootFolder"],
    readers: [
      ...["detectReaders", "insertMode", "insertModeAction", "insertModeBlocklist", "insertModeExitDelay"],
      ...["launchGuardEnabled", "reader"],
    ],
    quiet: ["quietFrom", "quietUntil", "quietVolumeMax"],
    sound: [
      ...["audioFeedback", "bluetoothVolumeMax", "jackVolumeMax", "soundPlace", "televisionVolumeMax"],
      ...["usbVolumeMax", "volumeMax", "volumeStart"],
    ],
    television: [
      ...["televisionLanguage", "televisionOverscan", "televisionRotation", "televisionStandbyMinutes"],
      "televisionWake",
    ],
    time: ["timeZone"],
  });
});
