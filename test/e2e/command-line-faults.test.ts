/** Faults of the command line that its first users met, each with the name of the fault, against the compiled program. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually, within } from "../helpers/processes.ts";
import { makePlace, noReaders, type Place, program, startTapdeck } from "../helpers/tapdeck.ts";

async function tapdeck({ folder }: Pick<Place, "folder">, ...words: readonly string[]) {
  const command = [
    program,
    ...words,
    ...(words.some((word) => word.startsWith("--data=")) ? [] : [`--data=${folder}`]),
  ];
  const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "pipe"], cwd: folder });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { out, err, code: await child.exited };
}

/** Runs the same commands with a running service, and then without it on its files. */
async function onlineAndOffline(place: Place, run: () => Promise<void>): Promise<void> {
  {
    await using _service = await startTapdeck(place);
    await run();
  }
  await run();
}

async function passphraseFile({ folder }: Place, name: string, passphrase: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${passphrase}\n`);
  return `--passphrase-file=${path}`;
}

test("restore --check took a wrong passphrase, which a restore refuses", async () => {
  await using place = await makePlace(noReaders);
  const right = await passphraseFile(place, "right", "correct horse battery");
  const wrong = await passphraseFile(place, "wrong", "wrong horse battery");
  const [sealed, open] = [join(place.folder, "sealed.tapdeck"), join(place.folder, "open.tapdeck")];
  {
    await using _service = await startTapdeck(place);
    expect((await tapdeck(place, "backup", sealed, right)).code).toBe(0);
    expect((await tapdeck(place, "backup", open)).code).toBe(0);
  }
  await onlineAndOffline(place, async () => {
    expect(await tapdeck(place, "restore", sealed, "--check", wrong)).toEqual({
      out: "",
      err: "tapdeck: the passphrase is wrong, and nothing was changed\n",
      code: 1,
    });
    expect(await tapdeck(place, "restore", sealed, "--check", right)).toMatchObject({ err: "", code: 0 });
    expect(await tapdeck(place, "restore", sealed, "--check")).toMatchObject({ err: "", code: 0 });
    expect(await tapdeck(place, "restore", open, "--check", wrong)).toMatchObject({ err: "", code: 0 });
  });
  expect(existsSync(join(place.folder, "backups/restore"))).toBe(false);
});

test("backup into a missing folder showed a stack trace, or made the folder", async () => {
  await using place = await makePlace(noReaders);
  const missing = join(place.folder, "missing");
  await onlineAndOffline(place, async () => {
    expect(await tapdeck(place, "backup", join(missing, "deep/x"))).toEqual({
      out: "",
      err: `tapdeck: there is no folder ${missing}/deep: make it first, or name another file\n`,
      code: 73,
    });
    expect(existsSync(missing)).toBe(false);
    expect(await tapdeck(place, "backup", place.folder)).toMatchObject({
      err: `tapdeck: ${place.folder} is a folder: name a file in it\n`,
      code: 73,
    });
    expect(await tapdeck(place, "backup", join(place.folder, "config.toml/x"))).toMatchObject({
      err: `tapdeck: ${place.folder}/config.toml is no folder that can be read: name another file\n`,
      code: 73,
    });
  });
});

test("backup replaced an older backup without a word", async () => {
  await using place = await makePlace(noReaders);
  const file = join(place.folder, "x.tapdeck");
  await onlineAndOffline(place, async () => {
    expect((await tapdeck(place, "backup", file, "--force")).code).toBe(0);
    const before = await Bun.file(file).bytes();
    expect(await tapdeck(place, "backup", file)).toEqual({
      out: "",
      err: `tapdeck: ${file}: there is a backup already: --force replaces it\n`,
      code: 73,
    });
    expect(await Bun.file(file).bytes()).toEqual(before);
  });
  await writeFile(file, "a diary");
  expect(await tapdeck(place, "backup", file, "--force")).toMatchObject({
    err: `tapdeck: ${file} exists and is no backup: name another file\n`,
    code: 1,
  });
});

test("a second map of a UID to a missing file had no warning", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const missing = /^warning: there is no file Audio\/Doorbel\.wav below the media folders/;
  expect((await tapdeck(place, "map", "04a1b2c3", "Audio/Doorbel.wav")).err).toMatch(missing);
  const again = await tapdeck(place, "map", "04a1b2c3", "Audio/Doorbel.wav");
  expect(again.err).toMatch(missing);
  expect(again.code).toBe(0);
  const json = await tapdeck(place, "map", "04a1b2c3", "Audio/Doorbel.wav", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ id: 1, warning: expect.stringMatching(/^there is no file/) });
  expect((await tapdeck(place, "map", "04a1b2c3", "**stop")).err).toBe("");
});

test("map --next without a reader waited forever", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  expect(await tapdeck(place, "map", "--next", "**stop")).toEqual({
    out: "",
    err: "tapdeck: no reader is connected: tapdeck readers lists the readers\n",
    code: 1,
  });
});

test("map took a text that is no UID without a word, and showed a UID as it was typed", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const why = "is not hexadecimal, so no card has this UID: it fits only a code that an app sends as one";
  expect(await tapdeck(place, "map", "hello world", "**stop")).toEqual({
    out: "mapped helloworld to **stop\n",
    err: `warning: helloworld ${why}\n`,
    code: 0,
  });
  const json = await tapdeck(place, "map", "xyz", "Audio/Gone.wav", "--json");
  expect(JSON.parse(json.out)).toMatchObject({
    uid: "xyz",
    warning: expect.stringMatching(/^xyz is not hexadecimal.*; there is no file/),
  });
  expect(await tapdeck(place, "map", "04 A1:b2 c3", "**stop")).toEqual({
    out: "mapped 04a1b2c3 to **stop\n",
    err: "",
    code: 0,
  });
  expect((await tapdeck(place, "unmap", "04:a1:B2:C3")).out).toBe("unmapped 04a1b2c3\n");
  expect(await tapdeck(place, "map", " : ", "**stop")).toMatchObject({ out: "", code: 64 });
});

test("restore named a backup folder of its own, instead of that of the service", async () => {
  await using place = await makePlace(noReaders);
  await using elsewhere = await makePlace(noReaders);
  const file = join(place.folder, "x.tapdeck");
  const kept = (number: number) => `before-restore-${number}.tapdeck in ${place.folder}/backups\n`;
  {
    await using _service = await startTapdeck(place);
    expect((await tapdeck(elsewhere, "backup", file, "--port", `${place.port}`)).code).toBe(0);
    const { out } = await tapdeck(elsewhere, "restore", file, "--port", `${place.port}`);
    expect(out).toEndWith(`restored; the state before is kept as ${kept(1)}`);
  }
  expect((await tapdeck(place, "restore", file)).out).toEndWith(kept(2));
});

test("pair --code on loopback gave a code and named <this device>, which no phone finds", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const refused = await tapdeck(place, "pair", "--code");
  expect([refused.out, refused.code]).toEqual(["", 1]);
  expect(refused.err).toStartWith(
    "tapdeck: the service is not reached from the network: see api.listen in the settings",
  );
  expect((await service.client.call("pairing")).open).toBeUndefined();
  // With `--host` and an address, such as that of a proxy, pairing opens.
  const pairing = Bun.spawn([program, "pair", "--code", "--host", "fd00::1", `--data=${place.folder}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { value } = await pairing.stderr.pipeThrough(new TextDecoderStream()).getReader().read();
  expect(value).toStartWith(`Open http://[fd00::1]:${place.port} on the phone`);
  await service.client.call("pairing.cancel");
  expect(await pairing.exited).toBe(1);
});

