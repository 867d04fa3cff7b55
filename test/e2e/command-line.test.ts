/** The commands of the terminal, against the compiled service. */
import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../helpers/free-port.ts";
import { gather } from "../helpers/lines.ts";
import { eventually } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import {
  firstReader,
  indexMedia,
  makePlace,
  noReaders,
  type Place,
  program,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

async function ended(command: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { out, err, code: await child.exited };
}

const tapdeck = (place: Place, ...words: readonly string[]) =>
  ended([program, ...words, `--data=${place.folder}`]);

test("a second `make run` printed hints before it failed", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const demo = [process.execPath, join(import.meta.dir, "../../tools/demo.ts")];
  const { out, err, code } = await ended(demo, { TAPDECK_DEMO_PORT: String(place.port) });
  expect(out).toBe("");
  expect(err).toStartWith(`Another instance is running at http://localhost:${place.port}/:
  process ${service.pid}: ${program} --data=${place.folder}
`);
  expect(code).toBe(69);
});

test("a second `make run` at another port changed the first one's settings, and a built-in serial port was its reader", async () => {
  const port = freePort();
  const folder = join(import.meta.dir, `../../build/demo-${port}`);
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../../tools/demo.ts")], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    env: { ...process.env, TAPDECK_DEMO_PORT: String(port) },
  });
  try {
    const [hints, log] = [gather(child.stdout).text, gather(child.stderr).text];
    const said = () => hints() + log();
    await eventually(() => expect(said()).toContain(`Or open http://localhost:${port}/ in a browser`));
    const settings = await Bun.file(join(folder, "config.toml")).text();
    expect(settings).toContain(`port = ${port}\n`);
    const isSimulated = settings.includes('connect = ["simulated:"]');
    expect(said()).toMatch(isSimulated ? /so there is a simulated one/ : /^Reader: (?!.*\/dev\/ttyS)/m);
    await eventually(() => expect(said()).toContain("info  media: indexed"));
    // Ends the service as Ctrl-C does. The fault: each such stop logged the warning "changes are not seen any more".
    process.kill(-child.pid, "SIGINT");
    await child.exited;
    expect(said()).toContain("service: stopping");
    expect(said()).not.toContain("changes are not seen");
  } finally {
    child.kill();
    await child.exited;
    await rm(folder, { recursive: true });
  }
});

test("write x without a reader asked for a tag, and call took a mapping to a missing file without a word", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place);
  const missing = "no reader that can write is connected: tapdeck readers lists the readers";
  expect(await tapdeck(place, "write", "x")).toEqual({ out: "", err: `tapdeck: ${missing}\n`, code: 1 });
  const mapping = { type: "uid", match: "exact", pattern: "04a1", override: "SNES/Gone.sfc" };
  const made = await tapdeck(place, "call", "mappings.new", JSON.stringify(mapping));
  expect(JSON.parse(made.out)).toMatchObject({
    id: 1,
    warning: expect.stringMatching(/^there is no file SNES\/Gone\.sfc below the media folders/),
  });
  const again = await tapdeck(place, "call", "mappings.new", JSON.stringify(mapping));
  expect(again.err).toStartWith("tapdeck: pattern: the mapping 1 is for this UID already");
});

test("a tap during a write was reported as nothing launched, because of hold mode or a busy reader", async () => {
  await using place = await makePlace(readerConfig("simulated:"));
  await using service = await startTapdeck(place);
  await firstReader(service);
  const writing = service.client.call("readers.write", { text: "**echo:hello" });
  // The service reads the messages of a connection in order.
  await service.client.call("version");
  // The card lies there until it is written, however slow the machine is.
  const tap = await tapdeck(place, "tap", "--for=600000", "Audio/Other.wav");
  expect(tap).toEqual({ out: "written, not launched\n", err: "", code: 0 });
  expect(await writing).toBeNull();
  expect(await service.heard.next("tokens.written")).toEqual({
    readerId: expect.stringMatching(/./),
    uid: expect.stringMatching(/^[0-9a-f]{14}$/),
  });
});

