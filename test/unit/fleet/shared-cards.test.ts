/** Shared cards: the signed file, and a device that keeps the last good one, against a real HTTPS server. */

import { expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSettings } from "../../../src/config/settings.ts";
import { faultLine } from "../../../src/core/faults.ts";
import { cardsBundleBytesMax } from "../../../src/core/limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { openSharedCards } from "../../../src/fleet/shared-cards.ts";
import {
  checkBundle,
  makeBundle,
  makeCardsKey,
  openBundle,
  settingsIn,
} from "../../../src/fleet/shared-cards-bundle.ts";
import { startCardsServer } from "../../helpers/cards-server.ts";
import { startFileServer } from "../../helpers/file-server.ts";
import { createManualClock } from "../../helpers/manual-clock.ts";
import { eventually, printed } from "../../helpers/processes.ts";

const mapping = (uid: string, override = "SNES/Game.sfc") =>
  `[[mapping]]\ntype = "uid"\npattern = "${uid}"\noverride = "${override}"\n`;
const launchers = '[[launchers]]\nid = "club"\nsystems = ["SNES"]\ncommand = ["club-player", "{path}"]\n';

interface Owner extends AsyncDisposable {
  readonly folder: string;
  readonly key: string;
  /** The text of a bundle with these files. */
  publish(serial: number, files: Readonly<Record<string, string>>): Promise<string>;
}

/** The computer of the owner of the cards. */
async function owner(): Promise<Owner> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-cards-"));
  const key = await makeCardsKey(join(folder, "cards.key"));
  return {
    folder,
    key,
    async publish(serial, files) {
      const cards = await mkdtemp(join(folder, "cards-"));
      await mkdir(join(cards, "mappings"));
      for (const [name, text] of Object.entries(files)) await writeFile(join(cards, name), text);
      return (await makeBundle(cards, join(folder, "cards.key"), serial)).text;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test("a key of openssl signs, too, and the key file is closed to others", async () => {
  await using made = await owner();
  expect((await stat(join(made.folder, "cards.key"))).mode & 0o777).toBe(0o600);
  await expect(makeCardsKey(join(made.folder, "cards.key"))).rejects.toThrow("EEXIST");
  if (Bun.which("openssl") === null) return;
  const path = join(made.folder, "openssl.pem");
  await printed(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path]);
  await mkdir(join(made.folder, "mappings"));
  await writeFile(join(made.folder, "mappings/a.toml"), mapping("04aa"));
  const { text, publicHex } = await makeBundle(made.folder, path, 3);
  expect(openBundle(text, publicHex)).toEqual({ serial: 3, files: { "mappings/a.toml": mapping("04aa") } });
  expect(() => openBundle(text, made.key)).toThrow("its signature is not by the key of cards.key");
});

test("a bundle with any changed character is refused", async () => {
  await using made = await owner();
  const text = await made.publish(1, { "mappings/a.toml": mapping("04aa"), "launchers.toml": launchers });
  expect(openBundle(text, made.key).serial).toBe(1);
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === "A" ? "B" : "A";
    expect(() => openBundle(text.slice(0, at) + other + text.slice(at + 1), made.key)).toThrow();
    expect(() => openBundle(text.slice(0, at), made.key)).toThrow();
  }
});

for (const [name, source, said] of [
  ["mappings/a.toml", mapping("04aa", ""), "mappings/a.toml, line 4: override: it is empty"],
  ["mappings/a.toml", "x = 1", "mappings/a.toml, line 1: there is no x in a file of mappings"],
  ["mappings/a.toml", '[[mapping]]\ntype = "text"\nmatch = "regex"\npattern = "("\noverride = "x"', "line 4"],
  [
    "launchers.toml",
    '[[launchers]]\nid = "x"\ncommand = ["x"]',
    "launchers.toml, line 3: the command of the",
  ],
  [
    "launchers.toml",
    '[api]\nanonymous = "change"',
    "launchers.toml, line 1: api has no place here: this file takes [[launchers]]",
  ],
  ["limits.toml", "[playtime]\ndaily_minutes = -1", "limits.toml, line 2: playtime.daily_minutes must be"],
  [
    "limits.toml",
    "[audio]\nfeedback = false",
    "limits.toml, line 2: audio.feedback has no place here: this file takes [playtime], and volume_max of [audio]",
  ],
  ["limits.toml", "[playtime", "limits.toml, line 1: this is not TOML"],
  ["hooks.toml", "", '"hooks.toml" has no place in it'],
] as const)
  test(`not published: ${said}`, async () => {
    await using made = await owner();
    await expect(made.publish(1, { [name]: source })).rejects.toThrow(said);
  });

