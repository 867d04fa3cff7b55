/** A network that is cut below the connection to the broker: messages that were sent into it must not arrive late. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mqttEventMsMax, mqttReconnectMsMax } from "../../src/core/limits.ts";
import { makeCertificate } from "../../src/system/certificate.ts";
import { gather } from "../helpers/lines.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { canMakeNetworks, makeNetwork } from "../helpers/namespaces.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

for (const [name, scheme, port] of [
  ["without TLS", "mqtt", 1883],
  ["with TLS", "mqtts", 8883],
] as const)
  test.skipIf(!canMakeNetworks || !existsSync(mosquitto))(
    `a tap and a launch that were in the cable while it was unplugged arrived late, ${name}`,
    async () => {
      await using network = await makeNetwork();
      await using place = await makePlace();
      const { folder } = place;
      const { onNeighbour, neighbourAddress: host } = network;
      const file = (path: string) => join(folder, path);
      const { certificatePem, keyPem } = makeCertificate({
        commonName: "broker",
        names: [],
        addresses: [Uint8Array.from(host.split("."), Number)],
        notBefore: new Date(Date.now() - 60_000),
        notAfter: new Date(Date.now() + 24 * 3_600_000),
      });
      await writeFile(file("broker.pem"), certificatePem);
      await writeFile(file("broker.key"), keyPem);
      const tls = `cafile ${file("broker.pem")}\ncertfile ${file("broker.pem")}\nkeyfile ${file("broker.key")}\n`;
      await writeFile(
        file("mosquitto.conf"),
        `user root\nallow_anonymous true\nlistener 1883\nlistener 8883\n${tls}`,
      );
      const broker = Bun.spawn([...onNeighbour([mosquitto, "-c", file("mosquitto.conf")])], {
        stdio: ["ignore", "ignore", "ignore"],
      });
      const ca = scheme === "mqtts" ? `ca = "${file("broker.pem")}"\n` : "";
      await place.config(`${noReaders}[mqtt]\nurl = "${scheme}://${host}:${port}"\nid = "hall"\n${ca}`);
      const door = `ws+unix://${folder}/tapdeck.sock:/api/v0.1`;
      await using service = await startTapdeck(place, network.onDevice([program]), door);
      const isConnected = async () => (await service.client.call("health")).mqtt?.connected === true;
      await eventually(isConnected, mqttReconnectMsMax + 60_000);
      const words = ["mosquitto_sub", "-V", "5", "-q", "1", "-t", "tapdeck/hall/#", "-F", "%t %p"];
      const listener = Bun.spawn([...onNeighbour(["stdbuf", "-oL", ...words])], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      const heard = gather(listener.stdout).text;
      await eventually(() => heard().includes("hall/availability online"));
      const links = await printed(onNeighbour(["ip", "-o", "link", "show", "type", "veth"]));
      const [, cable = ""] = /^\d+: (\S+?)[@:]/.exec(links) ?? [];
      // A neighbour that has lost its address does not answer. This looks like a cable that is unplugged behind the next
      // switch.
      const plug = (how: "del" | "add") =>
        printed(onNeighbour(["ip", "address", how, `${host}/24`, "dev", cable]));
      const tap = async (uid: string) => {
        await service.client.call("tokens.scan", { uid, text: "**echo:x", duration: 1 });
        await service.heard.next("launch.finished");
      };
      await plug("del");
      await tap("a1");
      // The kernel retransmits bytes that are not acknowledged.
      await Bun.sleep(mqttEventMsMax + 1000);
      await plug("add");
      await eventually(async () => {
        if (!(await isConnected())) return false;
        await tap("b1");
        return heard().includes('"b1"');
      }, mqttReconnectMsMax + 60_000);
      const late = heard()
        .split("\n")
        .filter((row) => /\/(tap|launch) /.test(row) && row.includes('"a1"'));
      expect(late).toEqual([]);
      await eventually(() => /"missedTaps":[1-9]/.test(heard()));
      broker.kill();
      listener.kill();
      await Promise.all([broker.exited, listener.exited]);
    },
  );
