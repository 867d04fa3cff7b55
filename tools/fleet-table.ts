/**
 * Reads the table of tools/provision.ts, and finds every fault that a card from this table would report later. The script
 * of the image, the settings of the service and its code for the broker judge each value.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { csvRows } from "../src/config/mapping-csv.ts";
import { MappingFileFault } from "../src/config/mapping-file.ts";
import { fleetWordFaults } from "../src/config/overrides.ts";
import { configOfTable } from "../src/config/shape.ts";
import { messageOf } from "../src/core/errors.ts";
import { brokerOf } from "../src/mqtt/broker.ts";

/** A larger number would be a mistake in the table. */
const cardsMax = 10_000;
/** The words that name files of the tool. */
export const fileWords = { ca_file: "ca.pem", certificate_file: "client.pem", key_file: "client.key" };
/** The words that name files of the tool for cards with the word `hawkbit_url`. */
export const tokenWords = { token_file: "hawkbit.token" };
/** The column that is no key of tapdeck.conf. */
const addressKey = "address";
const { mqtt: mqttDefaults } = configOfTable({}, []);

export interface Card {
  readonly line: number;
  readonly name: string;
  /** Keys of tapdeck.conf and their values, without empty ones. */
  readonly values: ReadonlyMap<string, string>;
  /** The address at which servers reach the device. */
  readonly address: string;
}

interface Fault {
  readonly line: number;
  readonly key: string;
  readonly why: string;
}

/** The cards of the table. Throws an error with a line for each fault. */
export async function readFleetTable(path: string): Promise<readonly Card[]> {
  const cards = cardsOf(textOf(await readFile(path), path));
  const bad = await scriptFaults(cards);
  const isBad = new Set(bad.map(({ line, key }) => `${line} ${key}`));
  const faults = [
    ...bad,
    ...cards.flatMap(serviceFaults).filter(({ line, key }) => !isBad.has(`${line} ${key}`)),
  ];
  refuse(
    faults
      .toSorted((one, other) => one.line - other.line)
      .map(({ line, key, why }) => `line ${line}, ${key}: ${why}`),
  );
  return cards;
}

/** Other encodings would put wrong letters into names and passwords. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // The decoder throws only for bytes that are not UTF-8, and the sentence below states this.
  }
  throw new Error(
    `${path} is not UTF-8: save it again, in Excel as "CSV UTF-8", in LibreOffice as Unicode (UTF-8)`,
  );
}

/** The rows as cards. Throws an error with a line for each fault. */
function cardsOf(text: string): readonly Card[] {
  const [head, ...rows] = rowsOf(text);
  const keys = head?.cells.map((cell) => cell.trim()) ?? [];
  const faults: string[] = [];
  const ofTool = keys.find((key) => Object.hasOwn({ ...fileWords, ...tokenWords, metrics_key: "" }, key));
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
    const address = values.get(addressKey) ?? `${name}.local`;
    values.delete(addressKey);
    return [{ line, name, values, address }];
  });
  if (cards.length === 0) faults.push("there is no row for a card");
  refuse(faults);
  return cards;
}

/** The rows. If a quote is not closed, all further lines are useless. */
function rowsOf(text: string) {
  try {
    return [...csvRows(text, /^"?\w+"?([,;\t])/.exec(text)?.[1] ?? ",")];
  } catch (error) {
    if (!(error instanceof MappingFileFault)) throw error;
    throw new Error(`line ${error.line}: ${error.message}`, { cause: error });
  }
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

/** Lets the image's script read all values as one file. */
async function scriptFaults(cards: readonly Card[]): Promise<readonly Fault[]> {
  const all = cards.flatMap(({ line, values }) => [...values].map(([key, value]) => ({ line, key, value })));
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-provision-"));
  try {
    const script = join(import.meta.dir, "../overlay/usr/lib/tapdeck/read-conf");
    const input = all.map(({ key, value }) => `${key}=${value}\n`).join("");
    const said = await output(["sh", script, folder], input);
    return [...said.matchAll(/line (\d+): (.*?)(?=; line \d+: |\n|$)/g)].map(([, at = "", why = ""]) => {
      const { line, key } = all[Number(at) - 1] ?? { line: 0, key: "" };
      return { line, key, why };
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The faults that only the service finds, and words that need each other. */
function serviceFaults({ line, name, values, address }: Card): readonly Fault[] {
  const words = [...values].flatMap(([key, value]) =>
    fleetWordFaults(key, value).map((why) => ({ line, key, why })),
  );
  const broker = brokerFault(name, values.get("mqtt_url"));
  const isAddress = /^[\w.-]{1,253}$/.test(address) || address === `${name}.local`;
  const [hasUrl, hasKey] = [values.has("cards_url"), values.has("cards_key")];
  return [
    ...words,
    ...(isAddress
      ? []
      : [
          {
            line,
            key: addressKey,
            why: "it is a name or an IPv4 address, such as hall-1.lan or 192.168.1.20",
          },
        ]),
    ...(broker === undefined ? [] : [{ line, key: "mqtt_url", why: broker }]),
    ...(hasUrl && !hasKey
      ? [{ line, key: "cards_url", why: "it needs cards_key, the digits that tapdeck cards key prints" }]
      : []),
    ...(hasKey && !hasUrl
      ? [{ line, key: "cards_key", why: "it needs cards_url, the address of the bundle" }]
      : []),
  ];
}

/** The reason why a card with this address would not connect with the certificate of the tool. */
function brokerFault(name: string, url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (url.startsWith("mqtt://")) return "each card has a certificate, which needs TLS: use mqtts://";
  const { ca_file: ca, certificate_file: certificate, key_file: key } = fileWords;
  try {
    brokerOf({ ...mqttDefaults, url, ca, certificate, key }, name, "/");
    return undefined;
  } catch (error) {
    return messageOf(error); // The function throws only sentences.
  }
}

/** The program's output; throws an error with the program's complaint. */
export async function output(command: readonly string[], input = ""): Promise<string> {
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
