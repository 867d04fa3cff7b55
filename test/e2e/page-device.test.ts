/** The page's screen of the device in real Chromium: a paired phone reads and changes the compiled service, and its owner on the device. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { goTo, goToPlace, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port, startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { look, openPage, region, unnamed, violations } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { imageCommand } from "../helpers/stand-in-image.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(`${noReaders}[systems]\nroot_folders = ["/nowhere/media"]\n`);
let phone: TestBrowser;
let screen: TestBrowser;
beforeAll(async () => {
  if (!canMakeNetworks) return;
  phone = await startChromium({}, device.network.onNeighbour);
  screen = await startChromium({}, device.network.onDevice);
}, 120_000);
afterAll(async () => {
  await phone?.[Symbol.asyncDispose]();
  await screen?.[Symbol.asyncDispose]();
});
const settings = () => device.service.client.call("settings");

remoteTest(
  "the page shows faults with advice, disks and networks, and changes settings by controls of their kind",
  async () => {
    await using visit = await openPage(device, phone, "Settings");
    const { page, faults } = visit;
    await goTo(page, "Device");
    const health = region(page, "State of the device");
    await health.getByText("no media are at /nowhere/media").waitFor();
    await health.getByText("Plug the drive in, or correct the folders of media in the settings.").waitFor();
    await look(page, "device");
    await goToPlace(page, "about");
    const about = region(page, "About");
    await about
      .getByText(/^[\d.]+ [GT]B of [\d.]+ [GT]B free · /)
      .first()
      .waitFor();
    await page.getByText("For experts").click();
    await page.getByText("script.allow_execute").waitFor();
    await look(page, "device-about");
    await goToPlace(page, "network");
    await region(page, "Network").getByText(device.network.deviceAddress).waitFor();

    await goToPlace(page, "readers");
    await look(page, "device-readers");
    const card = region(page, "Settings");
    await card.getByRole("switch", { name: "Hold mode" }).check();
    await eventually(async () => expect((await settings()).insertMode).toBe(true));
    await card.getByRole("combobox", { name: "When the card is removed" }).selectOption("Pause");
    await eventually(async () => expect((await settings()).insertModeAction).toBe("pause"));
    const delay = card.getByRole("spinbutton", { name: "Seconds until removal counts" });
    await delay.fill("2.5");
    await delay.press("Enter");
    await eventually(async () => expect((await settings()).insertModeExitDelay).toBe(2.5));
    await delay.fill("-1");
    await delay.press("Enter");
    await page.getByText("Type a number from 0 to 86400.").waitFor();
    expect(await delay.inputValue()).toBe("2.5");
    const systems = card.getByRole("textbox", { name: "Add to Systems without hold mode" });
    await systems.fill("SNSE");
    await systems.press("Enter");
    await page.getByText("there is no system SNSE; did you mean SNES?").waitFor();
    await systems.fill("SNES");
    await systems.press("Enter");
    await card.getByRole("button", { name: "Remove SNES" }).waitFor();
    expect(await readFile(`${device.place.folder}/config.toml`, "utf8")).toContain(
      'insert_mode_blocklist = ["SNES"]',
    );
    await card.getByRole("button", { name: "Remove SNES" }).click();
    await eventually(async () => expect((await settings()).insertModeBlocklist).toEqual([]));

    // A phone reads settings that name files, and may not change them.
    expect(await unnamed(page)).toEqual([]);
    await goToPlace(page, "media");
    const media = region(page, "Media");
    await media.getByText("/nowhere/media", { exact: true }).waitFor();
    expect(await media.getByRole("textbox", { name: "Add to Folders of media" }).count()).toBe(0);
    await goToPlace(page, "log");
    expect(await card.getByRole("switch", { name: "Every detail in the log" }).isDisabled()).toBe(true);
    expect(await page.locator('main a[href$="/update"]').count()).toBe(0);
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the page follows the log, filters it, and stores it as a file",
  async () => {
    await using visit = await openPage(device, phone, "Log");
    const { page, faults } = visit;
    await goToPlace(page, "log");
    const log = region(page, "Log");
    await log.getByText(/service: listening/).waitFor();
    await device.service.client.callAny("settings.update", { liveLine: 1 });
    await log.getByText("config: unknown settings were ignored names=liveLine").waitFor();
    await look(page, "log");
    await log.getByRole("searchbox", { name: "Lines with this text" }).fill("LISTENING");
    await log.getByText(/service: listening/).waitFor();
    await log.getByText("names=liveLine").waitFor({ state: "detached" });
    await device.service.client.callAny("settings.update", { hiddenLine: 1 });
    const downloading = page.waitForEvent("download");
    await log.getByRole("button", { name: "Download" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("tapdeck.log");
    expect(await readFile(await download.path(), "utf8")).toMatch(/^\S+Z info service: listening .*\n$/);
    await log.getByRole("searchbox").fill("");
    await log.getByRole("combobox", { name: "Lines" }).selectOption("Errors");
    await log.getByText(/service: listening/).waitFor({ state: "detached" });
    expect(await log.getByText("hiddenLine").count()).toBe(0);
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "on the device itself the page also changes settings that name files, and has no buttons that this system refuses",
  async () => {
    const page = await screen.browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/#device/log`);
    const card = region(page, "Settings");
    await card.getByRole("switch", { name: "Every detail in the log" }).check();
    await eventually(async () => expect((await settings()).debug).toBe(true));
    await goToPlace(page, "media");
    const folders = region(page, "Media").getByRole("textbox", { name: "Add to Folders of media" });
    await folders.fill("/tmp/more media, here");
    await folders.press("Enter");
    await eventually(async () =>
      expect((await settings()).systems.rootFolder).toEqual(["/nowhere/media", "/tmp/more media, here"]),
    );
    await goToPlace(page, "update");
    await page.getByText("This device cannot be restarted or updated from here.").waitFor();
    expect(await region(page, "Restart and update").getByRole("button").count()).toBe(0);
    await goToPlace(page, "phones");
    await region(page, "Phones").waitFor();
    await look(page, "device-phones");
    await page.close();
  },
  60_000,
);

/** A service that was started as on the image, the words that its root script gets, and the page on the device itself. */
async function onImage(made: AsyncDisposableStack, place: string, before = async (_config: string) => {}) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-machine-"));
  made.defer(() => rm(folder, { recursive: true }));
  const pipe = join(folder, "requests");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  // A shell does the work of the root script of the image.
  const script = made.use(
    Bun.spawn(["sh", "-c", 'echo ready; exec cat <>"$1"', "sh", pipe], { stdin: "ignore", stdout: "pipe" }),
  );
  const words = script.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const word = async () => (await words.read()).value;
  expect(await word()).toBe("ready\n");
  const image = made.use(await startDevice(noReaders, imageCommand(folder)));
  await before(join(image.place.folder, "config.toml"));
  const { browser } = made.use(await startChromium({}, image.network.onDevice));
  const page = await browser.newPage({ locale: "en-US", timezoneId: "America/Los_Angeles" });
  await page.goto(`http://127.0.0.1:${port}/#device/${place}`);
  return { folder, word, page, client: image.service.client };
}

