/**
 * The documents: each file that they name is in the tree, and each link has a target.
 * Covers: docs.
 */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { tapMs } from "../../drivers/one-card-presence.ts";
import { readMappingsToml } from "../../src/config/mapping-file.ts";
import * as consoleLimits from "../../src/core/console-limits.ts";
import * as limits from "../../src/core/limits.ts";
import { checkMapping } from "../../src/mappings/check-mapping.ts";
import { removalDebounceMs } from "../../src/readers/driver.ts";

const root = join(import.meta.dir, "../..");
const documents = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "buildroot/HARDWARE.md"],
  ...[
    "USE",
    "TROUBLE",
    "READERS",
    "PLAYERS",
    "IMAGE",
    "BACKUP",
    "NETWORK",
    "FLEET",
    "MQTT",
    "SECURE",
    "API",
    "SCRIPT",
  ].map((name) => `docs/${name}.md`),
  ...["readers", "launch", "media", "api", "storage", "image"].map((name) => `docs/decisions/${name}.md`),
];
const tops = "src|drivers|test|tools|overlay|buildroot|packaging|watchdog|docs";
// Matches paths such as `src/core/limits.ts` and `drivers/io`, but neither patterns (`test/**`) nor placeholders
// (`drivers/<id>.ts`).
const named = new RegExp(`\`((?:${tops})/[\\w./-]+)\``, "g");
const link = /\]\(([^)#:]+)\)|src="([^"]+)"/g;

for (const path of documents) {
  test(`${path} names only files that exist`, async () => {
    const text = await readFile(join(root, path), "utf8");
    const files = [...text.matchAll(named)].map(([, file = ""]) => join(root, file));
    const links = [...text.matchAll(link)].map(([, to = "", from = ""]) =>
      join(root, dirname(path), to === "" ? from : to),
    );
    expect([...files, ...links].filter((file) => !existsSync(file))).toEqual([]);
    expect(text.split("\n").length).toBeGreaterThan(8);
  });
}

test("ARCHITECTURE names every folder of sources, and every file by a name that is in the tree", async () => {
  const text = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
  const files = [...new Bun.Glob("{src,drivers}/**/*.ts").scanSync(root)];
  const folders = new Set(files.flatMap((file) => dirname(file).split("/").slice(1)));
  const words = new Set(text.match(/[\w-]+/g));
  expect([...folders].filter((folder) => !words.has(folder))).toEqual([]);
  const names = new Set(files.map((file) => basename(file)));
  const bare = [...text.matchAll(/`([\w-]+\.ts)`/g)].map(([, name = ""]) => name);
  expect(bare.filter((name) => !names.has(name))).toEqual([]);
  expect(bare.length).toBeGreaterThan(5);
});

test("README and ARCHITECTURE are read at one sitting: 120 lines", async () => {
  for (const path of ["README.md", "ARCHITECTURE.md"])
    expect((await readFile(join(root, path), "utf8")).trimEnd().split("\n").length).toBeLessThanOrEqual(120);
});

test("BACKUP states its limits as they are", async () => {
  const mebi = (count: number) => count / 1024 ** 2;
  const text = await readFile(join(root, "docs/BACKUP.md"), "utf8");
  expect(text).toContain(`
| the file | ${mebi(consoleLimits.backupFileBytesMax)} MiB |
| its lines, unpacked | ${mebi(consoleLimits.backupTextBytesMax)} MiB in all, and ${mebi(consoleLimits.backupLineBytesMax)} MiB a line |
| history | the newest taps whose lines have ${mebi(consoleLimits.backupHistoryBytesMax)} MiB together |
| memory of Argon2id | ${consoleLimits.backupKeyMemoryKibMax / 1024} MiB |
`);
  expect(text).toContain(`at least ${consoleLimits.backupPassphraseCharsMin} characters`);
});

test("TROUBLE quotes only sentences that the program has", async () => {
  const text = await readFile(join(root, "docs/TROUBLE.md"), "utf8");
  const files = [...new Bun.Glob("{src,drivers}/**/*.ts").scanSync(root)];
  const code = (await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))).join("\n");
  const quotes = [...text.matchAll(/"([^"]+)"/g)].map(([, quote = ""]) => quote);
  // The dots stand for the part that the program fills in.
  const pieces = quotes.flatMap((quote) => quote.split("...").map((piece) => piece.trim()));
  expect(pieces.filter((piece) => !code.includes(piece))).toEqual([]);
  expect(quotes.length).toBeGreaterThan(50);
});