test.skipIf(Bun.which("mpv") === null)(
  "an owner moves through what plays, and changes its volume",
  async () => {
    await using place = await makePlace(`${noReaders}
[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".wav"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`);
    for (const name of ["1", "2"])
      await Bun.write(join(place.folder, `media/Audio/Album/Track ${name}.wav`), makeSound(600));
    await using service = await startTapdeck(place);
    const out = async (...words: readonly string[]) => {
      const { out, err, code } = await tapdeck(place, ...words);
      return code === 0 ? out.trimEnd() : `${code} ${err.trimEnd()}`;
    };
    expect(await out("next")).toStartWith("1 tapdeck: ");
    expect(await out("seek", "-10")).toStartWith("1 tapdeck: ");
    expect(await out("volume")).toBe("nothing plays that has a volume of its own");
    await service.client.call("launch", "Audio/Album");
    await service.heard.next("media.started", ({ mediaName }) => mediaName === "Track 1");
    expect(await out("next")).toStartWith("Track 2 (");
    expect(await out("next")).toStartWith("1 tapdeck: ");
    expect(await out("previous")).toStartWith("Track 1 (");
    expect(await out("seek", "5:00")).toMatch(/^Track 1 \(.*\), 5:0\d of 10:00/);
    expect(await out("seek", "-60")).toMatch(/^Track 1 \(.*\), 4:0\d of 10:00/);
    expect(await out("volume", "40")).toBe("40 %");
    expect(await out("volume", "-5")).toBe("35 %");
    expect(JSON.parse(await out("volume", "--json"))).toEqual({ volume: 35 });
    expect(await out("volume", "loud")).toStartWith("1 tapdeck: ");
  },
);