test("all files of a bundle together are within the limits of mapping files", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 257 }, (_, n) => [`mappings/${n}.toml`, mapping(`04${n}`)]),
  );
  await expect(checkBundle({ serial: 1, files })).rejects.toThrow("more than 256 files");
  const many = Array.from({ length: 5001 }, (_, n) => mapping(`04${n}`)).join("");
  await expect(
    checkBundle({ serial: 1, files: { "mappings/a.toml": many, "mappings/b.toml": many } }),
  ).rejects.toThrow("mappings/b.toml: with this file, the files hold more than 10000 mappings");
});

test("the device's own settings come first, key by key, and a change of either counts at once", async () => {
  await using made = await owner();
  const path = join(made.folder, "config.toml");
  await writeFile(
    path,
    '[playtime]\nsession_minutes = 0\n[[launchers]]\nid = "club"\nextensions = [".x"]\ncommand = ["own", "{path}"]\n',
  );
  const settings = await createSettings({ path, dataFolder: made.folder, mustExist: true, log: silentLog });
  try {
    const text = await made.publish(1, {
      "launchers.toml": `${launchers}[[launchers]]\nid = "more"\nsystems = ["NES"]\nkind = "retroarch"\n`,
      "limits.toml": "[playtime]\ndaily_minutes = 60\nsession_minutes = 30\n[audio]\nvolume_max = 50\n",
    });
    const seen: number[] = [];
    settings.onChange(({ playtime }) => seen.push(playtime.dailyMinutes));
    settings.share(settingsIn(openBundle(text, made.key)));
    expect(settings.current()).toMatchObject({
      playtime: { dailyMinutes: 60, sessionMinutes: 0 },
      audio: { volumeMax: 50, feedback: true },
      launchers: [{ id: "club", command: ["own", "{path}"] }, { id: "more" }],
    });
    await settings.update({ dailyMinutes: 0 });
    expect(settings.current().playtime.dailyMinutes).toBe(0);
    expect(await readFile(path, "utf8")).not.toContain("more");
    settings.share({});
    expect(settings.current()).toMatchObject({ audio: { volumeMax: 100 }, launchers: [{ id: "club" }] });
    expect(seen).toEqual([60, 0, 0]);
  } finally {
    await settings.close();
  }
});

/** A device with these shared cards. */
async function device(made: Owner, server: { readonly url: string; readonly certificatePem: string }) {
  const dataFolder = join(made.folder, "data");
  const caFile = join(made.folder, "ca.pem");
  await mkdir(dataFolder, { recursive: true });
  await writeFile(caFile, server.certificatePem);
  const clock = createManualClock();
  const source = { url: server.url, key: made.key, caFile };
  const open = () => openSharedCards({ source, dataFolder, clock, log: silentLog, random: () => 0.5 });
  const cards = await open();
  let changes = 0;
  cards.follow(async () => {
    changes += 1;
  });
  return {
    cards,
    clock,
    dataFolder,
    /** The state after a restart, without a network. */
    open,
    changes: () => changes,
    uids: () => cards.files().map(({ source: text }) => /pattern = "(\w+)"/.exec(text)?.[1]),
    /** Resolves when the server was asked once more and its answer was processed. */
    async look(ms: number) {
      const before = cards.status();
      clock.advance(ms);
      await eventually(() => {
        const { checked, fault } = cards.status();
        return checked !== before.checked || fault !== before.fault;
      });
    },
    [Symbol.dispose]: () => cards[Symbol.dispose](),
  };
}

const hourMs = 3_600_000;

test("a file of cards.ca_file that is missing or no certificate was shown as a server that does not answer", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  using deck = await device(made, server);
  const caFile = join(made.folder, "ca.pem");
  await writeFile(caFile, "no certificate");
  await deck.look(2000);
  expect(faultLine(deck.cards.faults())).toStartWith(
    "the shared cards of the server are not used: cards.ca_file names a file without a certificate in PEM",
  );
  await rm(caFile);
  await deck.look(hourMs);
  expect(faultLine(deck.cards.faults())).toContain(
    `cards.ca_file: cannot read ${caFile}: there is no such file or folder`,
  );
  expect(deck.cards.faults()).toMatchObject([{ code: "cards-refused", of: "others" }]);
});

test("a bundle is fetched at the start, asked for by its ETag each hour, and replaced by a newer one", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  server.offer(await made.publish(1, { "mappings/a.toml": mapping("04aa") }));
  using one = await device(made, server);
  expect(one.cards.status()).toEqual({ url: server.url });
  await one.look(1000);
  expect([one.uids(), one.changes(), faultLine(one.cards.faults())]).toEqual([["04aa"], 1, ""]);
  expect((await stat(join(one.dataFolder, "shared-cards.bundle"))).mode & 0o777).toBe(0o600);
  await one.look(hourMs);
  expect(server.asked).toHaveLength(2);
  expect(server.asked[1]?.some((line) => /^if-none-match: "\d+"$/i.test(line))).toBe(true);
  expect(one.changes()).toBe(1);
  server.offer(await made.publish(2, { "mappings/b.toml": mapping("04bb") }));
  await one.look(hourMs);
  expect([one.uids(), one.changes(), one.cards.status().serial]).toEqual([["04bb"], 2, 2]);
});

