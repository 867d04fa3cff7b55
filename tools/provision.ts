/**
 * Makes the files of many SD cards from a table: `bun tools/provision.ts fleet.csv OUT [--staff]`.
 *
 * The first row of the table names keys of tapdeck.conf, and each further row is a card; `host_name` is its name. The script of
 * the image judges every value, so that no card reports a mistake later. Nothing is written if a row has a fault.
 *
 *   OUT/ca.pem, OUT/ca.key      the local authority, made by openssl at the first run; keep ca.key to yourself
 *   OUT/cards/NAME              the files for the first partition of that card: tapdeck.conf, ca.pem, client.pem, client.key
 *
 *   OUT/hawkbit-targets.json    of the rows with hawkbit_url: the body of `POST /rest/v1/targets`; each card has its token
 *   OUT/staff.secret, staff.csv with --staff: a secret for the staff, and the key of each card, which is derived from it
 *
 * A second run keeps the certificates that exist, and writes each tapdeck.conf again.
 */
import { createHmac, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { csvRows } from "../src/config/mapping-csv.ts";

/** More would be a mistake in the table. */
const cardsMax = 10_000;
const days = "3650";
/** Cards whose certificates are made at the same time. */
const atOnce = 8;
/** The words that name files which this tool makes. */
const fileWords = { ca_file: "ca.pem", certificate_file: "client.pem", key_file: "client.key" };
/** The same for cards with the word `hawkbit_url`. */
const tokenWords = { token_file: "hawkbit.token" };

interface Card {
  readonly line: number;
  readonly name: string;
  /** Keys of tapdeck.conf and their values, without empty ones. */
  readonly values: ReadonlyMap<string, string>;
}

/** The rows as cards. Throws an error with a line for each fault. */
function cardsOf(text: string): readonly Card[] {
  const [head, ...rows] = csvRows(text.replace(/^\ufeff/, ""), /^"?\w+"?([,;\t])/.exec(text)?.[1] ?? ",");
  const keys = head?.cells.map((cell) => cell.trim()) ?? [];
  const faults: string[] = [];
  const ofTool = keys.find((key) => Object.hasOwn({ ...fileWords, ...tokenWords }, key));
  const twice = keys.find((key, at) => keys.indexOf(key) < at);
  if (!keys.includes("host_name")) faults.push("line 1: the column host_name is missing");
  if (ofTool !== undefined) faults.push(`line 1: ${ofTool} is written by this tool: delete that column`);
  if (twice !== undefined) faults.push(`line 1: the column ${twice} is there twice`);
  if (rows.length > cardsMax) faults.push(`there are more than ${cardsMax} rows`);
  const lines = new Map<string, number>();
  const cards = rows.flatMap(({ line, cells }): readonly Card[] => {
    if (cells.every((cell) => cell.trim() === "")) return [];
    if (cells.length !== keys.length)
      faults.push(`line ${line}: it has ${cells.length} cells, and the first row ${keys.length}`);
    if (cells.some((cell) => /[\r\n\0]/.test(cell))) faults.push(`line ${line}: a value has a line end`);
    const values = new Map(
      keys.flatMap((key, at): [string, string][] => {
        const value = cells[at]?.trim() ?? "";
        return value === "" ? [] : [[key, value]];
      }),
    );
    const name = values.get("host_name") ?? "";
    const before = lines.get(name);
    if (name === "") faults.push(`line ${line}: host_name is empty`);
    else if (before !== undefined) faults.push(`line ${line}: host_name ${name} is in line ${before}, too`);
    lines.set(name, line);
    return [{ line, name, values }];
  });
  if (cards.length === 0) faults.push("there is no row for a card");
  refuse(faults);
  return cards;
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

/** Has the image's script read all values as one file, and throws an error with the lines of the table. */
async function judge(cards: readonly Card[]): Promise<void> {
  const all = cards.flatMap(({ line, values }) => [...values].map(([key, value]) => ({ line, key, value })));
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-provision-"));
  try {
    const script = join(import.meta.dir, "../overlay/usr/lib/tapdeck/read-conf");
    const input = all.map(({ key, value }) => `${key}=${value}\n`).join("");
    const said = await output(["sh", script, folder], input);
    const faults = [...said.matchAll(/line (\d+): (.*?)(?=; line \d+: |\n|$)/g)].map(
      ([, at = "", why = ""]) => {
        const { line, key } = all[Number(at) - 1] ?? { line: 0, key: "" };
        return `line ${line}, ${key}: ${why}`;
      },
    );
    refuse(faults);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The program's output; throws an error with what it complained about. */
async function output(command: readonly string[], input = ""): Promise<string> {
  const child = Bun.spawn([...command], {
    stdin: new TextEncoder().encode(input),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0)
    throw new Error(`${command.slice(0, 2).join(" ")} failed: ${complained.trim()}`);
  return said;
}

/** A key on P-256 and a certificate; by the authority in `by`, or its own authority. */
function certify(name: string, key: string, certificate: string, extensions: readonly string[], by?: string) {
  const issuer = by === undefined ? [] : ["-CA", join(by, "ca.pem"), "-CAkey", join(by, "ca.key")];
  return output([
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-days", days, "-subj", `/O=Tapdeck/CN=${name}`, "-keyout", key, "-out", certificate, ...issuer],
    ...extensions.flatMap((extension) => ["-addext", extension]),
  ]);
}

/** The key of a card differs from all others, so that a lost card opens no other device. */
function staffKeyOf(secret: Buffer, name: string): string {
  return createHmac("sha256", secret).update(`tapdeck-staff:${name}`).digest("hex");
}

/** Makes the secret at the first run. */
async function staffSecretIn(path: string): Promise<Buffer> {
  if (!existsSync(path)) await writeFile(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
  const text = (await readFile(path, "utf8")).trim();
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Error(`${path} must hold 64 digits`);
  return Buffer.from(text, "hex");
}

/** The target of a card at hawkBit, with a token that is made once. */
async function makeTarget(name: string, folder: string) {
  const path = join(folder, tokenWords.token_file);
  if (!existsSync(path)) await writeFile(path, `${randomBytes(16).toString("hex")}\n`, { mode: 0o600 });
  return { controllerId: name, name, securityToken: (await readFile(path, "utf8")).trim() };
}

/** Returns the target of the card at hawkBit, if it shall have one. */
async function makeCard({ name, values }: Card, out: string) {
  const folder = join(out, "cards", name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const [key, certificate] = [join(folder, "client.key"), join(folder, "client.pem")];
  if (!existsSync(certificate))
    await certify(
      name,
      key,
      certificate,
      ["keyUsage=critical,digitalSignature", "extendedKeyUsage=clientAuth"],
      out,
    );
  await copyFile(join(out, "ca.pem"), join(folder, "ca.pem"));
  const target = values.has("hawkbit_url") ? [await makeTarget(name, folder)] : [];
  const words = { ...fileWords, ...(target.length > 0 && tokenWords) };
  const lines = [...values, ...Object.entries(words)].map(([word, value]) => `${word}=${value}\n`);
  await writeFile(join(folder, "tapdeck.conf"), lines.join(""), { mode: 0o600 });
  return target;
}

async function provision(table: string, out: string, hasStaff: boolean): Promise<number> {
  const rows = cardsOf(await readFile(table, "utf8"));
  await judge(rows);
  await mkdir(out, { recursive: true, mode: 0o700 });
  const secret = hasStaff ? await staffSecretIn(join(out, "staff.secret")) : undefined;
  const cards = rows.map((card) =>
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
      "keyUsage=critical,keyCertSign,cRLSign",
    ]);
  const targets = [];
  for (let at = 0; at < cards.length; at += atOnce)
    targets.push(...(await Promise.all(cards.slice(at, at + atOnce).map((card) => makeCard(card, out)))));
  if (targets.flat().length > 0)
    await writeFile(join(out, "hawkbit-targets.json"), `${JSON.stringify(targets.flat())}\n`, {
      mode: 0o600,
    });
  return cards.length;
}

const [table, out, flag, ...more] = process.argv.slice(2);
try {
  if (table === undefined || out === undefined || (flag ?? "--staff") !== "--staff" || more.length > 0)
    throw new Error("use it as: bun tools/provision.ts fleet.csv OUT [--staff]");
  process.stdout.write(
    `${join(out, "cards")}: the files of ${await provision(table, out, flag !== undefined)} cards\n`,
  );
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