test("settings and cards alone, or with a typo, got only the usage line", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  expect(await tapdeck(place, "settings")).toEqual(await tapdeck(place, "settings", "get"));
  expect(await tapdeck(place, "cards")).toEqual({
    out: "no shared cards: the setting cards.url is empty\n",
    err: "",
    code: 0,
  });
  expect((await tapdeck(place, "settings", "st", "x")).err).toBe(
    "tapdeck: use it as: tapdeck settings [get [NAME] | set NAME VALUE]; did you mean set? (tapdeck help settings)\n",
  );
  expect((await tapdeck(place, "settings", "set", "volume")).err).toEndWith(
    "VALUE] (tapdeck help settings)\n",
  );
  const cards = "tapdeck: use it as: tapdeck cards [status] | key FILE | publish FOLDER KEY FILE";
  expect((await tapdeck(place, "cards", "statsu")).err).toBe(
    `${cards}; did you mean status? (tapdeck --help)\n`,
  );
  expect(await tapdeck(place, "cards", "foo")).toEqual({
    out: "",
    err: `${cards} (tapdeck --help)\n`,
    code: 64,
  });
});

test("files that are missing, or there already, were reported in the raw words of the library", async () => {
  await using place = await makePlace(noReaders);
  const gone = join(place.folder, "gone");
  const key = join(place.folder, "cards.key");
  const errorOf = async (...words: readonly string[]) => (await tapdeck(place, ...words)).err;
  const none = "there is no such file or folder\n";
  expect((await tapdeck(place, "cards", "key", key)).code).toBe(0);
  expect(await errorOf("cards", "key", key)).toBe(`tapdeck: ${key}: there is a file already\n`);
  expect(await errorOf("cards", "publish", gone, key, "out")).toBe(`tapdeck: ${gone}: ${none}`);
  expect(await errorOf("status", "--config", gone)).toBe(
    `tapdeck: cannot read the config file ${gone}: ${none}`,
  );
  expect(await errorOf("backup", "x", "--passphrase-file", gone)).toBe(`tapdeck: ${gone}: ${none}`);
  const empty = join(place.folder, "empty");
  await writeFile(empty, "");
  await onlineAndOffline(place, async () => {
    expect(await tapdeck(place, "restore", empty)).toEqual({
      out: "",
      err: "tapdeck: this file is empty, so it is no backup of Tapdeck\n",
      code: 1,
    });
    expect(await errorOf("restore", gone)).toMatch(/^tapdeck: (the backup cannot be read: )?there is no /);
  });
  await using _service = await startTapdeck(place);
  expect(await errorOf("map", "--import", `${gone}.csv`)).toBe(`tapdeck: cannot read ${gone}.csv: ${none}`);
  expect(await errorOf("map", "--export", join(gone, "x.csv"))).toBe(`tapdeck: ${gone}/x.csv: ${none}`);
  expect(await errorOf("write", "--list", gone)).toBe(`tapdeck: cannot read the list ${gone}: ${none}`);
});

