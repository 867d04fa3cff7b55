/** `/metrics` of the compiled service, with Debian's Prometheus as the judge: its lint, and a scrape over TLS by a paired client. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { bearerOf } from "../helpers/attack-scene.ts";
import { deviceForAll, port, tlsPort } from "../helpers/device.ts";
import { canMakeNetworks, visit } from "../helpers/namespaces.ts";
import { eventually } from "../helpers/processes.ts";
import { makePlace, noReaders, readerConfig, sleeper, startTapdeck } from "../helpers/tapdeck.ts";

const hasPrometheus = Bun.which("promtool") !== null && Bun.which("prometheus") !== null;
const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(
  `[api]
metrics = true
anonymous = "none"
${readerConfig("file:/run/no-card")}${sleeper(".sfc")}`,
  // The service indexes media soon after its start.
  ({ service }) => service.heard.next("media.indexing", ({ exists, indexing }) => exists && !indexing),
);
const root = join(import.meta.dir, "../..");

/** The names of families and series in a text of the endpoint. */
const namesIn = (text: string) => new Set([...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name = ""]) => name));

remoteTest("taps are counted and timed, and the lint of Prometheus has no complaint", async () => {
  const { client, heard } = device.service;
  await device.place.file("SNES/Game.sfc");
  await client.call("tokens.scan", { uid: "04a1b2c3", text: "SNES/Game.sfc" });
  await heard.next("media.started");
  await heard.next("launch.finished");
  await client.call("launch", { text: "**delay:1" });
  await heard.next("launch.finished");
  const text = await metricsHere();
  expect(text).toContain('tapdeck_taps_total{reader="api"} 1\n');
  expect(text).toContain('tapdeck_launches_total{outcome="success"} 2\n');
  expect(text).toMatch(/^tapdeck_tap_duration_seconds_count 1$/m);
  expect(text).toMatch(
    /^tapdeck_info\{version="\d+\.\d+\.\d+",platform="linux",board="",slot="",site=""\} 1$/m,
  );
  expect(text).not.toContain("04a1b2c3");
  if (!hasPrometheus) return;
  const lint = Bun.spawnSync(["promtool", "check", "metrics"], { stdin: new TextEncoder().encode(text) });
  expect([lint.exitCode, lint.stderr.toString(), lint.stdout.toString()]).toEqual([0, "", ""]);
});

remoteTest("the dashboard shows metrics of the endpoint only, and every one of ours", async () => {
  const dashboard = await readFile(join(root, "packaging/grafana/tapdeck.json"), "utf8");
  const shown = new Set(dashboard.match(/\b(?:tapdeck|process)_\w+/g));
  // This machine may have neither a sensor nor Wi-Fi, and the deck has no certificate that somebody must renew.
  const absent = [
    "tapdeck_temperature_celsius",
    "tapdeck_wifi_signal_dbm",
    "tapdeck_certificate_end_time_seconds",
  ];
  const names = namesIn(await metricsHere()).union(new Set(absent));
  expect([...shown].filter((name) => !names.has(name))).toEqual([]);
  const families = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ""));
  const used = [...shown].map((name) => name.replace(/_(bucket|sum|count)$/, ""));
  expect(families.filter((name) => name.startsWith("tapdeck_") && !used.includes(name))).toEqual([]);
});

remoteTest("a remote caller without TLS, and one without the right look, are refused", async () => {
  const { deviceAddress: address, onNeighbour } = device.network;
  const plain = await visit(onNeighbour, { url: `http://${address}:${port}/metrics` });
  expect([plain.status, plain.body]).toEqual([403, "encryption is required for remote connections\n"]);
  const stranger = await visit(onNeighbour, {
    url: `https://${address}:${tlsPort}/metrics`,
    anyCertificate: true,
  });
  expect([stranger.status, stranger.body]).toEqual([
    403,
    "pair this client with the device first: tapdeck pair\n",
  ]);
});

const queried = v.object({
  data: v.object({ result: v.array(v.object({ value: v.tuple([v.number(), v.string()]) })) }),
});

test.skipIf(!canMakeNetworks || !hasPrometheus)(
  "Prometheus of a neighbour scrapes the device over TLS, as a paired player",
  async () => {
    const { network, place, service } = device;
    const client = await service.client.call("clients.new", { name: "prometheus", role: "player" });
    const certificate = join(place.folder, "tls/device.pem");
    const { authorization } = bearerOf(client, new X509Certificate(await readFile(certificate)));
    const folder = join(place.folder, "prometheus");
    await mkdir(folder);
    const config = {
      global: { scrape_interval: "1s" },
      scrape_configs: [
        {
          job_name: "tapdeck",
          scheme: "https",
          authorization: { credentials: authorization.replace("Bearer ", "") },
          tls_config: { ca_file: certificate },
          static_configs: [{ targets: [`${network.deviceAddress}:${tlsPort}`] }],
        },
      ],
    };
    // JSON is also YAML.
    await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
    const command = [
      ...["prometheus", `--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`],
      ...["--web.listen-address=127.0.0.1:9090", "--log.level=warn"],
    ];
    const prometheus = Bun.spawn([...network.onNeighbour(command)], { stdio: ["ignore", "ignore", "pipe"] });
    try {
      const ask = (query: string) =>
        visit(network.onNeighbour, {
          url: `http://127.0.0.1:9090/api/v1/query?query=${encodeURIComponent(query)}`,
        });
      await eventually(async () => {
        const answer = await ask("up == 1 and on (instance) tapdeck_info").catch(() => undefined);
        if (answer?.status !== 200) return false;
        return v.parse(queried, JSON.parse(answer.body ?? "")).data.result[0]?.value[1] === "1";
      });
    } finally {
      prometheus.kill();
      await prometheus.exited;
    }
  },
);

test("without the setting nothing is counted, and the answer says how to change that", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const answer = await fetch(`http://127.0.0.1:${place.port}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([
    404,
    "metrics are off: set metrics = true in [api] of the settings\n",
  ]);
});

async function metricsHere(): Promise<string> {
  const { onDevice } = device.network;
  const answer = await visit(onDevice, { url: `http://127.0.0.1:${port}/metrics` });
  expect(answer.status).toBe(200);
  return answer.body ?? "";
}
