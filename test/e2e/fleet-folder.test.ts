/** The folder `fleet`: each configuration is read by its program, or as far as that is possible without its image. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../../src/core/text.ts";
import { freePort } from "../helpers/free-port.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually, printed, run } from "../helpers/processes.ts";

const root = join(import.meta.dir, "../..");
const fleet = (path: string) => join(root, "fleet", path);
const opensslTest = test.skipIf(Bun.which("openssl") === null);

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-fleet-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Certificates of the folder's own tools: of the server, and of the decks hall-1 and hall-2. */
async function certify(folder: string): Promise<void> {
  await writeFile(join(folder, "fleet.csv"), "host_name\nhall-1\nhall-2\n");
  await printed([
    process.execPath,
    join(root, "tools/provision.ts"),
    join(folder, "fleet.csv"),
    join(folder, "out"),
  ]);
  await mkdir(join(folder, "fleet"));
  for (const name of ["certify", "issue", "revoke"]) await copyFile(fleet(name), join(folder, "fleet", name));
  await printed(inside(folder, "fleet/certify out servers.example 127.0.0.1"));
}

/** The command as docs/FLEET.md has it, with paths from that folder. */
function inside(folder: string, command: string): readonly string[] {
  return ["sh", "-c", `cd "$1" && ${command}`, "sh", folder];
}

test("git status offers no secret that a documented command leaves in the checkout", async () => {
  const secrets = [
    ...["OUT/ca.key", "OUT/cards/hall-1/client.key", "keys/ca.key", "fleet.csv", "cards.key"],
    ...["fleet/.env", "fleet/certificates/server.key", "fleet/mosquitto/passwords"],
  ];
  expect((await printed(["git", "-C", root, "check-ignore", ...secrets])).split("\n")).toEqual(secrets);
});

test("compose.yaml names pinned images, and files that are there or are made", async () => {
  const compose: unknown = Bun.YAML.parse(await readFile(fleet("compose.yaml"), "utf8"));
  const services = isRecord(compose) && isRecord(compose.services) ? compose.services : {};
  const volumes = isRecord(compose) && isRecord(compose.volumes) ? Object.keys(compose.volumes) : [];
  expect(Object.keys(services)).toEqual([
    "mosquitto",
    "hawkbit",
    "prometheus",
    "alertmanager",
    "grafana",
    "home-assistant",
  ]);
  for (const service of Object.values(services)) {
    if (!isRecord(service) || !Array.isArray(service.volumes)) throw new Error("a service without volumes");
    expect(service.image).toMatch(/^[\w./-]+:v?\d+\.\d+(\.\d+)?$/);
    for (const volume of service.volumes) {
      const [source = ""] = String(volume).split(":");
      if (source.startsWith(".")) expect(source === "./certificates" || existsSync(fleet(source))).toBe(true);
      else expect(volumes).toContain(source);
    }
  }
});

/** Debian's mosquitto with the configuration of the folder, and `hall-1` and `home` as its clients. */
async function startBroker(folder: string) {
  await certify(folder);
  await cp(fleet("mosquitto"), join(folder, "config"), { recursive: true });
  await mkdir(join(folder, "data"));
  await printed(["mosquitto_passwd", "-b", "-c", join(folder, "config/passwords"), "home", "word"]);
  const [tlsPort, plainPort] = [freePort(), freePort()];
  const conf = (await readFile(fleet("mosquitto/mosquitto.conf"), "utf8"))
    .replaceAll("/mosquitto/", `${folder}/`)
    .replaceAll("/certificates/", `${folder}/fleet/certificates/`)
    .replace("listener 8883", `user root\nlistener ${tlsPort}`)
    .replace("listener 1883", `listener ${plainPort} 127.0.0.1`);
  await writeFile(join(folder, "config/mosquitto.conf"), conf);
  const broker = Bun.spawn([mosquitto, "-c", join(folder, "config/mosquitto.conf")], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  await eventually(async () => {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port: plainPort, socket: { data() {} } });
    socket.end();
  });
  const card = join(folder, "card");
  await cp(join(folder, "out/cards/hall-1"), card, { recursive: true });
  return {
    broker,
    own: ["--cert", join(card, "client.pem"), "--key", join(card, "client.key")],
    home: ["-h", "127.0.0.1", "-p", `${plainPort}`, "-u", "home", "-P", "word", "-V", "5"],
    publish: (topic: string, ...tls: readonly string[]) =>
      run([
        ...["mosquitto_pub", "-h", "127.0.0.1", "-p", `${tlsPort}`, "-V", "5", "-q", "1", "-m", "x"],
        ...["--cafile", join(card, "ca.pem"), ...tls, "-t", topic],
      ]),
  };
}

