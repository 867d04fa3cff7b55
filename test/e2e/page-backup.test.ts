/** The page's card of backups in real Chromium: one device's backup is downloaded there, and restored on another device. */
import { expect, test } from "bun:test";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goToPlace, startChromium } from "../helpers/chromium.ts";
import { type Device, port, startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, faultsOf, look, region, unnamed } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const passphrase = "correct horse battery";

/** The page of the device's own browser. */
async function open({ network }: Device) {
  await using stack = new AsyncDisposableStack();
  const chromium = stack.use(await startChromium({}, network.onDevice));
  const page = await chromium.browser.newPage({ viewport: { width: 390, height: 844 } });
  const faults = faultsOf(page);
  await page.goto(`http://127.0.0.1:${port}/#device/backup`);
  await connected(page);
  const whole = stack.move();
  return { page, faults, card: region(page, "Backup"), [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

remoteTest(
  "a backup is downloaded on one device, and restored on another after a look at its content",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-page-backup-"));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, "first.tapdeck");
    {
      await using first = await startDevice(`${noReaders}insert_mode = true\n`);
      await first.run("map", "04aabbccdd", "**delay:7");
      await first.service.client.call("clients.new", { name: "Anna" });
      await using visit = await open(first);
      await visit.card.getByLabel("Passphrase (optional)").fill(passphrase);
      const downloading = visit.page.waitForEvent("download");
      await visit.card.getByRole("button", { name: "Download a backup" }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toMatch(/^tapdeck-\d{4}-\d\d-\d\d\.tapdeck$/);
      await copyFile(await download.path(), file);
      expect(await unnamed(visit.page)).toEqual([]);
      await look(visit.page, "backup");
      expect(visit.faults).toEqual([]);
    }

    await using second = await startDevice(noReaders);
    await using visit = await open(second);
    const { page, card } = visit;
    const choose = (path: string) => card.locator("input[type=file]").setInputFiles(path);
    await Bun.write(join(folder, "other"), "a shopping list");
    await choose(join(folder, "other"));
    await page.getByText("this file is no backup of Tapdeck").waitFor();
    await choose(file);
    const dialog = page.getByRole("dialog", { name: "Restore this backup" });
    await dialog.getByText("1, in place of 0").first().waitFor();
    await dialog.getByText("readers.insert_mode").waitFor();
    expect(await unnamed(page)).toEqual([]);
    await look(page, "backup-restore");
    await dialog.getByLabel("Passphrase (optional)").fill("wrong horse battery");
    await dialog.getByRole("button", { name: "Restore this backup" }).click();
    await page.getByText("the passphrase is wrong, and nothing was changed").waitFor();
    await dialog.getByLabel("Passphrase (optional)").fill(passphrase);
    await dialog.getByRole("button", { name: "Restore this backup" }).click();
    await page.getByText("The backup is restored.").waitFor();
    await eventually(async () => {
      const client = await second.connect(AbortSignal.timeout(5000));
      const { mappings } = await client.call("mappings").finally(() => client.close());
      expect(mappings).toMatchObject([{ pattern: "04aabbccdd", override: "**delay:7" }]);
    });
    await connected(page);
    await goToPlace(page, "phones");
    await region(page, "Phones").getByText("Anna").first().waitFor();
  },
  180_000,
);