test("--timeout that was over before the answer said that no service runs", async () => {
  await using place = await makePlace(noReaders);
  const absent = await tapdeck(place, "status", "--timeout", "60000");
  expect(absent).toMatchObject({
    err: `tapdeck: no tapdeck answers on port ${place.port}: start it with tapdeck\n`,
    code: 69,
  });
  // This server accepts connections, and never answers.
  using _slow = Bun.listen({ hostname: "127.0.0.1", port: place.port, socket: { data() {} } });
  expect(await tapdeck(place, "status", "--timeout", "1")).toEqual({
    out: "",
    err: `tapdeck: no tapdeck answered on port ${place.port} in 1 ms: wait longer with --timeout, or start it with tapdeck\n`,
    code: 69,
  });
});

test("a first start whose port was in use left a data folder with a database and a certificate", async () => {
  await using place = await makePlace(noReaders);
  const data = join(place.folder, "new");
  const config = `--config=${join(place.folder, "config.toml")}`;
  using _other = Bun.listen({ hostname: "127.0.0.1", port: place.port, socket: { data() {} } });
  const child = Bun.spawn([program, config, `--data=${data}`], { stdio: ["ignore", "ignore", "pipe"] });
  const said = await new Response(child.stderr).text();
  expect(said).toContain(`port ${place.port} is in use`);
  expect(said).toMatch(new RegExp(`\\(.+, process ${process.pid}, listens there\\)`));
  expect(await child.exited).toBe(69);
  expect(existsSync(data)).toBe(false);
});

test("tap and volume waited for ever after the service had ended, and kept a processor busy", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const tapped = tapdeck(place, "tap", "**delay:60s");
  await service.heard.next("running", ({ text }) => text === "**delay:60s");
  // Its script waits behind the other one.
  const set = tapdeck(place, "volume", "40");
  await service.heard.next("running", ({ text }) => text === "**volume:40");
  process.kill(service.pid, "SIGKILL");
  const end = { out: "", err: "tapdeck: the service has ended\n", code: 1 };
  expect(await within("end of the commands", Promise.all([tapped, set]))).toEqual([end, end]);
});

test("pair, whose service ended, showed a stack trace as an internal error", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const paired = tapdeck(place, "pair", "--code", "--host=192.0.2.1", "--json");
  await eventually(async () => expect((await service.client.call("pairing")).open).toBeDefined());
  process.kill(service.pid, "SIGKILL");
  expect(await within("end of the command", paired)).toMatchObject({
    err: expect.stringMatching(/(^|\n)tapdeck: the service has ended\n$/),
    code: 1,
  });
});

test("restore of a file that is missing or no backup left a data folder with a database", async () => {
  await using place = await makePlace(noReaders);
  const data = join(place.folder, "new");
  const diary = join(place.folder, "diary");
  await writeFile(diary, "dear diary");
  for (const [file, why] of [
    [join(place.folder, "missing"), "the backup cannot be read: there is no such file or folder"],
    [diary, "this file is no backup of Tapdeck"],
  ] as const) {
    const { err, code } = await tapdeck(place, "restore", file, `--data=${data}`);
    expect([err, code]).toEqual([`tapdeck: ${why}\n`, 1]);
    expect(existsSync(data)).toBe(false);
  }
});
