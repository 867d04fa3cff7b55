/** `tools/provision.ts`: the files of a hundred cards from one table, with certificates of a local authority. */
import { expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printed, run } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const root = join(import.meta.dir, "../..");
const opensslTest = test.skipIf(Bun.which("openssl") === null);

/** Runs the tool over a table. */
async function provisioned(
  table: string | Uint8Array,
  work: (
    out: string,
    result: Awaited<ReturnType<typeof run>>,
    again: (next?: string) => ReturnType<typeof run>,
  ) => Promise<void>,
) {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-fleet-"));
  try {
    await writeFile(join(folder, "fleet.csv"), table);
    const out = join(folder, "out");
    const tool = [process.execPath, join(root, "tools/provision.ts"), join(folder, "fleet.csv"), out];
    await work(out, await run(tool), async (next: string | Uint8Array = table) => {
      await writeFile(join(folder, "fleet.csv"), next);
      return run([...tool, "--staff"]);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

opensslTest("a hundred rows become a hundred cards, each with a certificate of its own name", async () => {
  const rows = Array.from(
    { length: 100 },
    (_, n) =>
      `deck-${n},hall,mqtts://broker.example:8883,"My ""net"", 5",${n === 7 ? "" : "pass;word $HOME"}`,
  );
  const table = `\ufeffhost_name,site,mqtt_url,wifi_name,wifi_password\r\n${rows.join("\r\n")}\r\n`;
  await provisioned(table, async (out, { out: said, error, code }) => {
    expect([said, error, code]).toEqual([`${out}/cards: the files of 100 cards`, "", 0]);
    expect(await readdir(join(out, "cards"))).toHaveLength(100);
    expect((await stat(join(out, "ca.key"))).mode & 0o077).toBe(0);
    const card = (name: string) => join(out, "cards/deck-42", name);
    expect((await readdir(card(""))).toSorted()).toEqual([
      "ca.pem",
      "client.key",
      "client.pem",
      "tapdeck.conf",
    ]);
    expect(await readFile(card("tapdeck.conf"), "utf8")).toBe(
      [
        "host_name=deck-42",
        "site=hall",
        "mqtt_url=mqtts://broker.example:8883",
        'wifi_name=My "net", 5',
        "wifi_password=pass;word $HOME",
        "first_owner=no",
        "ca_file=ca.pem",
        "certificate_file=client.pem",
        "key_file=client.key\n",
      ].join("\n"),
    );
    expect(await readFile(join(out, "cards/deck-7/tapdeck.conf"), "utf8")).not.toContain("wifi_password");
    const verify = ["openssl", "verify", "-purpose", "sslclient", "-CAfile", join(out, "ca.pem")];
    expect(await printed([...verify, card("client.pem")])).toBe(`${card("client.pem")}: OK`);
    const subject = await printed(["openssl", "x509", "-noout", "-subject", "-in", card("client.pem")]);
    expect(subject).toBe("subject=O = Tapdeck, CN = deck-42");
    const own = await printed(["openssl", "x509", "-noout", "-pubkey", "-in", card("client.pem")]);
    expect(await printed(["openssl", "pkey", "-pubout", "-in", card("client.key")])).toBe(own);
  });
});

opensslTest(
  "with --staff each card has a key of its own, which a later run keeps, and the certificate stays",
  () =>
    provisioned("host_name\ndeck-1\ndeck-2\n", async (out, _result, again) => {
      const [conf, certificate] = ["tapdeck.conf", "client.pem"].map((name) =>
        join(out, "cards/deck-1", name),
      );
      const read = (path = "") => readFile(path, "utf8");
      const before = await read(certificate);
      expect(await read(conf)).not.toContain("staff_key");
      expect(await again()).toMatchObject({ error: "", code: 0 });
      const list = await read(join(out, "staff.csv"));
      expect(list).toMatch(/^host_name,staff_key\ndeck-1,[0-9a-f]{64}\ndeck-2,[0-9a-f]{64}\n$/);
      const [one, two] = list.match(/[0-9a-f]{64}/g) ?? [];
      expect(one).not.toBe(two ?? "");
      expect(await read(conf)).toContain(`staff_key=${one}\n`);
      await again();
      expect([await read(join(out, "staff.csv")), await read(certificate)]).toEqual([list, before]);
    }),
);

test("the words of a card reach the service: its site, the client of its staff, and a fault that stops nothing", async () => {
  await using place = await makePlace(`metrics = true\n${noReaders}`);
  const key = "5a".repeat(32);
  await writeFile(join(place.folder, "staff_key"), `${key}\n`);
  const words = [
    `TAPDECK_STAFF_KEY_FILE=${place.folder}/staff_key`,
    "TAPDECK_SITE=hall",
    "TAPDECK_CARDS_URL=https://:1/",
  ];
  await using service = await startTapdeck(place, ["env", ...words, program]);
  const { clients } = await service.client.call("clients");
  expect(clients).toMatchObject([{ id: "staff", name: "staff", secret: key, role: "member" }]);
  const { checks } = await service.client.call("health");
  expect(checks.find(({ name }) => name === "settings")?.reason).toContain("cards_url must be an address");
  const metrics = await fetch(`http://127.0.0.1:${place.port}/metrics`);
  expect(await metrics.text()).toContain('site="hall"} 1\n');
});

for (const [what, table, faults] of [
  [
    "bad values",
    "host_name,update_url,reader\ndeck-1,https://c.example/a,\nDeck 2,http://c.example/a,\n\ndeck-4,,/dev/x\n",
    [
      "line 3, host_name: a host name has small letters, digits and - only, at most 63",
      "line 3, update_url: update_url begins with https://",
      "line 5, reader: a reader is driver:path, such as pn532-uart:/dev/ttyAMA0",
    ],
  ],
  [
    "names that are there twice, are empty, or have more cells",
    "host_name;site\ndeck-1;a\ndeck-1;b\n;c\ndeck-4;d;e\n",
    [
      "line 3: host_name deck-1 is in line 2, too",
      "line 4: host_name is empty",
      "line 5: it has 3 cells, and the first row 2",
    ],
  ],
  ["an unknown column", "host_name,colour\ndeck-1,red\n", ["line 2, colour: there is no such key"]],
  ["no column for the name", "site\nhall\n", ["line 1: the column host_name is missing"]],
  [
    "a column of the tool",
    "host_name,ca_file\nd,x\n",
    ["line 1: ca_file is written by this tool: delete that column"],
  ],
  ["no rows", "host_name\n", ["there is no row for a card"]],
  [
    "a quote that is not closed",
    'host_name\nd\n"e\n',
    [expect.stringMatching(/^line 3: a quote is not closed/)],
  ],
  [
    "a broker without TLS, which no card with a certificate takes",
    "host_name,mqtt_url\nd,mqtt://192.168.1.5\n",
    ["line 2, mqtt_url: each card has a certificate, which needs TLS: use mqtts://"],
  ],
  [
    "addresses that the script of the image takes and the service refuses",
    `host_name,mqtt_url,hawkbit_url,update_url,cards_url,cards_key
a,mqtts://b..example:88833,https://x?a=b,https://x:abc,https://c..example:99999/a,${"5a".repeat(32)}
b,mqtts://h:18883/abc,,,,
`,
    [
      'line 2, hawkbit_url: hawkbit_url must be an address that begins with https:// or http:// and has no account, no ? and no #, not "https://x?a=b"',
      'line 2, update_url: update_url must be an address that begins with https://, not "https://x:abc"',
      'line 2, cards_url: cards_url must be an address that begins with https://, not "https://c..example:99999/a"',
      'line 2, mqtt_url: mqtt.url must be an address such as "mqtts://broker.lan:8883", not "mqtts://b..example:88833"',
      'line 3, mqtt_url: mqtt.url must be an address such as "mqtts://broker.lan:8883", without a path, not "mqtts://h:18883/abc"',
    ],
  ],
  [
    "shared cards without their key, and a key without them",
    `host_name,cards_url,cards_key\na,https://c.example/a,\nb,,${"5a".repeat(32)}\n`,
    [
      "line 2, cards_url: it needs cards_key, the digits that tapdeck cards key prints",
      "line 3, cards_key: it needs cards_url, the address of the bundle",
    ],
  ],
] as const)
  test(`a table with ${what} is refused by its lines, and nothing is written`, () =>
    provisioned(table, async (out, { error, code }) => {
      expect([code, error.split("\n").slice(0, faults.length)]).toEqual([1, [...faults]]);
      await expect(stat(out)).rejects.toThrow("ENOENT");
    }));

for (const [what, table] of [
  [
    "Latin-1, which would put a replacement character into a password",
    Buffer.from("wifi_password\nM\u00fcnchen1\n", "latin1"),
  ],
  ["UTF-16 with a mark", Buffer.from("\ufeffhost_name\nd\n", "utf16le")],
  ["UTF-16 without a mark", Buffer.from("host_name\nd\n", "utf16le")],
] as const)
  test(`a table in ${what} is refused with the way to save it`, () =>
    provisioned(table, async (out, { error, code }) => {
      expect([code, error]).toEqual([
        1,
        expect.stringMatching(
          /fleet\.csv is not UTF-8: save it again, in Excel as "CSV UTF-8", in LibreOffice as/,
        ),
      ]);
      await expect(stat(out)).rejects.toThrow("ENOENT");
    }));

test("a table that is not there is named in words", async () => {
  const { error, code } = await run([process.execPath, join(root, "tools/provision.ts"), "away.csv", "OUT"]);
  expect([code, error]).toEqual([1, "away.csv: there is no such file or folder"]);
});

opensslTest("the folder of a removed row is named, and a list for hawkBit that no row needs is removed", () =>
  provisioned("host_name,hawkbit_url\na,https://updates.example\nb,\nc,\n", async (out, { code }, again) => {
    expect(code).toBe(0);
    expect(await again("host_name,site\nb,hall\n")).toEqual({
      out: `${out}/cards: the files of 1 card\nno row names these, so they are as before: ${out}/cards/a, ${out}/cards/c`,
      error: "",
      code: 0,
    });
    expect(await readdir(join(out, "cards"))).toHaveLength(3);
    expect((await readdir(out)).toSorted()).not.toContain("hawkbit-targets.json");
  }),
);

opensslTest(
  "cards with a hawkBit server have tokens, which a later run keeps, and a list for the server",
  () =>
    provisioned(
      "host_name,hawkbit_url\ndeck-1,https://updates.example\ndeck-2,\n",
      async (out, { code }, again) => {
        expect(code).toBe(0);
        const read = async () => JSON.parse(await readFile(join(out, "hawkbit-targets.json"), "utf8"));
        const targets = await read();
        const token = (await readFile(join(out, "cards/deck-1/hawkbit.token"), "utf8")).trim();
        expect(token).toMatch(/^[0-9a-f]{32}$/);
        expect(targets).toEqual([{ controllerId: "deck-1", name: "deck-1", securityToken: token }]);
        const conf = (name: string) => readFile(join(out, "cards", name, "tapdeck.conf"), "utf8");
        expect(await conf("deck-1")).toContain("\ntoken_file=hawkbit.token\n");
        expect(await conf("deck-2")).not.toContain("token");
        await again();
        expect(await read()).toEqual(targets);
        // A full disk leaves an empty file, which was taken for a token.
        await writeFile(join(out, "cards/deck-1/hawkbit.token"), "");
        await again();
        expect((await read())[0].securityToken).toMatch(/^[0-9a-f]{32}$/);
      },
    ),
);
