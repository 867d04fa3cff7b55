/** Buttons that an owner teaches on the page in real Chromium, by presses of a keypad. The service runs from its sources. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { teachingQuietMs } from "../../src/services/buttons.ts";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { connected, faultsOf, look, region, violations } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { canStage } from "../helpers/staged-screen.ts";
import { indexMedia, makePlace, noReaders, type Place, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

/** Makes a folder of input devices with one node, only for the command after it. */
const withInput = `set -eu
mount -t tmpfs none "$1/over"
mkdir "$1/over/upper" "$1/over/work"
mount -t overlay none -o "lowerdir=/dev,upperdir=$1/over/upper,workdir=$1/over/work" /dev
mkdir -p /dev/input
touch /dev/input/event0
shift
exec "$@"`;

async function startWithKeypad(place: Place) {
  const { folder } = place;
  await mkdir(join(folder, "over"));
  expect(Bun.spawnSync(["mkfifo", join(folder, "presses")]).exitCode).toBe(0);
  const service = [process.execPath, join(import.meta.dir, "../programs/keypad-service.ts")];
  return startTapdeck(place, ["unshare", "--mount", "/bin/sh", "-c", withInput, "stage", folder, ...service]);
}

let browser: TestBrowser;
beforeAll(async () => {
  browser = await startChromium({});
}, 120_000);
afterAll(() => browser?.[Symbol.asyncDispose]());

const [volumeUp, enter] = [115, 28];

test.skipIf(!canStage)(
  "an owner teaches a button by a press, and tries, changes and removes it",
  async () => {
    await using place = await makePlace(noReaders + sleeper(".sfc"));
    await place.file("SNES/Star Garden.sfc");
    await using service = await startWithKeypad(place);
    const { client, heard } = service;
    await indexMedia(client);
    const press = (code: number) =>
      appendFile(join(place.folder, "presses"), `${JSON.stringify({ kind: "key", code, steps: 1 })}\n`);
    const page = await browser.browser.newPage({ viewport: { width: 390, height: 844 }, locale: "en-US" });
    const faults = faultsOf(page);
    await page.goto(`http://127.0.0.1:${place.port}/#device/buttons`);
    await connected(page);
    const card = region(page, "Buttons");
    const dialog = page.getByRole("dialog");
    /** Begins a teaching. A press counts once the device's events are read. */
    const teach = async () => {
      const isHeard = () => service.log().split("an input device is heard").length;
      const before = isHeard();
      await card.getByRole("button", { name: "Add a button" }).focus();
      await page.keyboard.press("Enter");
      await dialog.getByText("Press the button or turn the knob now.").waitFor();
      await eventually(() => expect(isHeard()).toBeGreaterThan(before));
    };
    await card.getByText("No button is taught yet.").waitFor();

    await teach();
    await look(page, "buttons-press");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    // Escape ends the teaching on the device as well, and another one may begin.
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByText("No button was pressed.").waitFor();
    await teach();
    await press(volumeUp);
    await press(enter);
    const quiet = Bun.sleep(2 * teachingQuietMs);
    const chooser = page.getByRole("dialog", { name: "What does this button do?" });
    await chooser.getByText("KEY_VOLUMEUP · USB keypad").waitFor();
    await chooser.getByRole("searchbox").fill("star");
    const game = chooser.getByRole("button", { name: /^Let the button start Star Garden/ });
    await game.waitFor();
    await look(page, "buttons-choose");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await game.click();
    const row = card.getByRole("button", { name: /^It starts Star Garden\./ });
    await row.waitFor();
    await look(page, "buttons");
    const config = () => readFile(join(place.folder, "config.toml"), "utf8");
    expect(await config()).toEndWith(
      '\n[[buttons]]\ndevice = "USB keypad"\nkey = "KEY_VOLUMEUP"\nscript = "SNES/Star Garden.sfc"\n',
    );

    // The device tells nobody when a press counts again.
    await quiet;
    await press(volumeUp);
    await heard.next("media.started");
    await card.getByRole("button", { name: "Add a button" }).click();
    await page.getByText("end what plays first").waitFor();
    await client.call("stop");
    await heard.next("media.stopped");

    await row.click();
    await dialog.getByRole("button", { name: "Try" }).click();
    await heard.next("media.started");
    await client.call("stop");
    await heard.next("media.stopped");
    await row.click();
    await dialog.getByRole("button", { name: "Change what it does" }).click();
    await chooser.getByText("An action").click();
    await chooser.getByRole("button", { name: "Louder" }).click();
    const changed = card.getByRole("button", { name: /^Louder/ });
    await changed.click();
    await look(page, "buttons-one");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await dialog.getByRole("button", { name: "Remove" }).click();
    await card.getByText("No button is taught yet.").waitFor();
    expect(await config()).not.toContain("[[buttons]]");
    await page.getByRole("button", { name: "Undo" }).click();
    await changed.waitFor();
    expect(await config()).toContain('script = "**volume:+10"');
    // Only this caller got the press: the log names no key.
    expect(service.log()).not.toMatch(/KEY_VOLUMEUP|KEY_ENTER/);
    expect(faults).toEqual([]);
    await page.close();
  },
  120_000,
);
