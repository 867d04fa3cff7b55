/** The page of a paired owner, on a phone over the sealed connection: all administration of the device is done by clicks. */
import { expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startChromium } from "../helpers/chromium.ts";
import { port, startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, faultsOf, look, openPage, region, unnamed } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);

async function owned() {
  await using made = new AsyncDisposableStack();
  const device = made.use(await startDevice(`${noReaders}connect = ["simulated:"]\n`));
  const phone = made.use(await startChromium({}, device.network.onNeighbour));
  const { page, faults } = await openOwner(device, phone);
  const whole = made.move();
  return { device, phone, page, faults, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

/** The page of a phone that pairs as an owner. */
async function openOwner(
  device: Awaited<ReturnType<typeof startDevice>>,
  phone: Awaited<ReturnType<typeof startChromium>>,
) {
  const context = await phone.browser.newContext({ viewport: { width: 390, height: 844 }, locale: "en-US" });
  const page = await context.newPage();
  const faults = faultsOf(page);
  const { out: link } = await device.run(
    "pair",
    "Mum",
    "--role",
    "owner",
    "--host",
    device.network.deviceAddress,
  );
  await page.goto(`${link}`);
  await connected(page);
  return { page, faults };
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

remoteTest(
  "an owner's phone renames phones, gives them roles, and revokes them with an undo",
  async () => {
    await using made = await owned();
    const { device, phone, page, faults } = made;
    await using visit = await openPage(device, phone, "Ben");
    await page.goto(`http://${device.network.deviceAddress}:${port}/#device/phones`);
    const card = region(page, "Phones");
    await card.getByText("this phone").waitFor();
    expect(await unnamed(page)).toEqual([]);
    await look(page, "owner-device");
    await press(page, "Rename Ben");
    await page.getByLabel("New name").fill("Ben's tablet");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await card.getByLabel("Role of Ben's tablet").selectOption("player");
    await eventually(async () =>
      expect(await device.service.client.call("clients")).toMatchObject({
        clients: [
          { name: "Mum", role: "owner" },
          { name: "Ben's tablet", role: "player" },
        ],
      }),
    );
    await visit.page.getByText("Paired as a player").waitFor({ state: "attached" });
    await press(page, "Revoke Ben's tablet");
    const dialog = page.getByRole("dialog");
    await look(page, "owner-revoke");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await visit.page.getByText("no longer knows this phone").waitFor();
    await press(page, "Undo");
    await card.getByLabel("Role of Ben's tablet").waitFor();
    // The phone connects again by itself.
    await visit.page.getByText("Paired as a player").waitFor({ state: "attached" });
    // The last owner cannot be revoked, because then nobody could make another one.
    await press(page, "Revoke Mum");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText("this is the last owner").first().waitFor();
    await press(page, "Cancel");
    await press(page, "Show a short code");
    await dialog.locator(".code").waitFor();
    await press(page, "Cancel");
    expect(faults).toEqual([]);
  },
  120_000,
);

remoteTest(
  "an owner's phone sets a broker, whose password no page shows again, and reads why it fails",
  async () => {
    await using made = await owned();
    const { device, page, faults } = made;
    await page.goto(`http://${device.network.deviceAddress}:${port}/#device/network`);
    const card = region(page, "MQTT broker");
    await card.getByText("No broker is set.").waitFor();
    // A home needs an address and an account; the rest is for experts.
    const visible = card.locator("input:visible, select:visible");
    const names = await visible.evaluateAll((all) => all.map((one) => one.ariaLabel));
    expect(names).toEqual(["Address", "Account", "Password"]);
    await card.getByText("For experts").click();
    await card.getByText("A player starts and stops media, and is enough for Home Assistant.").waitFor();
    await card.getByLabel("Address").fill("mqtt://127.0.0.1:9");
    await card.getByLabel("Account").fill("deck");
    await card.getByLabel("Password").fill("deck-secret");
    await card.getByLabel("What it may do here").selectOption("member");
    await card.getByRole("button", { name: "Save" }).click();
    await eventually(async () =>
      expect(await device.service.client.call("broker")).toMatchObject({
        url: "mqtt://127.0.0.1:9",
        user: "deck",
        hasPassword: true,
        role: "member",
      }),
    );
    const answer = card.getByText("Nothing answers at 127.0.0.1, port 9. Check the address");
    await answer.waitFor();
    await card.getByRole("button", { name: "Test" }).click();
    await answer.waitFor();
    await page.reload();
    await connected(page);
    await eventually(async () => expect(await card.getByLabel("Account").inputValue()).toBe("deck"));
    expect(await card.getByLabel("Password").inputValue()).toBe("");
    expect(await unnamed(page)).toEqual([]);
    await look(page, "owner-broker");
    expect(await page.content()).not.toContain("deck-secret");
    // Many people type an address without its scheme.
    for (const [typed, url] of [
      ["127.0.0.1:9", "mqtt://127.0.0.1:9"],
      ["127.0.0.1:8883", "mqtts://127.0.0.1:8883"],
    ] as const) {
      await card.getByLabel("Address").fill(typed);
      await card.getByRole("button", { name: "Save" }).click();
      await eventually(async () => expect((await device.service.client.call("broker")).url).toBe(url));
      // The card shows what was saved. A field that is filled at that moment would hold the old text and the new one.
      await eventually(async () => expect(await card.getByLabel("Address").inputValue()).toBe(url));
    }
    await card.getByLabel("Address").fill("http://broker.lan");
    await card.getByRole("button", { name: "Save" }).click();
    await page.getByText("Type the address of the broker, such as 192.168.1.5").first().waitFor();
    // The device refuses an address without TLS together with the authority of an earlier address with TLS. The card
    // leaves the authority out.
    const ca = await readFile(join(device.place.folder, "tls/device.pem"), "utf8");
    await device.service.client.call("broker.update", { url: "mqtts://127.0.0.1:9", ca });
    await page.reload();
    await connected(page);
    await eventually(async () =>
      expect(await card.getByLabel("Address").inputValue()).toBe("mqtts://127.0.0.1:9"),
    );
    await card.getByLabel("Address").fill("127.0.0.1:9");
    await card.getByRole("button", { name: "Save" }).click();
    await eventually(async () =>
      expect(await device.service.client.call("broker")).toMatchObject({
        url: "mqtt://127.0.0.1:9",
        hasCa: false,
      }),
    );
    expect(faults).toEqual([]);
  },
  120_000,
);

remoteTest(
  "an owner's phone makes a backup, restores it, and changes limits and settings of the device",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-page-owner-"));
    await using made = await owned();
    const { device, page, faults } = made;
    await device.run("map", "04aabbccdd", "**delay:7");
    await page.goto(`http://${device.network.deviceAddress}:${port}/#device/backup`);
    const card = region(page, "Backup");
    const downloading = page.waitForEvent("download");
    await press(page, "Download a backup");
    const file = join(folder, "deck.tapdeck");
    await (await downloading).saveAs(file);
    const { mappings } = await device.service.client.call("mappings");
    await device.service.client.call("mappings.delete", { id: mappings[0]?.id ?? 0 });
    await card.locator("input[type=file]").setInputFiles(file);
    const dialog = page.getByRole("dialog", { name: "Restore this backup" });
    await dialog.getByText("1, in place of 0").first().waitFor();
    await look(page, "owner-restore");
    await dialog.getByRole("button", { name: "Restore this backup" }).click();
    await page.getByText("The backup is restored.").waitFor();
    await eventually(async () => {
      const client = await device.connect(AbortSignal.timeout(5000));
      const now = await client.call("mappings").finally(() => client.close());
      expect(now.mappings).toMatchObject([{ pattern: "04aabbccdd" }]);
    });
    await connected(page);
    await page.goto(`http://${device.network.deviceAddress}:${port}/#device/time`);
    const daily = page.getByLabel("Minutes per day");
    await daily.fill("45");
    await region(page, "Limits").getByRole("button", { name: "Save" }).click();
    await eventually(async () => {
      const client = await device.connect(AbortSignal.timeout(5000));
      const { limits } = await client.call("playtime").finally(() => client.close());
      expect(limits.dailyMinutes).toBe(45);
    });
    expect(faults.filter((fault) => !fault.includes("ERR_"))).toEqual([]);
    await rm(folder, { recursive: true });
  },
  120_000,
);
