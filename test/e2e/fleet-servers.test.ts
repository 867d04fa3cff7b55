/**
 * The servers of `fleet/compose.yaml` with a deck, from its card to the alert: mosquitto, Prometheus and Alertmanager of Debian run with the
 * folders, users and groups of that file.
 */
import { expect, test } from "bun:test";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canRunServers, startServers } from "../helpers/fleet-servers.ts";
import { gather } from "../helpers/lines.ts";
import { canMakeNetworks, makeNetwork } from "../helpers/namespaces.ts";
import { eventually, printed } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const waitMsMax = 60_000;
/** The group of the user who makes the files. The servers run as other users. */
const group = 4242;

/** The folder `fleet` as the commands of docs/FLEET.md leave it, for a deck and its servers at these addresses. */
async function prepare(folder: string, deck: string, servers: string): Promise<void> {
  const fleet = (path: string) => join(folder, "fleet", path);
  await cp(join(root, "fleet"), fleet(""), {
    recursive: true,
    filter: (path) => !/\/(certificates|\.env|passwords|decks\.yml|[^/]*\.token)$/.test(path),
  });
  await writeFile(
    join(folder, "fleet.csv"),
    `host_name,site,metrics,anonymous,mqtt_url,address\nhall-1,hall,yes,none,mqtts://${servers}:8883,${deck}\n`,
  );
  const shell = (script: string) => printed(["sh", "-euc", `umask 022; cd "$1"; ${script}`, "sh", folder]);
  await shell(`"${process.execPath}" "${root}/tools/provision.ts" fleet.csv OUT`);
  await shell(`fleet/certify OUT fleet.museum.example ${servers}`);
  await writeFile(fleet(".env"), `HAWKBIT_PASSWORD=x\nGRAFANA_PASSWORD=x\nFLEET_GROUP=${group}\n`);
  await shell(
    "mosquitto_passwd -c -b fleet/mosquitto/passwords home word; chmod 0640 fleet/mosquitto/passwords",
  );
  await shell("cp -p OUT/prometheus/* fleet/prometheus/decks/");
  await shell(`chgrp -R ${group} fleet`);
  await hasten(fleet);
}

/**
 * Sets seconds in place of minutes, and writes the jobs in a form that Prometheus 2.42 of Debian 12 also reads:
 * `scrape_config_files` came with 2.43.
 */
async function hasten(fleet: (path: string) => string): Promise<void> {
  const change = async (path: string, ...changes: readonly (readonly [from: RegExp, to: string])[]) => {
    let text = await readFile(fleet(path), "utf8");
    for (const [from, to] of changes) {
      expect([path, from.test(text)]).toEqual([path, true]);
      text = text.replace(from, to);
    }
    await writeFile(fleet(path), text);
  };
  const { scrape_configs: jobs } = JSON.parse(await readFile(fleet("prometheus/decks/decks.yml"), "utf8"));
  const [job] = jobs;
  job.authorization.credentials_file = `decks/${job.authorization.credentials_file}`;
  await change(
    "prometheus/prometheus.yml",
    [/scrape_config_files: .*/, `scrape_configs: ${JSON.stringify(jobs)}`],
    [/scrape_interval: 60s/, "scrape_interval: 1s\n  evaluation_interval: 1s"],
  );
  await change("prometheus/alerts.yaml", [/(alert: DeckAway\n.*\n\s+for:) 5m/, "$1 1s"]);
  await change("alertmanager/alertmanager.yml", [/group_wait: 30s/, "group_wait: 1s"]);
}

test.skipIf(!canRunServers || !canMakeNetworks)(
  "a deck joins the broker by its card, is scraped by its token, and Alertmanager tells Home Assistant that it is away",
  async () => {
    await using made = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-servers-"));
    made.defer(() => rm(folder, { recursive: true }));
    const network = made.use(await makeNetwork());
    const { deviceAddress, neighbourAddress, onDevice, onNeighbour } = network;
    await prepare(folder, deviceAddress, neighbourAddress);
    const server =
      "Bun.serve({port:8123,async fetch(r){console.log(new URL(r.url).pathname,await r.text());return new Response()}})";
    const webhook = Bun.spawn([...onNeighbour([process.execPath, "-e", server])], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    made.defer(() => webhook.kill());
    const told = gather(webhook.stdout).text;
    const { servers } = made.use(await startServers(folder, onNeighbour));
    const logs = () =>
      Object.entries(servers)
        .map(([name, { log }]) => `${name}: ${log()}`)
        .join("\n");

    const card = join(folder, "OUT/cards/hall-1");
    const conf = new Map(
      (await readFile(join(card, "tapdeck.conf"), "utf8")).split("\n").map((row) => {
        const [word = "", ...rest] = row.split("=");
        return [word, rest.join("=")] as const;
      }),
    );
    const place = made.use(await makePlace(noReaders));
    await writeFile(join(place.folder, "metrics_key"), `${conf.get("metrics_key")}\n`);
    const words = [
      ...["site", "metrics", "anonymous", "mqtt_url"].map(
        (word) => `TAPDECK_${word.toUpperCase()}=${conf.get(word)}`,
      ),
      ...["ca_file", "certificate_file", "key_file"].map(
        (word) => `TAPDECK_${word.toUpperCase()}=${join(card, conf.get(word) ?? "")}`,
      ),
      `TAPDECK_METRICS_KEY_FILE=${place.folder}/metrics_key`,
    ];
    await writeFile(join(place.folder, "config.toml"), `${noReaders}[mqtt]\nid = "hall-1"\n`);
    const door = `ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`;
    const deck = await startTapdeck(place, onDevice(["env", ...words, program]), door);
    made.defer(() => deck[Symbol.asyncDispose]());
    await eventually(async () => {
      const { mqtt, checks } = await deck.client.call("health");
      if (mqtt?.connected !== true) throw new Error(`${JSON.stringify(checks)}\n${logs()}`);
    }, waitMsMax);
    const home = ["mosquitto_sub", "-h", "127.0.0.1", "-u", "home", "-P", "word", "-C", "1", "-W", "20"];
    const seen = await printed(onNeighbour([...home, "-t", "tapdeck/hall-1/availability"]));
    expect(seen).toBe("online");
    const asked = async (query: string) =>
      printed(
        onNeighbour([
          "curl",
          "--silent",
          `http://127.0.0.1:9090/api/v1/query?query=${encodeURIComponent(query)}`,
        ]),
      );
    await eventually(async () => {
      const answer = await asked('up{job="tapdeck",instance="hall-1",site="hall"} == 1');
      if (!answer.includes('"instance":"hall-1"')) throw new Error(`${answer}\n${logs()}`);
    }, waitMsMax);
    // A deck that is well raises nothing, however often it is scraped. The disk is that of the machine that runs the test.
    await eventually(
      async () => expect(await asked('count_over_time(up{job="tapdeck"}[1m]) > 7')).toContain("hall-1"),
      waitMsMax,
    );
    expect(await asked('ALERTS{alertname!="DiskFull"}')).toContain('"result":[]');
    expect(told()).toBe("");
    await deck.stop();
    await eventually(() => {
      const [, body = ""] = /^\/api\/webhook\/tapdeck-alerts (.*)$/m.exec(told()) ?? [];
      if (body === "") throw new Error(logs());
      expect(JSON.parse(body)).toMatchObject({
        status: "firing",
        groupLabels: { alertname: "DeckAway", site: "hall" },
        alerts: [{ annotations: { summary: "hall-1 does not answer" } }],
      });
    }, waitMsMax);
  },
);