const brokerTest = test.skipIf(!existsSync(mosquitto) || Bun.which("openssl") === null);

brokerTest("mosquitto starts with its configuration, and a deck cannot publish for another one", () =>
  inFolder(async (folder) => {
    const { broker, own, home, publish } = await startBroker(folder);
    await using _ = broker;
    expect((await publish("tapdeck/hall-1/tap", ...own)).error).toBe("");
    expect((await publish("tapdeck/hall-2/tap", ...own)).error).toContain("Not authorized");
    expect((await publish("tapdeck/hall-1/tap")).code).not.toBe(0);
    const topic = ["-t", "tapdeck/+/availability", "-C", "1", "-W", "20"];
    const hearing = run(["mosquitto_sub", ...home, ...topic]);
    await eventually(async () => {
      await publish("tapdeck/hall-1/availability", ...own);
      return (await Promise.race([hearing, Bun.sleep(50)]))?.out === "x";
    });
    broker.kill();
  }),
);

brokerTest(
  "a revoked deck is refused once mosquitto has read the list, other decks and a new card are not",
  () =>
    inFolder(async (folder) => {
      const { broker, own, publish } = await startBroker(folder);
      await using _ = broker;
      const of = (card: string) =>
        ["cert", "key"].flatMap((word) => [
          `--${word}`,
          join(card, word === "cert" ? "client.pem" : "client.key"),
        ]);
      expect((await publish("tapdeck/hall-1/tap", ...own)).code).toBe(0);
      await printed(inside(folder, "fleet/revoke out hall-1"));
      await printed([
        process.execPath,
        join(root, "tools/provision.ts"),
        join(folder, "fleet.csv"),
        join(folder, "out"),
      ]);
      await eventually(async () => {
        // Of two lists of one second, OpenSSL keeps the first.
        await printed(inside(folder, "fleet/revoke out"));
        broker.kill("SIGHUP");
        expect((await publish("tapdeck/hall-1/tap", ...own)).code).not.toBe(0);
      });
      for (const name of ["hall-1", "hall-2"])
        expect((await publish(`tapdeck/${name}/tap`, ...of(join(folder, "out/cards", name)))).error).toBe("");
      const twice = await run(inside(folder, "fleet/revoke out hall-3"));
      expect([twice.code, twice.error]).toEqual([
        1,
        "there is no out/cards/hall-3/client.pem: the decks of out/revoked are revoked already",
      ]);
      broker.kill();
    }),
);

opensslTest("the certificate of the servers is of the authority of the decks, with its names", () =>
  inFolder(async (folder) => {
    await certify(folder);
    const made = (name: string) => join(folder, "fleet/certificates", name);
    const verify = ["openssl", "verify", "-purpose", "sslserver", "-verify_hostname", "servers.example"];
    expect(await printed([...verify, "-CAfile", made("ca.pem"), made("server.pem")])).toEndWith(": OK");
  }),
);

opensslTest("no certificate of a deck or a server is an authority, and each counts from yesterday on", () =>
  inFolder(async (folder) => {
    await certify(folder);
    const show = (path: string, ...what: readonly string[]) =>
      printed(["openssl", "x509", "-noout", "-in", join(folder, path), ...what]);
    const decks = await readdir(join(folder, "out/cards"));
    const leaves = ["fleet/certificates/server.pem", ...decks.map((name) => `out/cards/${name}/client.pem`)];
    expect(leaves.length).toBeGreaterThan(1);
    for (const path of leaves) expect(await show(path, "-ext", "basicConstraints")).toContain("CA:FALSE");
    expect(await show("out/ca.pem", "-ext", "basicConstraints")).toContain("CA:TRUE");
    const dayMs = 24 * 60 * 60_000;
    for (const path of [...leaves, "out/ca.pem"]) {
      const start = Date.parse((await show(path, "-startdate")).replace("notBefore=", ""));
      expect(Math.abs(Date.now() - dayMs - start), path).toBeLessThan(60 * 60_000);
    }
  }),
);