test("READERS states when a card counts as removed", async () => {
  const text = (await readFile(join(root, "docs/READERS.md"), "utf8")).replace(/\s+/g, " ");
  const [onReader, debounce] = [tapMs / 1000, removalDebounceMs / 1000];
  expect(text).toContain(
    `removed ${onReader + debounce} seconds after the tap: ${onReader} seconds on the reader, then the debounce of ${debounce} seconds.`,
  );
});

test("NETWORK states the limits of callers as they are", async () => {
  const text = await readFile(join(root, "docs/NETWORK.md"), "utf8");
  const [table = ""] = /^\| limit \| value \|\n(?:\|.*\n)+/m.exec(text) ?? [];
  const rows = new Map(
    [...table.matchAll(/^\| ([^|]+) \| ([^|]*\d[^|]*) \|$/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
  const thousands = new Intl.NumberFormat("en");
  expect(Object.fromEntries(rows)).toEqual({
    "connections in all": `${limits.connectionsMax}, of which ${limits.connectionsForDevice} are for the device itself, so ${limits.connectionsMax - limits.connectionsForDevice} for remote callers`,
    "connections of one remote address": `${limits.connectionsPerAddressMax}`,
    "connections without encryption that have not proved a secret": `${limits.unsealedMax}, of one address ${limits.unsealedPerAddressMax}`,
    "connections over TLS without an identity": `${limits.anonymousMax}, of one address ${limits.anonymousPerAddressMax}`,
    "pictures that are asked for and not yet answered": `${limits.picturesWaitingMax}, half of them for callers without the right \`change\`; of one connection ${limits.picturesPerConnectionMax}. A picture has ${limits.pictureBytesMax / 1024} KiB at most`,
    "pages of folders and lists of tags that a connection asks for at a time": `${limits.pagesPerConnectionMax}`,
    "requests of one remote address": `${limits.requestsPerMinuteMax} a minute, ${limits.requestBurstMax} at once`,
    "requests of all remote addresses": `${limits.requestsPerSecondMax} a second`,
    "request bodies of remote callers that are being read": `${limits.bodiesMax}, of one address ${limits.bodiesPerAddressMax}, ${limits.messageBytesMax / 1024 ** 2} MiB each`,
    "a backup that is sent to the device, by a caller on it": `${consoleLimits.backupFileBytesMax / 1024 ** 2} MiB`,
    "callers that wait for new lines of the log": `${limits.logWaitersMax}`,
    "text of one import of mappings": `${limits.mappingImportCharsMax / 1024} Ki characters`,
    "PUTs of remote callers with bytes of uploads": `${limits.uploadBodiesMax}, of one address ${limits.uploadBodiesPerAddressMax}, ${limits.uploadChunkBytesMax / 1024 ** 2} MiB each`,
    "unfinished uploads": `${limits.uploadsMax}, of one client ${limits.uploadsPerClientMax}, in half of the free space; one call declares up to ${limits.uploadsPerStartMax} of them, and counts as one disk write`,
    "disk writes of a remote client": `${limits.writesPerMinuteMax} a minute, ${thousands.format(limits.writesPerDayMax)} a day`,
    "commands by MQTT": `${limits.mqttCommandsPerSecondMax} a second, of ${limits.mqttCommandBytesMax / 1024} KiB each`,
    "taps that wait for an MQTT broker": `${limits.mqttTapsKeptMax}`,
    "output that an MQTT broker does not read": `${limits.mqttUnsentBytesMax / 1024 ** 2} MiB; then the connection is closed`,
  });
});

test("the mappings of FLEET are ones that a deck takes", async () => {
  const text = await readFile(join(root, "docs/FLEET.md"), "utf8");
  const blocks = [...text.matchAll(/^```toml\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const files = blocks.filter((block) => block.includes("[[mapping]]"));
  expect(files).toHaveLength(1);
  const read = await readMappingsToml(files[0] ?? "", checkMapping, async () => {});
  expect([read.mappings.length, read.faults]).toEqual([2, []]);
});