remoteTest(
  "on the image the page updates, restarts and switches off, each after a confirmation",
  async () => {
    await using made = new AsyncDisposableStack();
    const { folder, word, page } = await onImage(made, "update");
    const power = region(page, "Restart and update");

    const update = async (url: string) => {
      await power.getByRole("button", { name: "Update" }).click();
      const dialog = page.getByRole("dialog", { name: "Update" });
      await dialog.getByRole("textbox", { name: "Address of the update" }).fill(url);
      await look(page, "device-update");
      for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
      await dialog.getByRole("button", { name: "Update" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await update(`http://127.0.0.1:${port}/nothing.update`);
    await power.getByText("the server answered 404").waitFor();
    // Any file can be the bundle here.
    await update(`http://127.0.0.1:${port}/`);
    expect(await word()).toBe("update\n");
    await writeFile(
      join(folder, "update"),
      '{"step":"checking","percent":100}\n{"step":"writing","percent":40}\n',
    );
    await power.getByText("Writing the update …").waitFor();
    expect(await power.getByRole("progressbar").getAttribute("value")).toBe("40");
    await look(page, "device-updating");
    const why = "this file cannot be used: it is no update of Tapdeck";
    await writeFile(join(folder, "update"), `${JSON.stringify({ failed: why })}\n{"exit":1}\n`);
    await power.getByText(why).waitFor();

    for (const [name, asked] of [
      ["Restart the device", "restart\n"],
      ["Switch off", "shutdown\n"],
    ] as const) {
      await power.getByRole("button", { name }).click();
      const dialog = page.getByRole("dialog", { name });
      for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
      await look(page, `device-${asked.trim()}`);
      await dialog.getByRole("button", { name }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await word()).toBe(asked);
    }
  },
  90_000,
);

remoteTest(
  "on the image an owner chooses where sound plays, and limits only the places that are connected",
  async () => {
    await using made = new AsyncDisposableStack();
    const { folder, word, page, client } = await onImage(made, "sound");
    const place = page.getByRole("combobox", { name: "Sound plays on" });
    await page.getByLabel("Volume at the start").waitFor();
    expect(await place.count()).toBe(0);
    const reports = (line: string) => Bun.write(join(folder, "sound"), `${line}\n`);
    await reports("wanted=auto plays=television there=jack television");
    await page.reload();
    await page.getByText("Now: Television.").waitFor();
    const limits = page.getByLabel(/^Highest volume on/);
    expect(await limits.count()).toBe(2);
    await place.selectOption("Jack or HAT");
    expect(await word()).toBe("sound jack\n");
    await page.getByLabel("Highest volume on the jack").fill("40");
    await page.getByLabel("Highest volume on the jack").blur();
    await eventually(async () =>
      expect(await client.call("settings")).toMatchObject({ soundPlace: "jack", jackVolumeMax: 40 }),
    );
    await reports("wanted=jack plays=jack there=jack television");
    await eventually(async () => expect((await client.call("device")).sound?.plays).toBe("jack"));
    await page.reload();
    await page.getByText("Now: Jack or HAT.").waitFor();
    await look(page, "sound-place");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
  },
);

remoteTest(
  "a card whose request failed kept the page from the others, and it connected again and again",
  async () => {
    await using made = new AsyncDisposableStack();
    const { page } = await onImage(made, "about", async (config) => {
      using database = new Database(config.replace("config.toml", "tapdeck.db"));
      database.run("DROP TABLE favourites");
    });
    await region(page, "About").waitFor();
    await page.goto(`http://127.0.0.1:${port}/#now`);
    await page.reload();
    await page.getByText("internal error").first().waitFor();
    await page.locator("#line[data-state=on]").waitFor();
    await goTo(page, "Device");
    await region(page, "State of the device").waitFor();
  },
);

remoteTest(
  "settings that could not take the browser's time zone were not shown, and the page connected again and again",
  async () => {
    await using made = new AsyncDisposableStack();
    const { page, client } = await onImage(made, "sound", (config) => writeFile(config, "[audio\n"));
    await page.getByLabel("Quiet hours from").waitFor();
    await page.locator("#line[data-state=on]").waitFor();
    expect((await client.call("settings")).timeZone).toBe("");
  },
);

remoteTest(
  "on the image an owner sets quiet hours, and the device gets the time zone of the browser unless it has one",
  async () => {
    await using made = new AsyncDisposableStack();
    const { page, client } = await onImage(made, "sound");
    const settings = () => client.call("settings");
    await page.getByLabel("Quiet hours from").fill("20:30");
    await page.getByLabel("Quiet hours until").fill("07:00");
    await page.getByLabel("Highest volume in quiet hours").fill("25");
    await page.getByLabel("Volume at the start").fill("60");
    await page.getByLabel("Volume at the start").blur();
    const wanted = { quietFrom: "20:30", quietUntil: "07:00", quietVolumeMax: 25, volumeStart: 60 };
    const zone = "America/Los_Angeles";
    await eventually(async () => expect(await settings()).toMatchObject({ ...wanted, timeZone: zone }));
    await look(page, "quiet-hours");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await page.goto(`http://127.0.0.1:${port}/#device/time`);
    const field = page.getByLabel("Time zone");
    await field.waitFor();
    expect(await field.inputValue()).toBe(zone);
    await look(page, "time-zone");
    await field.fill("Europe/Berlin");
    await field.blur();
    await eventually(async () => expect((await settings()).timeZone).toBe("Europe/Berlin"));
    await page.reload();
    await field.waitFor();
    expect(await field.inputValue()).toBe("Europe/Berlin");
    await field.fill("Mars/Base");
    await field.blur();
    await page.getByText('timeZone must be a time zone such as "Europe/Berlin"').waitFor();
    expect((await settings()).timeZone).toBe("Europe/Berlin");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
  },
  90_000,
);

remoteTest(
  "an owner turns the picture of the television, and keeps its edges free",
  async () => {
    await using made = new AsyncDisposableStack();
    const { page, client } = await onImage(made, "sound");
    const settings = () => client.call("settings");
    const turn = page.getByLabel("Turn the picture");
    const edge = page.getByLabel("Free edge of the television");
    await turn.selectOption({ label: "90° to the left" });
    await eventually(async () => expect((await settings()).televisionRotation).toBe(270));
    await edge.fill("5");
    await edge.blur();
    await eventually(async () => expect((await settings()).televisionOverscan).toBe(5));
    await look(page, "television");
    await page.reload();
    await turn.waitFor();
    expect([await turn.inputValue(), await edge.inputValue()]).toEqual(["270", "5"]);
    await edge.fill("11");
    await edge.blur();
    await page.getByText("Type a number from 0 to 10.").waitFor();
    expect((await settings()).televisionOverscan).toBe(5);
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
  },
  90_000,
);

remoteTest(
  "on the image the page adds, prefers and forgets networks of the Wi-Fi, and names what is wrong",
  async () => {
    await using made = new AsyncDisposableStack();
    const { folder, word, page, client } = await onImage(made, "network");
    const hex = (text: string) => Buffer.from(text).toString("hex");
    const report = async (name: string, text: string) => {
      await writeFile(join(folder, `.${name}`), text);
      await rename(join(folder, `.${name}`), join(folder, name));
    };
    const wifi = page.getByRole("region", { name: "Wi-Fi", exact: true });
    await region(page, "Network").first().waitFor();
    expect(await wifi.count()).toBe(0);
    await report("wifi-known", `${hex("Home")}\n${hex("Grandma")}\n`);
    await report(
      "wifi-networks",
      `bssid\n02:00:00:00:01:00\t2412\t-40\t[WPA2-PSK-CCMP][ESS]\tHome\n02:00:00:00:01:01\t2412\t-50\t[ESS]\tCafé\n`,
    );
    await report("wifi", `state=joined\nfault=wrong-password\nnetwork=${hex("Neighbour")}\n`);
    await eventually(async () =>
      expect(await client.call("wifi")).toMatchObject({ fault: "wrong-password" }),
    );
    await page.reload();
    await wifi.getByText("Connected. The password of Neighbour is wrong.").waitFor();
    await look(page, "device-wifi");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await wifi.getByLabel("Network in reach").selectOption("Home");
    await wifi.getByLabel("Password").fill("correct horse");
    await wifi.getByRole("button", { name: "Connect" }).click();
    expect(await word()).toBe(`wifi join ${hex("Home")} ${hex("correct horse")}\n`);
    // The answer comes after the word.
    await eventually(async () => expect(await wifi.getByLabel("Password").inputValue()).toBe(""));
    await wifi.getByLabel("Network in reach").selectOption("Café");
    expect(await wifi.getByLabel("Password").isVisible()).toBe(false);
    await wifi.getByRole("button", { name: "Connect" }).click();
    expect(await word()).toBe(`wifi join ${hex("Café")} -\n`);
    await wifi.getByRole("button", { name: "Prefer: Grandma" }).click();
    expect(await word()).toBe(`wifi prefer ${hex("Grandma")}\n`);
    await wifi.getByRole("button", { name: "Forget: Home" }).click();
    const dialog = page.getByRole("dialog", { name: "Forget Home?" });
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await dialog.getByRole("button", { name: "Forget" }).click();
    expect(await word()).toBe(`wifi forget ${hex("Home")}\n`);
    await wifi.getByRole("button", { name: "Search" }).click();
    expect(await word()).toBe("wifi scan\n");
  },
  60_000,
);

remoteTest(
  "on the image the page sets the password of the share for PCs, shows its places, and switches it off",
  async () => {
    await using made = new AsyncDisposableStack();
    const { folder, word, page } = await onImage(made, "media");
    const report = async (text: string) => {
      await writeFile(join(folder, ".share"), text);
      await rename(join(folder, ".share"), join(folder, "share"));
    };
    const card = region(page, "Copy media from a PC");
    await region(page, "Media").first().waitFor();
    expect(await card.count()).toBe(0);
    await report("state=off\n");
    await page.reload();
    await card.getByText("PCs cannot copy files to this device until you set a password.").waitFor();
    expect(await card.getByRole("button", { name: "Switch off" }).count()).toBe(0);
    await look(page, "device-share");
    const password = card.getByLabel("Password, 8 to 63 characters");
    await password.fill("short");
    await card.getByRole("button", { name: "Switch on" }).click();
    await page.getByText("the password of the share has 8 to 63 characters").waitFor();
    await password.fill("correct horse");
    await card.getByRole("button", { name: "Switch on" }).click();
    expect(await word()).toBe("share set CFC43211BA8DC470832267827CAC1407\n");
    await card.getByText("The share starts …").waitFor();
    expect(await password.inputValue()).toBe("");
    await report("state=starting\n");
    await report("state=on\n");
    await card.getByText(`Windows: \\\\${hostname()}\\media`, { exact: true }).waitFor();
    await card.getByText(`smb://${hostname()}.local/media`).waitFor();
    await look(page, "device-share-on");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await card.getByRole("button", { name: "Switch off" }).click();
    const dialog = page.getByRole("dialog", { name: "Switch the share off?" });
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await dialog.getByRole("button", { name: "Switch off" }).click();
    expect(await word()).toBe("share remove\n");
    await report("state=off\nfault=failed\n");
    await card
      .getByText("The share is off, because its server does not run: set the password again.")
      .waitFor();
  },
  60_000,
);

remoteTest(
  "on the image the page searches for Bluetooth devices, pairs and forgets them, and shows the code for a keyboard",
  async () => {
    await using made = new AsyncDisposableStack();
    const { folder, word, page } = await onImage(made, "network");
    const report = async (name: string, text: string) => {
      await writeFile(join(folder, `.${name}`), text);
      await rename(join(folder, `.${name}`), join(folder, name));
    };
    const line = (address: string, words: string, name: string) =>
      `${address} ${words} ${Buffer.from(name).toString("hex")}\n`;
    const pad = "00:1B:DC:00:00:02";
    const keys = "00:1B:DC:00:00:03";
    const card = page.getByRole("region", { name: "Bluetooth", exact: true });
    await region(page, "Network").first().waitFor();
    expect(await card.count()).toBe(0);
    await report("bluetooth", "state=off\n");
    await page.reload();
    await card.getByText("Bluetooth is off until a device is searched for.").waitFor();
    await card.getByRole("button", { name: "Search" }).click();
    expect(await word()).toBe("bluetooth search\n");
    await report("bluetooth", "state=searching\n");
    await card
      .getByText("Searching … Hold the pairing button of the controller, the keyboard or the headphones.")
      .waitFor();
    // The list grows while the search continues.
    const found = line(pad, "controller found away", "Pad <1>") + line(keys, "keyboard found away", "Keys");
    await report("bluetooth-devices", found);
    await card.getByRole("button", { name: "Pair: Keys" }).click();
    expect(await word()).toBe(`bluetooth pair ${keys}\n`);
    await report("bluetooth", `state=pairing\nact=pair\naddress=${keys}\ncode=012345\n`);
    await card.getByText("Type 012345 on Keys, and then Enter.").waitFor();
    await look(page, "device-bluetooth");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await report("bluetooth", `state=ready\nact=pair\naddress=${keys}\nfault=refused\n`);
    await card.getByText("Keys refused: hold its pairing button, and pair it again.").waitFor();
    await card.getByRole("button", { name: "Pair: Pad <1>" }).click();
    expect(await word()).toBe(`bluetooth pair ${pad}\n`);
    await report("bluetooth", `state=pairing\nact=pair\naddress=${pad}\n`);
    await card.getByText("Pairing Pad <1> …").waitFor();
    await report("bluetooth-devices", line(pad, "controller known connected", "Pad <1>"));
    await report("bluetooth", `state=ready\nact=pair\naddress=${pad}\n`);
    await card.getByText("controller, connected").waitFor();
    await card.getByText("Known devices connect by themselves when they are switched on.").waitFor();
    await look(page, "device-bluetooth-known");
    await card.getByRole("button", { name: "Forget: Pad <1>" }).click();
    const dialog = page.getByRole("dialog", { name: "Forget Pad <1>?" });
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await dialog.getByRole("button", { name: "Forget" }).click();
    expect(await word()).toBe(`bluetooth forget ${pad}\n`);
    await report("bluetooth-devices", "");
    await card.getByRole("button", { name: "Forget: Pad <1>" }).waitFor({ state: "detached" });
    await report("bluetooth", "state=off\n");
    await card.getByText("Bluetooth is off until a device is searched for.").waitFor();
  },
  60_000,
);