opensslTest("fleet/certify that fails leaves the certificate and its key, and no other file", () =>
  inFolder(async (folder) => {
    await certify(folder);
    const certificates = join(folder, "fleet/certificates");
    const read = () =>
      Promise.all(["server.pem", "server.key"].map((name) => readFile(join(certificates, name), "utf8")));
    const [before, names] = [await read(), await readdir(certificates)];
    // OpenSSL refuses the name only after it has written the key.
    expect((await run(inside(folder, "fleet/certify out servers.example 1.2.3.4.5"))).code).not.toBe(0);
    expect([await read(), await readdir(certificates)]).toEqual([before, names]);
    const { code, error } = await run(inside(folder, "fleet/certify away servers.example"));
    expect([code, error]).toEqual([
      1,
      "there is no away/ca.pem: tools/provision.ts makes the authority in OUT",
    ]);
  }),
);

test.skipIf(Bun.which("promtool") === null)("promtool accepts the configuration of Prometheus", () =>
  inFolder(async (folder) => {
    await cp(fleet("prometheus"), folder, { recursive: true });
    const conf = await readFile(fleet("prometheus/prometheus.yml"), "utf8");
    await writeFile(join(folder, "prometheus.yml"), conf.replace("/etc/prometheus", folder));
    const { out, code } = await run(["promtool", "check", "config", join(folder, "prometheus.yml")]);
    expect([code, out]).toEqual([0, expect.stringContaining("is valid prometheus config file syntax")]);
  }),
);

test.skipIf(Bun.which("promtool") === null)(
  "the alerts fire for a deck that is away, a reader that is unplugged and faults that stay, and not for a restart",
  async () => {
    const folder = fleet("prometheus");
    const { out, code } = await run(["promtool", "test", "rules", join(folder, "alerts.test.yaml")]);
    expect([code, out]).toEqual([0, expect.stringContaining("SUCCESS")]);
    // Each rule has a case.
    const names = async (file: string, key: string) =>
      [...(await readFile(join(folder, file), "utf8")).matchAll(new RegExp(`${key}: (\\w+)`, "g"))].map(
        ([, name]) => name,
      );
    const tested = new Set(await names("alerts.test.yaml", "alertname"));
    expect([...tested].toSorted()).toEqual((await names("alerts.yaml", "alert")).toSorted());
  },
);

test("each metric of an alert is one that a deck has", async () => {
  const rules = await readFile(fleet("prometheus/alerts.yaml"), "utf8");
  const documented = await readFile(join(root, "docs/FLEET.md"), "utf8");
  const metrics = new Set([...rules.matchAll(/tapdeck_\w+/g)].map(([name]) => name));
  expect(metrics.size).toBeGreaterThan(4);
  for (const name of metrics) expect([name, documented.includes(`\`${name}\``)]).toEqual([name, true]);
});

test("Alertmanager sends the alerts of a place together, and nothing of a deck that is away", async () => {
  const config = Bun.YAML.parse(await readFile(fleet("alertmanager/alertmanager.yml"), "utf8"));
  expect(config).toMatchObject({
    route: { receiver: "home-assistant", group_by: ["site", "alertname"] },
    inhibit_rules: [{ equal: ["instance"] }],
    receivers: [{ name: "home-assistant" }],
  });
  const compose = await readFile(fleet("compose.yaml"), "utf8");
  expect(compose).toContain("./alertmanager:/etc/alertmanager:ro");
});

test("the configurations of Grafana and Home Assistant are YAML, and Grafana finds its dashboard", async () => {
  const read = async (path: string): Promise<unknown> => Bun.YAML.parse(await readFile(fleet(path), "utf8"));
  expect(await read("grafana/datasources.yaml")).toMatchObject({
    datasources: [{ type: "prometheus", url: "http://prometheus:9090" }],
  });
  expect(await read("grafana/dashboards.yaml")).toMatchObject({
    providers: [{ options: { path: "/var/lib/grafana/dashboards" } }],
  });
  expect(existsSync(join(root, "packaging/grafana/tapdeck.json"))).toBe(true);
  expect(await read("home-assistant/configuration.yaml")).toEqual({ default_config: null });
});
