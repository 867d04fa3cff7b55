/** The folder `fleet`: each configuration is read by its program, if this is possible without the program's image. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord } from "../../src/core/text.ts";
import { brokerFiles, certify, inFolder, inside, shorten, startBroker } from "../helpers/fleet-copy.ts";
import { mosquitto } from "../helpers/mosquitto.ts";
import { eventually, printed, run } from "../helpers/processes.ts";

const root = join(import.meta.dir, "../..");
const fleet = (path: string) => join(root, "fleet", path);
const opensslTest = test.skipIf(Bun.which("openssl") === null);

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
        // If two lists have the same second, OpenSSL keeps the first.
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

/** Runs commands in a folder with a small disk of its own; `fill` leaves a page of it, and `free` all that it took. */
const onSmallDisk = (folder: string, commands: string) => {
  const steps = [
    'mount -t tmpfs -o size=400k tmpfs "$0" && cd "$0"',
    "fill() { dd if=/dev/zero of=filling bs=1k count=$(($(df --output=avail . | tail -n 1) - $1)) 2>/dev/null; }",
    "free() { rm filling; }",
    'provision() { printf \'host_name\\n\' >fleet.csv; printf \'%s\\n\' "$@" >>fleet.csv; "$bun" "$root/tools/provision.ts" fleet.csv out; }',
    'mkdir fleet && cp "$root"/fleet/certify "$root"/fleet/issue "$root"/fleet/renew "$root"/fleet/revoke fleet',
    commands,
  ];
  const environment = ["env", `bun=${process.execPath}`, `root=${root}`];
  return run([
    ...environment,
    ...["unshare", "--map-root-user", "--mount", "sh", "-c", steps.join("\n"), folder],
  ]);
};
const canMount = Bun.which("unshare") !== null && (await onSmallDisk("/tmp", "exit")).code === 0;

opensslTest.skipIf(!canMount)("a full disk left an empty certificate, which the next run took for one", () =>
  inFolder(async (folder) => {
    const commands = `
        provision hall-1 >/dev/null
        fill 4; provision hall-1 hall-2 >/dev/null 2>&1 || echo refused; free
        provision hall-1 hall-2
        openssl verify -CAfile out/ca.pem out/cards/hall-2/client.pem`;
    const { out } = await onSmallDisk(folder, commands);
    expect(out.split("\n")).toEqual([
      "refused",
      "out/cards: the files of 2 cards",
      "out/cards/hall-2/client.pem: OK",
    ]);
  }),
);

opensslTest.skipIf(!canMount)("after a full disk no deck could be revoked any more", () =>
  inFolder(async (folder) => {
    const commands = `
      provision hall-1 hall-2 >/dev/null && fleet/revoke out
      fill 0; fleet/revoke out >/dev/null 2>&1 || true; free
      fleet/revoke out hall-1
      openssl crl -noout -text -in fleet/certificates/revoked.pem | grep -c Serial`;
    const { out, error } = await onSmallDisk(folder, commands);
    expect([error, out.split("\n").at(-1)]).toEqual(["", "1"]);
  }),
);

