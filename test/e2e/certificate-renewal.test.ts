/** A deck gets its renewed certificate from Debian's mosquitto, with the card, the tools and the configuration of the folder `fleet`. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inFolder, inside, runBroker, shorten, startBroker } from "../helpers/fleet-copy.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { makePlace, noReaders, type Running, startTapdeck } from "../helpers/tapdeck.ts";

const renewalTest = test.skipIf(!existsSync(mosquitto) || Bun.which("openssl") === null);

const checkOf = async ({ client }: Running, name: string) =>
  (await client.call("health")).checks.find((check) => check.name === name);
const connected = (service: Running, is = true) =>
  eventually(async () => expect((await service.client.call("health")).mqtt?.connected).toBe(is), 120_000);
const daysOf = async ({ client }: Running, of: string) => {
  const { certificates = [] } = await client.call("health");
  const end = Date.parse(certificates.find((one) => one.of === of)?.ends ?? "");
  return Math.round((end - Date.now()) / (24 * 60 * 60_000));
};

renewalTest(
  "a deck says for 30 days that its certificate ends, takes the renewed one from the broker, and is let in with it alone",
  () =>
    inFolder(async (folder) => {
      const { broker: first, home, plainPort, tlsPort } = await startBroker(folder);
      let broker = first;
      const restart = async () => {
        broker.kill();
        await broker.exited;
        broker = await runBroker(folder, plainPort);
      };
      const send = (path: string) =>
        printed(
          inside(folder, `mosquitto_pub ${home.join(" ")} -q 1 -r -t tapdeck/hall-1/certificate -s <${path}`),
        );
      const deckCard = join(folder, "out/cards/hall-1/client");
      await shorten(folder, "out/cards/hall-1/client", "hall-1", 20);
      await copyFile(`${deckCard}.pem`, join(folder, "card/client.pem"));
      const file = (name: string) => join(folder, "card", name);
      await using place = await makePlace(`metrics = true
${noReaders}[mqtt]
url = "mqtts://127.0.0.1:${tlsPort}"
ca = "${file("ca.pem")}"
certificate = "${file("client.pem")}"
key = "${file("client.key")}"
id = "hall-1"
`);
      await using service = await startTapdeck(place);
      const kept = join(place.folder, "client-renewed.pem");
      const refused = (why: string) => eventually(() => expect(service.log()).toContain(why), 60_000);
      try {
        await connected(service);
        expect(await checkOf(service, "certificates")).toMatchObject({
          ok: false,
          faults: [{ code: "certificate-ends", of: "owner", subject: "mqtt.certificate", days: "19" }],
        });
        const metrics = await (await fetch(`http://127.0.0.1:${place.port}/metrics`)).text();
        const [, end] =
          /_certificate_end_time_seconds\{certificate="mqtt\.certificate"\} (\d+)/.exec(metrics) ?? [];
        expect(Math.round((Number(end) - Date.now() / 1000) / 86_400)).toBe(20);
        expect(metrics).toContain('_certificate_end_time_seconds{certificate="broker"}');

        // Another deck's certificate, and one of this deck by another authority.
        await send("out/cards/hall-2/client.pem");
        await refused("it is for another key");
        const subject = "-keyout other.key -out other.pem -subj /O=Tapdeck/CN=other -days 3650";
        await printed(
          inside(folder, `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes ${subject}`),
        );
        await shorten(folder, "out/cards/hall-1/client", "hall-1", 3000, "other");
        await send("out/cards/hall-1/client.pem");
        await refused("no authority of mqtt.ca signed it");
        // This certificate is not accepted by the broker, because it is revoked.
        await shorten(folder, "out/cards/hall-1/client", "hall-1", 2000);
        const revoke = (path: string) =>
          printed(
            inside(
              folder,
              `(cd out/revoked && openssl ca -config ca.cnf -revoke ${path}) && fleet/revoke out`,
            ),
          );
        await revoke(`${deckCard}.pem`);
        await restart();
        await connected(service);
        await send("out/cards/hall-1/client.pem");
        await refused("the renewed certificate is not used");
        await eventually(() =>
          expect(service.log().match(/the renewed certificate is not used/g)).toHaveLength(3),
        );
        expect([existsSync(kept), existsSync(`${kept}.new`)]).toEqual([false, false]);

        // The operator renews the certificate.
        await shorten(folder, "out/cards/hall-1/client", "hall-1", 20);
        expect(await printed(inside(folder, "fleet/certify out --renew"))).toContain("hall-1: ended on");
        await send("out/cards/hall-1/client.pem");
        await eventually(async () =>
          expect(await checkOf(service, "certificates")).toEqual({ name: "certificates", ok: true }),
        );
        expect(await daysOf(service, "mqtt.certificate")).toBe(3650);
        const renewed = await readFile(`${deckCard}.pem`, "utf8");
        expect((await readFile(kept, "utf8")).trim()).toBe(renewed.trim());

        // The certificate of the card is revoked, so the broker refuses it, as it would refuse an expired one.
        await revoke(file("client.pem"));
        await restart();
        await connected(service);
        expect(await checkOf(service, "mqtt")).toEqual({ name: "mqtt", ok: true });
        expect(await service.stop()).toBe(0);
        // The next start also uses the renewed certificate.
        await using again = await startTapdeck(place);
        await connected(again);
      } finally {
        broker.kill();
      }
    }),
);
