import { afterEach, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { overridesOf } from "../../../src/config/overrides.ts";
import { createSettings } from "../../../src/config/settings.ts";
import { exitCodes, StartError } from "../../../src/core/errors.ts";
import { faultLine } from "../../../src/core/faults.ts";
import { createLog } from "../../../src/core/log.ts";
import { within } from "../../helpers/processes.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** The settings of a file with this text, in this environment. */
async function open(text: string, environment: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-overrides-"));
  folders.push(folder);
  const path = join(folder, "config.toml");
  await writeFile(path, text);
  const lines: string[] = [];
  const log = createLog({ debug: false, write: (line) => lines.push(line) });
  const overrides = overridesOf(environment);
  const settings = await createSettings({ path, dataFolder: folder, mustExist: true, log, overrides });
  return { settings, path, lines };
}

test("the variable takes the place of what the file says, and the log says so", async () => {
  for (const text of ["", '[api]\nanonymous = "change"\n']) {
    const { settings, lines } = await open(text, { TAPDECK_ANONYMOUS: "none" });
    expect(settings.current().api).toMatchObject({ anonymous: "none", port: 7497 });
    expect(lines.join("\n")).toContain("TAPDECK_ANONYMOUS takes the place of api.anonymous anonymous=none");
    await settings.close();
  }
});

test("without the variable, or with an empty one, the file counts, and then the default", async () => {
  for (const environment of [{}, { TAPDECK_ANONYMOUS: "" }]) {
    const stated = await open('[api]\nanonymous = "look"\n', environment);
    expect(stated.settings.current().api.anonymous).toBe("look");
    const silent = await open("", environment);
    expect(silent.settings.current().api.anonymous).toBe("play");
    expect(silent.lines).toEqual([]);
    for (const { settings } of [stated, silent]) await settings.close();
  }
});

test("a change of another setting, over the API or by hand, leaves the variable in force and the file's own value alone", async () => {
  const { settings, path } = await open('[api]\nanonymous = "change"\n', { TAPDECK_ANONYMOUS: "look" });
  await settings.update({ audioFeedback: false });
  expect(settings.current()).toMatchObject({ api: { anonymous: "look" }, audio: { feedback: false } });
  expect(await readFile(path, "utf8")).toContain('anonymous = "change"');
  const edited = Promise.withResolvers<void>();
  using _listening = settings.onChange(() => edited.resolve());
  await writeFile(path, '[api]\nanonymous = "play"\nallowed_hosts = ["deck.example"]\n');
  await within("change of the settings", edited.promise, { seen: settings.current });
  expect(settings.current().api).toMatchObject({ anonymous: "look", allowedHosts: ["deck.example"] });
  await settings.close();
});

test("a folder for saves counts where the file states none", async () => {
  const environment = { TAPDECK_SAVES: "/data/saves" };
  const silent = await open("[retroarch]\nresume = false\n", environment);
  expect(silent.settings.current().retroarch).toEqual({ resume: false, saves: "/data/saves" });
  const stated = await open('[retroarch]\nsaves = "/mine"\n', environment);
  expect(stated.settings.current().retroarch).toEqual({ resume: true, saves: "/mine" });
  const none = await open("", { TAPDECK_SAVES: "" });
  expect(none.settings.current().retroarch).toEqual({ resume: true });
  for (const { settings } of [silent, stated, none]) await settings.close();
  expect(() => overridesOf({ TAPDECK_SAVES: "saves" })).toThrow(
    "in the environment, TAPDECK_SAVES must be a full path",
  );
});

test("the folders of USB sticks are a list of paths", async () => {
  const { settings, lines } = await open('[systems]\nremovable_folders = ["/mnt"]\n', {
    TAPDECK_REMOVABLE: "/media/usb:/run/media/alex",
  });
  expect(settings.current().systems.removableFolders).toEqual(["/media/usb", "/run/media/alex"]);
  expect(lines.join("\n")).toContain("TAPDECK_REMOVABLE takes the place of systems.removable_folders");
  await settings.close();
  expect(() => overridesOf({ TAPDECK_REMOVABLE: "usb" })).toThrow("TAPDECK_REMOVABLE");
});

test("a value that the setting does not take ends the start with a sentence", () => {
  for (const value of ["own", "None", " none", "x".repeat(10_000)]) {
    let error: unknown;
    try {
      overridesOf({ TAPDECK_ANONYMOUS: value });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({
      exitCode: exitCodes.config,
      message: expect.stringContaining("in the environment, TAPDECK_ANONYMOUS must be"),
    });
  }
});

test("the words of a fleet override the file, each word all of its settings, and the file keeps its own values", async () => {
  const { settings, path, lines } = await open(
    '[cards]\nurl = "https://own.example/x"\n[mqtt]\nuser = "deck"\n',
    {
      TAPDECK_ANONYMOUS: "look",
      TAPDECK_METRICS: "yes",
      TAPDECK_SITE: "hall",
      TAPDECK_MQTT_URL: "mqtts://broker.example",
      TAPDECK_HAWKBIT_URL: "https://hawkbit.example",
      TAPDECK_UPDATE_URL: "https://updates.example/index.json",
      TAPDECK_TOKEN_FILE: "/run/tapdeck-fleet/token_file",
      TAPDECK_CARDS_URL: "https://cards.example/all",
      TAPDECK_CARDS_KEY: "5a".repeat(32),
      TAPDECK_CA_FILE: "/run/tapdeck-fleet/ca_file",
      TAPDECK_CERTIFICATE_FILE: "/run/tapdeck-fleet/certificate_file",
      TAPDECK_KEY_FILE: "/run/tapdeck-fleet/key_file",
    },
  );
  expect(settings.current()).toMatchObject({
    api: { anonymous: "look", metrics: true },
    device: { site: "hall" },
    mqtt: {
      url: "mqtts://broker.example",
      user: "deck",
      ca: "/run/tapdeck-fleet/ca_file",
      certificate: "/run/tapdeck-fleet/certificate_file",
      key: "/run/tapdeck-fleet/key_file",
    },
    cards: { url: "https://cards.example/all", key: "5a".repeat(32), caFile: "/run/tapdeck-fleet/ca_file" },
    update: { url: "https://updates.example/index.json" },
    fleet: {
      hawkbitUrl: "https://hawkbit.example",
      tokenFile: "/run/tapdeck-fleet/token_file",
      certificateFile: "/run/tapdeck-fleet/certificate_file",
      keyFile: "/run/tapdeck-fleet/key_file",
      caFile: "/run/tapdeck-fleet/ca_file",
    },
  });
  expect(settings.faults()).toEqual([]);
  expect(lines.join("\n")).toContain("settings are those of tapdeck.conf");
  await settings.update({ audioFeedback: false });
  expect(settings.current().device.site).toBe("hall");
  expect(await readFile(path, "utf8")).toContain('url = "https://own.example/x"');
  await settings.close();
});

test("an invalid word of a fleet is left out, the others count, and the fault is reported", async () => {
  const environment = { TAPDECK_SITE: "hall", TAPDECK_CARDS_URL: "https://cards.example:99999/all" };
  const { settings, lines } = await open("", environment);
  expect(settings.current()).toMatchObject({ device: { site: "hall" }, cards: { url: "" } });
  expect(faultLine(settings.faults())).toMatch(
    /^in the environment or tapdeck\.conf, cards_url must be an address/,
  );
  expect(lines.join("\n")).toContain("cards_url must be an address");
  await settings.reload();
  await settings.close();
});

test("a time zone of tapdeck.conf counts where the file states none, and a wrong one is a fault", async () => {
  const environment = { TAPDECK_TIME_ZONE: "Europe/Berlin" };
  const silent = await open("", environment);
  expect(silent.settings.current().device.timeZone).toBe("Europe/Berlin");
  const stated = await open('[device]\ntime_zone = "Asia/Tokyo"\n', environment);
  expect(stated.settings.current().device.timeZone).toBe("Asia/Tokyo");
  expect(overridesOf({ TAPDECK_TIME_ZONE: "Mars/Base" })).toMatchObject({
    faults: [{ code: "override-invalid", why: expect.stringContaining("time_zone must be a time zone") }],
  });
});

test("a screen that was turned by mistake is as tapdeck.conf says, and a wrong line of it is a fault", async () => {
  const turned = "[television]\nrotation = 180\noverscan = 10\n";
  const { settings, path } = await open(turned, { TAPDECK_ROTATION: "0", TAPDECK_OVERSCAN: "3" });
  expect(settings.current().television).toMatchObject({ rotation: 0, overscan: 3 });
  await settings.update({ televisionRotation: 90 });
  expect(settings.current().television.rotation).toBe(0);
  expect(await readFile(path, "utf8")).toContain("rotation = 90");
  await settings.close();
  for (const wrong of ["45", "-90", "0x5a", "right", "90.0"])
    expect(overridesOf({ TAPDECK_ROTATION: wrong }).faults).toMatchObject([
      { why: expect.stringContaining("rotation must be one of 0, 90, 180, 270") },
    ]);
  expect(overridesOf({ TAPDECK_OVERSCAN: "11" }).faults).toMatchObject([
    { why: expect.stringContaining("overscan must be a whole number from 0 to 10") },
  ]);
});

test("until a change over the API was in the file, it was in force in spite of tapdeck.conf", async () => {
  const environment = { TAPDECK_ROTATION: "0", TAPDECK_TIME_ZONE: "Europe/Berlin" };
  const { settings } = await open('[device]\ntime_zone = "Asia/Tokyo"\n', environment);
  const rotations = [settings.current().television.rotation];
  const zones = [settings.current().device.timeZone];
  using _listening = settings.onChange((now) => {
    rotations.push(now.television.rotation);
    zones.push(now.device.timeZone);
  });
  await settings.update({ televisionRotation: 90, timeZone: "", audioFeedback: false });
  expect([...new Set(rotations)]).toEqual([0]);
  expect([...new Set(zones)]).toEqual(["Asia/Tokyo", "Europe/Berlin"]);
  await settings.close();
});