test("an owner sees, stops, maps, unmaps and sets without knowing the API", async () => {
  await using place = await makePlace(readerConfig("simulated:") + sleeper());
  await place.file("SNES/Super Game.sfc");
  await using service = await startTapdeck(place);
  await firstReader(service);
  await indexMedia(service.client);
  const out = async (...words: readonly string[]) => {
    const { out, err, code } = await tapdeck(place, ...words);
    return code === 0 ? out.trimEnd() : `${code} ${err.trimEnd()}`;
  };
  expect(await out("tap", "SNES/Super Gmae.sfc")).toBe(
    "1 tapdeck: there is no file SNES/Super Gmae.sfc below the media folders; did you mean SNES/Super Game.sfc?",
  );
  expect(await out("search", "supre")).toBe('Nothing fits; this is for "super":\nSNES/Super Game.sfc');
  expect(await out("search", "snes", "game")).toBe("SNES/Super Game.sfc");
  expect(await out("tap", "SNES/Super Game.sfc", "--uid", "04a1b2c3d4e5f6")).toBe(
    "started Super Game (sleeper)",
  );
  // The watch of the folders may look through them once more.
  let status = "";
  await eventually(async () => {
    status = await out("status");
    expect(status).toMatch(/\nmedia +1 in the index/);
  });
  for (const part of [/^service +\d/, /\nplays +Super Game \(/, /\nreaders +1 connected/])
    expect(status).toMatch(part);
  expect(JSON.parse(await out("status", "--json"))).toMatchObject({ active: { mediaName: "Super Game" } });
  expect(await out("stop")).toBe("stopped Super Game");
  expect(await out("stop")).toBe("nothing plays");
  expect(await out("pause")).toStartWith("1 tapdeck: ");
  const history = await out("history", "-n", "2");
  expect(history).toMatch(
    /failed +SNES\/Super Gmae\.sfc: there is no file.*; did you mean SNES\/Super Game\.sfc\?\n.*04a1b2c3d4e5f6 +done +SNES\/Super Game\.sfc$/,
  );

  const watching = Bun.spawn([program, "watch", `--data=${place.folder}`], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const seen = gather(watching.stdout).text;
  // No event shows when the command listens.
  await eventually(async () => {
    await out("tap", "SNES/Super Gmae.sfc");
    expect(seen()).toContain("did you mean SNES/Super Game.sfc?");
  });
  watching.kill();

  expect(await out("map", "04:A1:B2:C3:D4:E5:F6", "SNES/Super Game.sfc")).toBe(
    "mapped 04a1b2c3d4e5f6 to SNES/Super Game.sfc",
  );
  expect(await out("map", "04a1b2c3d4e5f6", "**stop")).toBe(
    "mapped 04a1b2c3d4e5f6 to **stop, in place of SNES/Super Game.sfc",
  );
  // The row had the text of the card, so a mapping to other media was not seen, and a card without a text had nothing.
  await out("tap", "SNES/Super Game.sfc", "--uid", "04a1b2c3d4e5f6");
  expect(await out("history", "-n", "1")).toMatch(/04a1b2c3d4e5f6 +done +\*\*stop$/);
  await out("tap", "", "--uid", "04a1b2c3d4e5f7");
  expect(await out("history", "-n", "1")).toMatch(/04a1b2c3d4e5f7 +failed +the tag is blank: /);
  expect((await tapdeck(place, "map", "04ff", "SNES/Gone.sfc")).err).toStartWith(
    "warning: there is no file SNES/Gone.sfc",
  );
  expect(await out("unmap", "04a1b2c3d4e5f7")).toBe(
    "1 tapdeck: there is no mapping for the UID 04a1b2c3d4e5f7; did you mean 04a1b2c3d4e5f6?",
  );
  expect(await out("unmap", "04a1b2c3d4e5f6", "--json")).toBe('{"deleted":[1]}');

  expect(await out("settings", "get", "insertMode")).toBe("false");
  expect(await out("settings", "set", "insertMode", "true")).toBe("set insertMode to true");
  expect(await out("settings", "set", "dailyMinutes", "90")).toBe("set dailyMinutes to 90");
  expect(JSON.parse(await out("settings", "get", "--json"))).toMatchObject({
    insertMode: true,
    dailyMinutes: 90,
  });
  expect(await out("settings", "get", "insertMoed")).toBe(
    "64 tapdeck: there is no setting insertMoed; did you mean insertMode?",
  );
});

test("map --export and --import carry all mappings to another deck, or none", async () => {
  await using place = await makePlace(noReaders + sleeper());
  await place.file("SNES/Game.sfc");
  await using _service = await startTapdeck(place);
  const file = (name: string) => join(place.folder, name);
  await tapdeck(place, "map", "04A1", "**stop");
  for (const name of ["cards.csv", "cards.toml"])
    expect(await tapdeck(place, "map", "--export", file(name))).toEqual({
      out: `wrote ${file(name)}\n`,
      err: "",
      code: 0,
    });
  expect(await Bun.file(file("cards.csv")).text()).toBe(
    "enabled,label,type,match,pattern,override\r\ntrue,,uid,exact,04A1,**stop\r\n",
  );
  const again = await tapdeck(place, "map", "--export", file("cards.csv"));
  expect([again.code, again.err]).toEqual([
    73,
    `tapdeck: ${file("cards.csv")}: there is a file already: --force replaces it\n`,
  ]);
  await Bun.write(file("more.csv"), "type,pattern,override\nuid,04a2,SNES/Gone.sfc\nuid,04a1,**stop\n");
  const more = file("more.csv");
  expect(await tapdeck(place, "map", "--import", more)).toEqual({
    out: "added 1\n",
    err: `${more}, line 2: there is no file SNES/Gone.sfc below the media folders
${more}, line 3: the mapping 1 does the same, so this one is left out
`,
    code: 0,
  });
  await Bun.write(more, "type,pattern,override\nuid,05,x\nuid,04a1,y\nuid,04a2,z\n");
  const refused = await tapdeck(place, "map", "--import", more);
  expect([refused.code, refused.out, refused.err]).toEqual([
    1,
    "",
    `tapdeck: nothing was imported
${more}, line 3: pattern: the mapping 1 is for this UID already: delete or switch off one of them
${more}, line 4: pattern: the mapping 2 is for this UID already: delete or switch off one of them
`,
  ]);
  expect(await tapdeck(place, "map", "--import", file("cards.toml"), "--replace", "--json")).toMatchObject({
    out: '{"added":1,"removed":2,"notes":[]}\n',
  });
  await Bun.write(more, "");
  expect((await tapdeck(place, "map", "--import", more, "--replace")).err).toContain("it is empty");
  expect((await tapdeck(place, "map", "--import", file("cards.txt"))).err).toContain(
    "the name of the file must end in .toml or .csv",
  );
});

test("log shows the newest lines by level, and follows until Ctrl-C", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const all = await tapdeck(place, "log");
  expect(all.out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d info {2}service: listening port=\d+ /m);
  const [line = ""] =
    (await tapdeck(place, "log", "-n", "1000", "--json")).out.match(/^.*listening.*$/m) ?? [];
  expect(JSON.parse(line)).toMatchObject({ level: "info", area: "service", time: expect.any(String) });
  expect((await tapdeck(place, "log", "--level", "error")).out).toBe("");
  expect(await tapdeck(place, "log", "--level", "loud")).toMatchObject({
    err: 'tapdeck: --level must be error, warn, info, not "loud" (tapdeck --help)\n',
    code: 64,
  });
  const following = Bun.spawn([program, "log", "-n", "1", "--follow", `--data=${place.folder}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = following.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (words: string) => {
    while (!text.includes(words)) text += (await lines.read()).value ?? "";
  };
  await until("\n");
  for (const name of ["first", "second"]) {
    await service.client.callAny("settings.update", { [name]: 1 });
    await until(`names=${name}\n`);
  }
  following.kill("SIGINT");
  expect(await following.exited).toBe(0);
});

test("pair prints its link, code and revocation as JSON", async () => {
  await using place = await makePlace(noReaders);
  await using service = await startTapdeck(place);
  const json = async (...words: readonly string[]) =>
    JSON.parse((await tapdeck(place, "pair", ...words, "--json")).out);
  const { id, link } = await json("Anna", "--host", "deck.lan");
  expect(link).toStartWith(`http://deck.lan:${place.port}/#`);
  expect(await json("--list")).toMatchObject([{ id, name: "Anna" }]);
  expect(await json("--revoke", "Anna")).toEqual({ revoked: id });
  const pairing = Bun.spawn(
    [program, "pair", "--code", "--host=deck.lan", "--json", `--data=${place.folder}`],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const { value } = await pairing.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  expect(JSON.parse(value ?? "")).toEqual({
    code: expect.stringMatching(/^\d{6}$/),
    expires: expect.any(String),
  });
  await service.client.call("pairing.cancel");
  expect(await pairing.exited).toBe(1);
});

test("map --next waits for a card, and later taps of it start the text", async () => {
  await using place = await makePlace(readerConfig("simulated:") + sleeper());
  await place.file("SNES/Game.sfc");
  await using service = await startTapdeck(place);
  await firstReader(service);
  const mapping = Bun.spawn([program, "map", "--next", "SNES/Game.sfc", `--data=${place.folder}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  // The command listens before it asks the person for the card.
  const asked = await mapping.stderr.getReader().read();
  expect(Buffer.from(asked.value ?? []).toString()).toBe("lay the card on the reader\n");
  await service.client.call("tokens.scan", { uid: "04A1", text: "" });
  expect(await new Response(mapping.stdout).text()).toBe("mapped 04a1 to SNES/Game.sfc\n");
  expect(await mapping.exited).toBe(0);
  await service.client.call("launch", { uid: "04a1" });
  expect(await service.heard.next("media.started")).toMatchObject({ mediaName: "Game" });
});
