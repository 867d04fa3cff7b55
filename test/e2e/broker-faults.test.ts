/** A broker at the wrong kind of port, an absent file and a full disk are named in words, with Debian's mosquitto. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { appendFile, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../src/core/errors.ts";
import { makeBroker, mosquitto, type TestBroker } from "../helpers/mosquitto.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const brokerTest = test.skipIf(!existsSync(mosquitto));

let broker: TestBroker;
beforeAll(async () => {
  if (!existsSync(mosquitto)) return;
  broker = await makeBroker();
  await broker.start();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

brokerTest(
  "an address without TLS at a port with TLS is named, and the other way round, and a web server",
  async () => {
    await using place = await makePlace(noReaders);
    await using service = await startTapdeck(place);
    const { client } = service;
    for (const [url, code, sentence] of [
      [
        `mqtt://127.0.0.1:${broker.tlsPort}`,
        "broker-silent",
        "if its port is one with TLS, let mqtt.url begin with mqtts://",
      ],
      [`mqtts://127.0.0.1:${broker.plainPort}`, "broker-silent-tls", "and whether the port is that for TLS"],
      [
        `mqtt://127.0.0.1:${place.port}`,
        "broker-not-mqtt",
        `the answer at 127.0.0.1 port ${place.port} is no MQTT: check the port of mqtt.url`,
      ],
    ] as const) {
      await client.call("broker.update", { url });
      expect([url, await client.call("broker.test")]).toEqual([
        url,
        {
          connected: false,
          fault: expect.objectContaining({ code, of: "others" }),
          reason: expect.stringContaining(sentence),
        },
      ]);
    }
  },
);

brokerTest("a password file that is absent, or a folder, is named in words", async () => {
  const toml = (file: string) =>
    `${noReaders}[mqtt]\nurl = "mqtt://127.0.0.1:${broker.plainPort}"\nuser = "deck"\npassword_file = "${file}"\n`;
  await using place = await makePlace(toml("absent"));
  await using service = await startTapdeck(place);
  const reason = (words: string) =>
    eventually(async () => {
      const { checks } = await service.client.call("health");
      expect(checks.find(({ name }) => name === "mqtt")?.reason).toBe(words);
    });
  await reason(`mqtt.password_file: cannot read ${place.folder}/absent: there is no such file or folder`);
  await place.config(toml("media"));
  await reason(`mqtt.password_file: cannot read ${place.folder}/media: it is a folder, and should be a file`);
});

test("a host that never answers was said to close the connection", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  await service.client.call("broker.update", { url: `mqtt://127.0.0.1:${silent.port}` });
  expect(await service.client.call("broker.test")).toMatchObject({
    connected: false,
    fault: { code: "broker-absent", subject: "127.0.0.1", port: `${silent.port}` },
  });
});

const smallDisk = `cp -a "$0" "$0-copy" && mount -t tmpfs -o size=48m tmpfs "$0" && cp -a "$0-copy/." "$0" && exec "$@"`;
const onSmallDisk = (folder: string, ...argv: readonly string[]) => [
  ...["unshare", "--mount", "sh", "-c", smallDisk, folder, ...argv],
];

test.skipIf(process.getuid?.() !== 0)(
  "a password that finds no room on a full disk is refused in words, and the former one stays",
  async () => {
    await using place = await makePlace(noReaders);
    try {
      await using service = await startTapdeck(place, onSmallDisk(place.folder, program));
      const { client } = service;
      const url = "mqtt://127.0.0.1:1";
      await client.call("broker.update", { url, user: "deck", password: "former" });
      // Only the service sees this disk.
      const inside = (name: string) => join(`/proc/${service.pid}/root`, place.folder, name);
      const fill = async () => {
        for (let bytes = 2 ** 20; bytes >= 1; )
          try {
            await appendFile(inside("filler"), Buffer.alloc(bytes));
          } catch (error) {
            if (codeOf(error) !== "ENOSPC") throw error;
            bytes = Math.floor(bytes / 2);
          }
      };
      await fill();
      const refused = client.call("broker.update", { password: "x".repeat(1000) });
      await expect(refused).rejects.toThrow(
        `${place.folder}/mqtt-password could not be saved: the disk is full`,
      );
      expect(await readFile(inside("mqtt-password"), "utf8")).toBe("former\n");
      const { checks } = await client.call("health");
      expect(checks.find(({ name }) => name === "disk")?.faults).toMatchObject([{ code: "disk-full" }]);
      await rm(inside("filler"));
      await client.call("broker.update", { password: "later" });
      expect(await readFile(inside("mqtt-password"), "utf8")).toBe("later\n");
    } finally {
      await rm(`${place.folder}-copy`, { recursive: true, force: true });
    }
  },
);

test("a broker whose settings could not be saved got the new password, and the old account kept it", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const { client } = service;
  const kept = () => readFile(join(place.folder, "mqtt-password"), "utf8");
  const url = "mqtt://127.0.0.1:1";
  await client.call("broker.update", { url, user: "deck", password: "former" });
  // Somebody edits the file at this moment, and has not finished.
  await place.config("unfinished = [");
  for (const password of ["later", ""])
    await expect(client.call("broker.update", { user: "other", password })).rejects.toThrow();
  expect(await kept()).toBe("former\n");
  await place.config(noReaders);
  await client.call("broker.update", { url, user: "other", password: "later" });
  expect(await kept()).toBe("later\n");
  await client.call("broker.update", { password: "" });
  expect(existsSync(join(place.folder, "mqtt-password"))).toBe(false);
});
