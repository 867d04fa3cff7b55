/**
 * Makes the files of many SD cards from a table: `bun tools/provision.ts fleet.csv OUT [--staff]`.
 *
 * The first row of the table names keys of tapdeck.conf, and each further row is a card; `host_name` is its name. Nothing is
 * written if a row has a fault (tools/fleet-table.ts).
 *
 *   OUT/ca.pem, OUT/ca.key      the local authority, made by openssl at the first run; keep ca.key to yourself
 *   OUT/cards/NAME              the files for the first partition of that card: tapdeck.conf, ca.pem, client.pem, client.key
 *
 *   OUT/hawkbit-targets.json    of the rows with hawkbit_url: the body of `POST /rest/v1/targets`; each card has its token
 *   OUT/prometheus              of the rows with metrics=yes: decks.yml, the jobs for Prometheus, and the token of each deck
 *   OUT/staff.secret, staff.csv with --staff: a secret for the staff, and the key of each card, which is derived from it
 *
 * A second run keeps the certificates that exist, and writes each tapdeck.conf again. It names the folders of cards that
 * no row names any more, and deletes none.
 */
import { createHmac, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../src/core/errors.ts";
import { pathAndFault } from "../src/core/file-faults.ts";
import { type Card, fileWords, output, readFleetTable, tokenWords } from "./fleet-table.ts";

/** Cards whose certificates are made at the same time. */
const atOnce = 8;

/** Makes a key on P-256 and a certificate. The certificate is signed by the authority in `by`, or by its own key. */
function certify(name: string, key: string, certificate: string, extensions: readonly string[], by = "self") {
  return output([join(import.meta.dir, "../fleet/issue"), key, certificate, name, by, ...extensions]);
}

/** The key of a card differs from all others, so a lost card opens no other device. */
function staffKeyOf(secret: Buffer, name: string): string {
  return createHmac("sha256", secret).update(`tapdeck-staff:${name}`).digest("hex");
}

/** The secret, which is made at the first run. */
async function staffSecretIn(path: string): Promise<Buffer> {
  if (!existsSync(path)) await writeFile(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
  const text = (await readFile(path, "utf8")).trim();
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Error(`${path} must hold 64 digits`);
  return Buffer.from(text, "hex");
}

/** The target of a card at hawkBit, with a token that is made once. A full disk leaves an empty file. */
async function makeTarget(name: string, folder: string) {
  const path = join(folder, tokenWords.token_file);
  const known = ((await ifThere(readFile(path, "utf8"))) ?? "").trim();
  const securityToken = known || randomBytes(16).toString("hex");
  if (known === "") await writeFile(path, `${securityToken}\n`, { mode: 0o600 });
  return { controllerId: name, name, securityToken };
}

/** Makes the files of a card. Returns its target at hawkBit, if its row has a `hawkbit_url`. */
async function makeCard({ name, values }: Card, out: string) {
  const folder = join(out, "cards", name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const [key, certificate] = [join(folder, "client.key"), join(folder, "client.pem")];
  if (!existsSync(certificate))
    await certify(
      name,
      key,
      certificate,
      [
        "basicConstraints=critical,CA:FALSE",
        "keyUsage=critical,digitalSignature",
        "extendedKeyUsage=clientAuth",
      ],
      out,
    );
  await copyFile(join(out, "ca.pem"), join(folder, "ca.pem"));
  const target = values.has("hawkbit_url") ? [await makeTarget(name, folder)] : [];
  const words = { ...fileWords, ...(target.length > 0 && tokenWords) };
  // A visitor who taps a card of their own must not become the owner.
  const owner = values.has("first_owner") ? [] : [["first_owner", "no"] as const];
  const lines = [...values, ...owner, ...Object.entries(words)].map(([word, value]) => `${word}=${value}\n`);
  await writeFile(join(folder, "tapdeck.conf"), lines.join(""), { mode: 0o600 });
  return target;
}

/** The card with the key of its metrics, if its row has them. The token is made once. */
async function withMetricsKey(card: Card, out: string): Promise<Card> {
  if (!isMeasured(card)) return card;
  const path = join(out, "prometheus", `${card.name}.token`);
  await mkdir(join(out, "prometheus"), { recursive: true });
  // The server runs as a user of its own, in the group of this file.
  if (!existsSync(path))
    await writeFile(path, `metrics:${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
  await chmod(path, 0o640);
  const [, key] = /^metrics:([0-9a-f]{64})\n$/.exec(await readFile(path, "utf8")) ?? [];
  if (key === undefined)
    throw new Error(`${path} must hold metrics: and 64 digits: delete it, and a new one is made`);
  return { ...card, values: new Map([...card.values, ["metrics_key", key]]) };
}

function isMeasured({ values }: Card): boolean {
  return values.get("metrics") === "yes";
}

/**
 * The jobs for Prometheus. Each deck has a job, because no list of targets can hold a token for each of them; the label `job` is the
 * same for all. A deck makes its certificate at its first start, so the certificate cannot be checked. The token gives
 * access to the metrics only.
 */
function scrapeJobs(cards: readonly Card[]): string {
  const jobs = cards.map(({ name, values, address }) => {
    const site = values.get("site");
    return {
      job_name: name,
      scheme: "https",
      authorization: { credentials_file: `${name}.token` },
      tls_config: { insecure_skip_verify: true },
      static_configs: [
        {
          targets: [`${address}:7498`],
          labels: { job: "tapdeck", instance: name, ...(site === undefined ? {} : { site }) },
        },
      ],
    };
  });
  // JSON is also YAML.
  return `{"scrape_configs": [\n${jobs.map((job) => JSON.stringify(job)).join(",\n")}\n]}\n`;
}

/** Writes the jobs of these decks, and removes the tokens of others. */
async function writeJobs(folder: string, cards: readonly Card[]): Promise<void> {
  if (!existsSync(folder)) return;
  const kept = new Set(cards.map(({ name }) => `${name}.token`));
  for (const file of await readdir(folder))
    if (file.endsWith(".token") && !kept.has(file)) await rm(join(folder, file));
  await writeFile(join(folder, "decks.yml"), scrapeJobs(cards), { mode: 0o644 });
}

/** The folders of cards that no row names. */
async function othersIn(folder: string, cards: readonly Card[]): Promise<readonly string[]> {
  const names = new Set(cards.map(({ name }) => name));
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !names.has(entry.name))
    .map(({ name }) => join(folder, name))
    .toSorted();
}

/** Makes the files, and returns sentences about the result. */
async function provision(table: string, out: string, hasStaff: boolean): Promise<readonly string[]> {
  const rows = await readFleetTable(table);
  await mkdir(out, { recursive: true, mode: 0o700 });
  const secret = hasStaff ? await staffSecretIn(join(out, "staff.secret")) : undefined;
  const measured = await Promise.all(rows.map((card) => withMetricsKey(card, out)));
  const cards = measured.map((card) =>
    secret === undefined
      ? card
      : { ...card, values: new Map([...card.values, ["staff_key", staffKeyOf(secret, card.name)]]) },
  );
  if (secret !== undefined) {
    const lines = cards.map(({ name }) => `${name},${staffKeyOf(secret, name)}\n`);
    await writeFile(join(out, "staff.csv"), `host_name,staff_key\n${lines.join("")}`, { mode: 0o600 });
  }
  if (!existsSync(join(out, "ca.pem")))
    await certify("Tapdeck fleet", join(out, "ca.key"), join(out, "ca.pem"), [
      "basicConstraints=critical,CA:TRUE",
      "keyUsage=critical,keyCertSign,cRLSign",
    ]);
  const made = [];
  for (let at = 0; at < cards.length; at += atOnce)
    made.push(...(await Promise.all(cards.slice(at, at + atOnce).map((card) => makeCard(card, out)))));
  const [targets, list] = [made.flat(), join(out, "hawkbit-targets.json")];
  if (targets.length > 0) await writeFile(list, `${JSON.stringify(targets)}\n`, { mode: 0o600 });
  else await rm(list, { force: true });
  await writeJobs(join(out, "prometheus"), rows.filter(isMeasured));
  const others = await othersIn(join(out, "cards"), cards);
  return [
    `${join(out, "cards")}: the files of ${cards.length === 1 ? "1 card" : `${cards.length} cards`}`,
    ...(others.length === 0 ? [] : [`no row names these, so they are as before: ${others.join(", ")}`]),
  ];
}

const [table, out, flag, ...more] = process.argv.slice(2);
try {
  if (table === undefined || out === undefined || (flag ?? "--staff") !== "--staff" || more.length > 0)
    throw new Error("use it as: bun tools/provision.ts fleet.csv OUT [--staff]");
  process.stdout.write(`${(await provision(table, out, flag !== undefined)).join("\n")}\n`);
} catch (error) {
  process.stderr.write(`${pathAndFault(error)}\n`);
  process.exitCode = 1;
}
