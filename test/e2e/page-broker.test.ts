/** The card of the MQTT broker in real Chromium, with Debian's mosquitto: after a press of Save it shows the broker's answer. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { Page } from "playwright-core";
import { startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { freePort } from "../helpers/free-port.ts";
import { makeBroker, mosquitto, type TestBroker } from "../helpers/mosquitto.ts";
import { connected, faultsOf, look, region, violations } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, startTapdeck } from "../helpers/tapdeck.ts";

const brokerTest = test.skipIf(!existsSync(mosquitto));

let browser: TestBrowser;
let broker: TestBroker;
beforeAll(async () => {
  browser = await startChromium({});
  if (!existsSync(mosquitto)) return;
  broker = await makeBroker();
  await broker.start();
}, 120_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
});

/** Forwards connections to the broker. After `hold`, its answers wait until `release`. */
function slowPath(port: number) {
  let held: (() => void)[] | undefined;
  const server = Bun.listen<{ to?: Bun.Socket }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(near) {
        near.data = {};
        near.pause();
        void Bun.connect({
          hostname: "127.0.0.1",
          port,
          socket: {
            open(far) {
              near.data.to = far;
              near.resume();
            },
            data(_, bytes) {
              const copy = Buffer.from(bytes);
              if (held === undefined) near.write(copy);
              else held.push(() => near.write(copy));
            },
            close: () => void near.end(),
          },
        });
      },
      data: ({ data }, bytes) => void data.to?.write(bytes),
      close: ({ data }) => void data.to?.end(),
    },
  });
  return {
    port: server.port,
    hold() {
      held = [];
    },
    heldCount: () => held?.length ?? 0,
    release() {
      for (const send of held ?? []) send();
      held = undefined;
    },
    [Symbol.dispose]: () => server.stop(true),
  };
}

async function openNetwork(port: number, locale: string) {
  const context = await browser.browser.newContext({ viewport: { width: 390, height: 844 }, locale });
  const page = await context.newPage();
  const faults = faultsOf(page);
  await page.goto(`http://127.0.0.1:${port}/#device/network`);
  await connected(page);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

interface Account {
  readonly user?: string;
  readonly password?: string;
}

async function save(page: Page, address: string, { user = "", password = "" }: Account = {}) {
  const card = region(page, "MQTT broker");
  await card.getByLabel("Address").fill(address);
  await card.getByLabel("Account").fill(user);
  await card.getByLabel("Password").fill(password);
  await card.getByRole("button", { name: "Save" }).click();
}

brokerTest(
  "the card of the broker said that it was saved before the broker had answered, and not what it answered",
  async () => {
    await using place = await makePlace(noReaders);
    await using service = await startTapdeck(place);
    await using visit = await openNetwork(place.port, "en-US");
    const { page, faults } = visit;
    using path = slowPath(broker.plainPort);
    const card = region(page, "MQTT broker");
    const state = card.getByRole("status");
    const said = () => page.locator("#notes").textContent();
    await card.getByText("No broker is set.").waitFor();
    path.hold();
    await save(page, `127.0.0.1:${path.port}`, { user: "deck", password: "deck-secret" });
    // The broker has the settings and has answered, but the device does not have the answer yet.
    await eventually(async () => expect(path.heldCount()).toBeGreaterThan(0));
    expect((await service.client.call("broker")).user).toBe("deck");
    await eventually(async () => expect(await state.textContent()).toBe("Connecting …"));
    expect(await said()).toBe("");
    path.release();
    await card.getByText("Connected.", { exact: true }).waitFor();
    await eventually(async () => expect(await said()).toBe("Saved."));
    await look(page, "broker-connected");
    await eventually(async () => expect((await service.client.call("broker")).connected).toBe(true));

    const nothing = freePort();
    for (const [address, account, answer] of [
      [
        `127.0.0.1:${broker.plainPort}`,
        { user: "deck", password: "wrong" },
        // mosquitto has one code for a wrong password and an account that it does not know.
        "The broker refuses this device. Check the account, its password, and the access list of the broker.",
      ],
      [
        `127.0.0.1:${broker.plainPort}`,
        {},
        "The broker refuses this device. Check the account, its password, and the access list of the broker.",
      ],
      [
        `127.0.0.1:${nothing}`,
        {},
        `Nothing answers at 127.0.0.1, port ${nothing}. Check the address, and whether the broker runs.`,
      ],
      [
        `mqtts://127.0.0.1:${broker.plainPort}`,
        {},
        "The broker ends the connection without an answer. If its port has no TLS, let the address begin with mqtt://.",
      ],
      [
        `mqtt://127.0.0.1:${broker.tlsPort}`,
        {},
        "The broker ends the connection without an answer. Its port is usually 1883, or 8883 if the address begins with mqtts://.",
      ],
    ] as const) {
      await save(page, address, account);
      await page.getByText("Saved, but not connected.").first().waitFor();
      expect([address, await state.textContent()]).toEqual([address, answer]);
      expect(await card.locator(".bad").count()).toBe(1);
      await page.evaluate(() => document.getElementById("notes")?.replaceChildren());
    }
    await look(page, "broker-refused");
    for (const scheme of ["light", "dark"] as const) expect(await violations(page, scheme)).toEqual([]);
    await save(page, "");
    await card.getByText("No broker is set.").waitFor();
    expect(faults).toEqual([]);
  },
  120_000,
);

brokerTest.each([
  [
    "de-DE",
    "Gespeichert, aber nicht verbunden.",
    "Der Broker lehnt dieses Gerät ab. Prüfen Sie das Konto, sein Passwort und die Zugriffsliste des Brokers.",
  ],
  [
    "fr-FR",
    "Enregistré, mais pas connecté.",
    "Le broker refuse cet appareil. Vérifiez le compte, son mot de passe et la liste d’accès du broker.",
  ],
  [
    "es-ES",
    "Guardado, pero sin conexión.",
    "El broker rechaza este dispositivo. Compruebe la cuenta, su contraseña y la lista de acceso del broker.",
  ],
  [
    "pt-BR",
    "Salvo, mas sem conexão.",
    "O broker recusa este aparelho. Verifique a conta, a senha e a lista de acesso do broker.",
  ],
  [
    "ja-JP",
    "保存しましたが、接続できません。",
    "ブローカーがこの機器を拒否しました。アカウント、パスワード、ブローカーのアクセスリストを確認してください。",
  ],
])(
  "the answer of the broker is in the words of the page: %s",
  async (locale, saved, answer) => {
    await using place = await makePlace(noReaders);
    await using _service = await startTapdeck(place);
    await using visit = await openNetwork(place.port, locale);
    const { page, faults } = visit;
    const card = page.locator("section", { has: page.locator("input[type=url]") });
    await card.locator("input[type=url]").fill(`127.0.0.1:${broker.plainPort}`);
    await card.locator("input:not([type])").fill("deck");
    await card.locator("input[type=password]").fill("wrong");
    await card.locator("button.main").click();
    await page.getByText(saved).waitFor();
    expect(await card.getByRole("status").textContent()).toBe(answer);
    expect(faults).toEqual([]);
  },
  60_000,
);