test("a server of cards redirects neither to this device, nor to a server without TLS", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  await using local = await startFileServer(Buffer.from("a page of this device"));
  using one = await device(made, server);
  for (const to of [local.url, `https://127.0.0.1:${new URL(server.url).port}/other.cards`]) {
    server.redirect(to);
    const { length: asked } = server.asked;
    one.clock.advance(hourMs);
    await eventually(() => one.cards.status().fault?.includes(to) === true);
    expect(server.asked).toHaveLength(asked + 1);
  }
  expect(local.asked).toEqual([]);
});

test("without a network the kept bundle is in use from the start, and of another key it is not", async () => {
  await using made = await owner();
  await using other = await owner();
  using server = await startCardsServer();
  server.offer(await made.publish(7, { "mappings/a.toml": mapping("04aa"), "limits.toml": "" }));
  using one = await device(made, server);
  await one.look(1000);
  using again = await one.open();
  expect([again.files().length, again.status().serial]).toEqual([1, 7]);
  const { url } = server;
  const source = { url, key: other.key, caFile: "" };
  using foreign = await openSharedCards({ ...one, source, log: silentLog });
  expect([foreign.files(), foreign.status()]).toEqual([[], { url }]);
});

for (const [what, offerOf, said] of [
  [
    "an older serial number",
    (made: Owner) => made.publish(4, { "mappings/b.toml": mapping("04bb") }),
    "its serial number is 4, and that of the bundle in use is 5",
  ],
  [
    "the same serial number and other content",
    (made: Owner) => made.publish(5, { "mappings/b.toml": mapping("04bb") }),
    "its serial number is 5",
  ],
  [
    "another key",
    async () => {
      await using other = await owner();
      return await other.publish(6, { "mappings/b.toml": mapping("04bb") });
    },
    "its signature is not by the key of cards.key",
  ],
  ["a page of a portal", async () => "<html>Log in</html>\n", "it is no bundle of shared cards"],
  [
    "too many bytes",
    async () => "x".repeat(cardsBundleBytesMax + 1),
    `more than ${cardsBundleBytesMax} bytes`,
  ],
] as const)
  test(`${what}: the last good bundle stays in use, and health has the reason`, async () => {
    await using made = await owner();
    using server = await startCardsServer();
    const good = await made.publish(5, { "mappings/a.toml": mapping("04aa") });
    server.offer(good);
    using one = await device(made, server);
    await one.look(1000);
    server.offer(await offerOf(made));
    await one.look(hourMs);
    expect(faultLine(one.cards.faults())).toContain(said);
    expect([one.uids(), one.changes()]).toEqual([["04aa"], 1]);
    using again = await one.open();
    expect(again.status().serial).toBe(5);
    server.offer(good);
    await one.look(60_000);
    expect([faultLine(one.cards.faults()), one.uids()]).toEqual(["", ["04aa"]]);
  });

test("a server that does not answer, or sends half, is asked again after 1, 2, 4 and more minutes, and is no fault", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  const text = await made.publish(1, { "mappings/a.toml": mapping("04aa") });
  server.refuse(503);
  using one = await device(made, server);
  await one.look(1000);
  expect(one.cards.status().fault).toBe(`${server.url}: the server answered 503`);
  server.offer(text, text.slice(0, 50));
  one.clock.advance(59_999);
  expect(server.asked).toHaveLength(1);
  await one.look(1);
  expect(one.cards.status().fault).toStartWith(`${server.url}: `);
  expect([faultLine(one.cards.faults()), one.uids()]).toEqual(["", []]);
  server.offer(text);
  one.clock.advance(119_999);
  expect(server.asked).toHaveLength(2);
  await one.look(1);
  expect([one.cards.status().fault, one.uids()]).toEqual([undefined, ["04aa"]]);
});

test("a bundle that cannot be kept is not used", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  server.offer(await made.publish(1, { "mappings/a.toml": mapping("04aa") }));
  using one = await device(made, server);
  await rm(one.dataFolder, { recursive: true });
  await writeFile(one.dataFolder, "a file is in the way");
  await chmod(one.dataFolder, 0o400);
  await one.look(1000);
  expect([faultLine(one.cards.faults()) === "", one.uids(), one.changes()]).toEqual([false, [], 0]);
});

test("without a key nothing is asked, and health says so", async () => {
  await using made = await owner();
  using server = await startCardsServer();
  using one = await device({ ...made, key: "" }, server);
  one.clock.advance(hourMs);
  expect(faultLine(one.cards.faults())).toBe("cards.key is not set, so no bundle can be checked");
  expect(server.asked).toEqual([]);
});
