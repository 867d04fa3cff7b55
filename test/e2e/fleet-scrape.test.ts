/** The jobs that `tools/provision.ts` makes for Prometheus: a real one scrapes two decks of a neighbour, each by its own token. */
import { expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { canMakeNetworks, makeNetwork, visit } from "../helpers/namespaces.ts";
import { eventually, printed, run } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const hasPrometheus = Bun.which("promtool") !== null && Bun.which("prometheus") !== null;
const answers = v.object({
  data: v.object({ result: v.array(v.object({ metric: v.record(v.string(), v.string()) })) }),
});

/** Runs the tool over a table in a folder of its own; `again` runs it over another one. */
async function provisioned(
  table: string,
  work: (out: string, again: (table: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-scrape-"));
  const out = join(folder, "out");
  const provision = async (text: string) => {
    await writeFile(join(folder, "fleet.csv"), text);
    const tool = join(root, "tools/provision.ts");
    // The umask is that of a careful person's shell.
    return printed([
      "sh",
      "-c",
      'umask 077; exec "$@"',
      "sh",
      process.execPath,
      tool,
      join(folder, "fleet.csv"),
      out,
    ]);
  };
  try {
    await provision(table);
    await work(out, provision);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Copies the configuration of the compose file into this folder. Prometheus 2.42, which Debian 12 has, does not know
 * `scrape_config_files`, so the jobs of `out` are written into the configuration itself.
 */
async function configure(
  folder: string,
  out: string,
  portOf: Readonly<Record<string, number>> = {},
): Promise<string> {
  await cp(join(out, "prometheus"), folder, { recursive: true });
  await cp(join(root, "fleet/prometheus/alerts.yaml"), join(folder, "alerts.yaml"));
  const { scrape_configs: jobs } = JSON.parse(await readFile(join(out, "prometheus/decks.yml"), "utf8"));
  for (const job of jobs)
    for (const part of job.static_configs)
      part.targets = part.targets.map((one: string) =>
        one.replace(/7498$/, `${portOf[job.job_name] ?? 7498}`),
      );
  const whole = await readFile(join(root, "fleet/prometheus/prometheus.yml"), "utf8");
  const line = 'scrape_config_files: ["/etc/prometheus/decks/*.yml"]';
  expect(whole).toContain(line);
  const path = join(folder, "prometheus.yml");
  const text = whole
    .replace(line, `scrape_configs: ${JSON.stringify(jobs)}`)
    .replace("scrape_interval: 60s", "scrape_interval: 1s")
    .replace("/etc/prometheus/alerts.yaml", join(folder, "alerts.yaml"));
  await writeFile(path, text);
  return path;
}

test.skipIf(!hasPrometheus)(
  "each measured deck has a job with its place and a token that only the group of the servers reads, and promtool accepts them",
  () =>
    provisioned(
      "host_name,site,metrics,address\na,hall,yes,192.168.1.20\nb,,yes,\nc,,no,\n",
      async (out, again) => {
        const folder = join(out, "prometheus");
        const key = async (name: string) =>
          /^metrics_key=([0-9a-f]{64})$/m.exec(
            await readFile(join(out, "cards", name, "tapdeck.conf"), "utf8"),
          )?.[1];
        const before = [await key("a"), await key("b")];
        expect(new Set(before).size).toBe(2);
        expect(await key("c")).toBeUndefined();
        expect(await readFile(join(out, "cards/a/tapdeck.conf"), "utf8")).not.toContain("address");
        expect((await readdir(folder)).toSorted()).toEqual(["a.token", "b.token", "decks.yml"]);
        expect((await stat(join(folder, "a.token"))).mode & 0o777).toBe(0o640);
        expect(await readFile(join(folder, "a.token"), "utf8")).toBe(`metrics:${before[0]}\n`);
        const { scrape_configs: jobs } = JSON.parse(await readFile(join(folder, "decks.yml"), "utf8"));
        expect(jobs).toMatchObject([
          {
            job_name: "a",
            authorization: { credentials_file: "a.token" },
            static_configs: [
              { targets: ["192.168.1.20:7498"], labels: { job: "tapdeck", instance: "a", site: "hall" } },
            ],
          },
          { static_configs: [{ targets: ["b.local:7498"], labels: { job: "tapdeck", instance: "b" } }] },
        ]);
        const checked = await run([
          "promtool",
          "check",
          "config",
          await configure(join(out, "checked"), out),
        ]);
        expect([checked.code, checked.out, checked.error]).toEqual([
          0,
          expect.stringContaining("is valid prometheus config file syntax"),
          "",
        ]);
        await again("host_name,site,metrics\nb,hall,yes\n");
        expect(await key("b")).toBe(before[1] ?? "");
        expect((await readdir(folder)).toSorted()).toEqual(["b.token", "decks.yml"]);
      },
    ),
);

test("a table with an address that is none, or with a column of the tool's own, is refused", async () => {
  for (const [table, fault] of [
    [
      "host_name,address\na,http://a\n",
      "line 2, address: it is a name or an IPv4 address, such as hall-1.lan or 192.168.1.20",
    ],
    ["host_name,metrics_key\na,00\n", "line 1: metrics_key is written by this tool: delete that column"],
  ] as const)
    await expect(provisioned(table, async () => {})).rejects.toThrow(fault);
});

test.skipIf(!canMakeNetworks || !hasPrometheus)(
  "Prometheus of a neighbour scrapes two decks by their tokens, and a token opens no other deck and nothing but the metrics",
  async () => {
    await using network = await makeNetwork();
    const { deviceAddress: address, onNeighbour } = network;
    const ports = { a: 7498, b: 7598 } as const;
    const table = `host_name,site,metrics,anonymous,address\na,hall,yes,none,${address}\nb,cellar,yes,none,${address}\n`;
    await provisioned(table, async (out) => {
      await using decks = new AsyncDisposableStack();
      for (const [name, tlsPort] of Object.entries(ports)) {
        const place = decks.use(await makePlace());
        const { folder } = place;
        const conf = await readFile(join(out, "cards", name, "tapdeck.conf"), "utf8");
        const value = (word: string) => new RegExp(`^${word}=(.*)$`, "m").exec(conf)?.[1] ?? "";
        await writeFile(join(folder, "metrics_key"), `${value("metrics_key")}\n`);
        const words = [
          `TAPDECK_METRICS_KEY_FILE=${folder}/metrics_key`,
          `TAPDECK_METRICS=${value("metrics")}`,
          `TAPDECK_ANONYMOUS=${value("anonymous")}`,
          `TAPDECK_SITE=${value("site")}`,
        ];
        await Bun.write(
          join(folder, "config.toml"),
          `[api]\nport = ${tlsPort - 1}\ntls_port = ${tlsPort}\n${noReaders}`,
        );
        const door = `ws+unix://${folder}/tapdeck.sock:/api/v0.1`;
        decks.use(await startTapdeck(place, network.onDevice(["env", ...words, program]), door));
      }
      const token = async (name: string) =>
        (await readFile(join(out, `prometheus/${name}.token`), "utf8")).trim();
      const status = async (name: string, port: number, path: string) => {
        const headers = { authorization: `Bearer ${await token(name)}` };
        const url = `https://${address}:${port}${path}`;
        return (await visit(onNeighbour, { url, headers, anyCertificate: true })).status;
      };
      expect(await status("a", ports.a, "/metrics")).toBe(200);
      expect(await status("a", ports.b, "/metrics")).toBe(401);
      expect(await status("a", ports.a, "/api/v0.1/events")).toBe(403);
      const folder = join(out, "server");
      await mkdir(folder);
      const path = await configure(folder, out, ports);
      const server = [
        ...["prometheus", `--config.file=${path}`, `--storage.tsdb.path=${folder}/data`],
        ...["--web.listen-address=127.0.0.1:9090", "--log.level=warn"],
      ];
      const prometheus = Bun.spawn([...onNeighbour(server)], { stdio: ["ignore", "ignore", "ignore"] });
      try {
        await eventually(async () => {
          const query = encodeURIComponent("up == 1 and on (instance) tapdeck_info");
          const url = `http://127.0.0.1:9090/api/v1/query?query=${query}`;
          const { body = "" } = await visit(onNeighbour, { url });
          const found = v.parse(answers, JSON.parse(body)).data.result.map(({ metric }) => metric);
          expect(
            found.toSorted((one, other) => ((one.instance ?? "") < (other.instance ?? "") ? -1 : 1)),
          ).toMatchObject([
            { job: "tapdeck", instance: "a", site: "hall" },
            { job: "tapdeck", instance: "b", site: "cellar" },
          ]);
        });
      } finally {
        prometheus.kill();
        await prometheus.exited;
      }
    });
  },
);