opensslTest("a lost card still read the metrics of the next deck with its name", () =>
  inFolder(async (folder) => {
    await certify(folder);
    await writeFile(join(folder, "fleet.csv"), "host_name,metrics\nhall-1,yes\nhall-2,yes\n");
    const provision = () =>
      printed([
        process.execPath,
        join(root, "tools/provision.ts"),
        join(folder, "fleet.csv"),
        join(folder, "out"),
      ]);
    const tokens = () =>
      Promise.all(
        ["hall-1", "hall-2"].map((name) => readFile(join(folder, `out/prometheus/${name}.token`), "utf8")),
      );
    await provision();
    const [lost, other] = await tokens();
    await printed(inside(folder, "fleet/revoke out hall-1"));
    await provision();
    const [next, same] = await tokens();
    expect(next).toMatch(/^metrics:[0-9a-f]{64}\n$/);
    expect([next === lost, same === other]).toEqual([false, true]);
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

const factsOf = async (folder: string, path: string) => {
  const certificate = new X509Certificate(await readFile(join(folder, path)));
  const { subject, validTo, serialNumber, subjectAltName, ca } = certificate;
  const key = certificate.publicKey.export({ type: "spki", format: "pem" });
  const days = Math.round((Date.parse(validTo) - Date.now()) / (24 * 60 * 60_000));
  return { subject, subjectAltName, ca, key, days, serialNumber };
};

brokerTest(
  "certificates that end soon are renewed with their keys and names, the broker takes them, and a revoked deck is refused with both",
  () =>
    inFolder(async (folder) => {
      const { broker, own, publish } = await startBroker(folder);
      await using _ = broker;
      const server = "fleet/certificates/server";
      const deck = "out/cards/hall-1/client";
      await shorten(folder, server, "servers.example", 80);
      await shorten(folder, deck, "hall-1", 20);
      await copyFile(join(folder, `${deck}.pem`), join(folder, "card/client.pem"));
      const paths = [`${server}.pem`, `${deck}.pem`, "out/cards/hall-2/client.pem"];
      const read = () => Promise.all(paths.map((path) => factsOf(folder, path)));
      const before = await read();
      expect(before.map(({ days }) => days)).toEqual([80, 20, 3650]);
      const day = (path: string) =>
        printed(
          inside(folder, `date -u -d "$(openssl x509 -noout -enddate -in ${path} | cut -d= -f2)" +%Y-%m-%d`),
        );
      const ended = [await day(paths[0] ?? ""), await day(paths[1] ?? "")];
      const said = await printed(inside(folder, "fleet/certify out --renew"));
      const ends = await day(paths[1] ?? "");
      expect(said.split("\n")).toEqual([
        `servers: ended on ${ended[0]}, ends on ${ends}`,
        `hall-1: ended on ${ended[1]}, ends on ${ends}`,
        "renewed: 2; not renewed, because they last longer than 90 days: 1",
      ]);
      const after = await read();
      const same = ({ subject, subjectAltName, key, ca }: (typeof before)[number]) => [
        subject,
        subjectAltName,
        key,
        ca,
      ];
      expect(after.map(same)).toEqual(before.map(same));
      expect(after.map(({ days }) => days)).toEqual([3650, 3650, 3650]);
      expect(await printed(inside(folder, "fleet/certify out --renew"))).toBe(
        "renewed: 0; not renewed, because they last longer than 90 days: 3",
      );
      expect((await readdir(join(folder, "out"))).toSorted()).toEqual([
        "ca.key",
        "ca.pem",
        "cards",
        "revoked",
      ]);

      // The broker accepts the deck with its earlier certificate and with the new one, until both are revoked.
      const renewed = ["--cert", join(folder, "renewed.pem"), ...own.slice(2)];
      await copyFile(join(folder, `${deck}.pem`), join(folder, "renewed.pem"));
      for (const tls of [own, renewed]) expect((await publish("tapdeck/hall-1/tap", ...tls)).error).toBe("");
      await printed(inside(folder, "fleet/revoke out hall-1"));
      for (const tls of [own, renewed])
        await eventually(async () => {
          await printed(inside(folder, "fleet/revoke out"));
          broker.kill("SIGHUP");
          expect((await publish("tapdeck/hall-1/tap", ...tls)).code).not.toBe(0);
        });
      broker.kill();
    }),
);

opensslTest(
  "a renewal names what it cannot renew, renews the rest, and refuses nonsense with a sentence",
  () =>
    inFolder(async (folder) => {
      await certify(folder);
      const renew = async (words: string) => {
        const { code, out, error } = await run(inside(folder, `fleet/certify ${words}`));
        return [code, out, error.replaceAll(folder, ".")];
      };
      for (const days of ['""', "0", "-1", "90d", "3601", "99999"])
        expect(await renew(`out --renew ${days}`)).toEqual([
          1,
          "",
          `DAYS must be a whole number from 1 to 3600, not "${days.replaceAll('"', "")}"`,
        ]);
      const usage = "use it as: fleet/certify OUT NAME..., or fleet/certify OUT --renew [DAYS]";
      expect(await renew("out --renew 90 days")).toEqual([1, "", usage]);
      expect(await renew("out --renw")).toEqual([1, "", `--renw is no option: ${usage}`]);
      const first = "out/cards/hall-1/client";
      const second = "out/cards/hall-2/client";
      const own = `-keyout other.key -out other.pem -subj /CN=other -days 3650`;
      await printed(
        inside(folder, `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes ${own}`),
      );
      await shorten(folder, first, "hall-1", 20, "other");
      await shorten(folder, second, "hall-2", 20);
      const before = await readFile(join(folder, `${first}.pem`), "utf8");
      expect(await renew("out --renew")).toEqual([
        1,
        expect.stringMatching(
          /^hall-2: ended on .*\nrenewed: 1; not renewed, because they last longer than 90 days: 1$/,
        ),
        `./${first}.pem is no certificate by ./out/ca.pem, so it was not renewed`,
      ]);
      expect(await readFile(join(folder, `${first}.pem`), "utf8")).toBe(before);
      // No certificate lasts longer than its authority.
      await printed(
        inside(
          folder,
          "openssl x509 -in out/ca.pem -signkey out/ca.key -days 400 -out ca.new && mv ca.new out/ca.pem",
        ),
      );
      await shorten(folder, second, "hall-2", 20);
      expect((await renew("out --renew 100"))[1]).toContain("hall-2: ended on ");
      expect((await factsOf(folder, `${second}.pem`)).days).toBe(400);
      expect(await renew("out --renew 500")).toEqual([
        1,
        "",
        expect.stringMatching(
          /^the authority \.\/out\/ca\.pem ends on \d{4}-\d\d-\d\d, and no certificate of it lasts longer/,
        ),
      ]);
    }),
);

test.skipIf(!existsSync(mosquitto) || process.getuid?.() !== 0)(
  "only the group of compose.yaml reads the key of the servers and the passwords, and mosquitto starts as a user of it",
  () =>
    inFolder(async (folder) => {
      await certify(folder);
      const key = join(folder, "fleet/certificates/server.key");
      expect((await stat(key)).mode & 0o777).toBe(0o640);
      const compose = Bun.YAML.parse(await readFile(fleet("compose.yaml"), "utf8"));
      const group = { group_add: [expect.stringContaining("{FLEET_GROUP:?")] };
      expect(compose).toMatchObject({
        services: { mosquitto: { user: "1883:1883", ...group }, hawkbit: group },
      });
      const { conf, plainPort } = await brokerFiles(folder);
      await writeFile(join(folder, "config/mosquitto.conf"), conf.replace("user root\n", ""));
      await printed(
        inside(
          folder,
          "chgrp 4242 fleet/certificates/server.key config/passwords && chmod 0640 config/passwords",
        ),
      );
      await printed(inside(folder, "chmod 0755 . fleet fleet/certificates config && chown 1883 data"));
      const as = (...groups: readonly string[]) => [
        ...[
          "setpriv",
          "--reuid=1883",
          "--regid=1883",
          ...groups,
          mosquitto,
          "-c",
          join(folder, "config/mosquitto.conf"),
        ],
      ];
      expect((await run(as("--clear-groups"))).error).toContain("Unable to open pwfile");
      await printed(inside(folder, "chmod 0644 config/passwords"));
      expect((await run(as("--clear-groups"))).error).toContain("Unable to load server key file");
      await printed(inside(folder, "chmod 0640 config/passwords"));
      const broker = Bun.spawn(as("--groups=4242"), { stdio: ["ignore", "ignore", "ignore"] });
      await using _ = broker;
      const home = [
        "-h",
        "127.0.0.1",
        "-p",
        `${plainPort}`,
        "-u",
        "home",
        "-P",
        "word",
        "-t",
        "tapdeck/x/cmd/stop",
        "-m",
        "",
      ];
      await eventually(async () => expect((await run(["mosquitto_pub", ...home])).code).toBe(0));
      broker.kill();
    }),
);

/** The block of commands of docs/FLEET.md with these words. */
async function commandsWith(words: string): Promise<string> {
  const text = await readFile(join(root, "docs/FLEET.md"), "utf8");
  const blocks = [...text.matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const found = blocks.filter((block) => block.includes(words));
  expect([words, found.length]).toEqual([words, 1]);
  return found[0] ?? "";
}

brokerTest(
  "the commands of FLEET.md run one after another in one folder, and load the passwords that they made",
  () =>
    inFolder(async (folder) => {
      await cp(join(root, "fleet"), join(folder, "fleet"), {
        recursive: true,
        filter: (path) => !/\/(certificates|\.env|passwords|decks\.yml|[^/]*\.token)$/.test(path),
      });
      for (const name of ["tools", "node_modules"]) await symlink(join(root, name), join(folder, name));
      await writeFile(join(folder, "fleet.csv"), await commandsWith("host_name,site,mqtt_url,hawkbit_url"));
      // These stand-ins for programs that this machine may lack write down their arguments.
      await mkdir(join(folder, "bin"));
      for (const name of ["docker", "curl", "make"]) {
        const script = `#!/bin/sh\nprintf '%s ' ${name} "$@" >>"${folder}/said"\necho >>"${folder}/said"\n`;
        await writeFile(join(folder, "bin", name), script, { mode: 0o755 });
      }
      const shell = async (typed: string, ...blocks: readonly string[]) => {
        const script = `umask 077; PATH="$PWD/bin:$PATH"; ${blocks.join("\n")}`;
        const stdio = [new Blob([typed]), "ignore", "pipe"] as const;
        const child = Bun.spawn(["bash", "-euc", script], { cwd: folder, stdio: [...stdio] });
        const errors = await new Response(child.stderr).text();
        expect([await child.exited, errors]).toEqual([0, expect.any(String)]);
      };
      await shell("word\nword\n", await commandsWith("up --detach"));
      await shell("word\n", await commandsWith("/certificate"));
      await shell("word\n", await commandsWith("tell @north"));
      await shell(
        "",
        await commandsWith("hawkbit targets -d"),
        await commandsWith("fleet/revoke OUT hall-1"),
      );
      const said = await readFile(join(folder, "said"), "utf8");
      const env = await readFile(join(folder, "fleet/.env"), "utf8");
      const [, hawkbit] =
        /^HAWKBIT_PASSWORD=([0-9a-f]{32})\nGRAFANA_PASSWORD=[0-9a-f]{32}\nFLEET_GROUP=\d+\n$/.exec(env) ?? [];
      const mode = async (path: string) => (await stat(join(folder, path))).mode & 0o777;
      expect(said).toContain("docker compose --file fleet/compose.yaml up --detach");
      expect((await readdir(join(folder, "fleet/prometheus/decks"))).toSorted()).toEqual([
        ...[".gitignore", "decks.yml", "hall-1.token", "hall-2.token"],
      ]);
      expect(await mode("fleet/prometheus/decks/hall-1.token")).toBe(0o640);
      expect(said).toContain("mosquitto_pub -u home -P word -V 5 -q 1 -r -t tapdeck/hall-1/certificate -s");
      expect(said).toContain("mosquitto_pub -u home -P word -V 5 -q 1 -t tapdeck/@north/cmd/stop -m");
      expect(said).toContain(`--user admin:${hawkbit} `);
      expect(said).toContain("/rest/v1/targets -d @OUT/hawkbit-targets.json");
      expect(said).toContain("docker compose --file fleet/compose.yaml restart mosquitto");
      expect(said).toContain("/rest/v1/targets/hall-1 -X DELETE");
      expect(await mode("fleet/.env")).toBe(0o600);
      expect(await mode("fleet/mosquitto/passwords")).toBe(0o640);
      expect(await mode("fleet/certificates")).toBe(0o755);
      expect(await readFile(join(folder, "fleet/mosquitto/passwords"), "utf8")).toMatch(/^home:\$/);
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

test("the configurations of Grafana are YAML, and it finds its dashboard", async () => {
  const read = async (path: string): Promise<unknown> => Bun.YAML.parse(await readFile(fleet(path), "utf8"));
  expect(await read("grafana/datasources.yaml")).toMatchObject({
    datasources: [{ type: "prometheus", url: "http://prometheus:9090" }],
  });
  expect(await read("grafana/dashboards.yaml")).toMatchObject({
    providers: [{ options: { path: "/var/lib/grafana/dashboards" } }],
  });
  expect(existsSync(join(root, "packaging/grafana/tapdeck.json"))).toBe(true);
});
