/** Games on several discs in a real RetroArch, with a core that has a drive and no game: lists, cards of other discs, and their order. */
import { beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headlessRetroArch, makeDiscCore } from "../helpers/disc-core.ts";
import { makeDeck } from "../helpers/launch-harness.ts";
import { eventually } from "../helpers/processes.ts";

let core: string;

beforeAll(async () => {
  core = makeDiscCore(await mkdtemp(join(tmpdir(), "tapdeck-disc-core-")));
});

async function discDeck(names: readonly string[]) {
  const deck = await makeDeck({
    launchers: (folder) => [
      {
        id: "games",
        systems: ["PSX"],
        extensions: [],
        core,
        command: ["retroarch", `--config=${join(folder, "retroarch.cfg")}`, "{path}"],
        kind: "retroarch",
        environment: { HOME: folder, XDG_CONFIG_HOME: folder, DISC_LOG: join(folder, "discs.log") },
      },
    ],
  });
  await deck.file("retroarch.cfg", headlessRetroArch);
  await mkdir(join(deck.folder, "PSX"));
  for (const name of names) await deck.file(`PSX/${name}`, "");
  /** The acts of the drive, with the names of files instead of their paths. */
  const drive = async () => {
    const log = await readFile(join(deck.folder, "discs.log"), "utf8").catch(() => "");
    return log
      .trim()
      .split("\n")
      .map((line) => line.replace(/\S*\/(?=[^/]*$)/, ""));
  };
  return {
    deck,
    drive,
    drives: (acts: readonly string[]) => eventually(async () => expect(await drive()).toEqual([...acts])),
    inDrive: async () => (await deck.launchQueue.playback())?.disc,
    [Symbol.asyncDispose]: () => deck[Symbol.asyncDispose](),
  };
}

const discs = [1, 2, 3].map((number) => `Quest (USA) (Disc ${number}).chd`);

test("the discs of a game without a list are in the drive one after another, by next, previous and their cards", async () => {
  await using trial = await discDeck([...discs, "Other (Disc 1).chd", "Quest (USA).txt"]);
  const { deck } = trial;
  await deck.play(`PSX/${discs[0]}`);
  // Saves keep the name of the first disc.
  const started = ["list Quest (USA) (Disc 1).m3u", `disc ${discs[0]}`];
  await trial.drives(started);
  expect(await trial.inDrive()).toEqual({ number: 1, of: 3 });
  expect(await deck.run("**control:previous")).toBe("the game has 3 discs, and disc 1 is in the drive");
  expect(await deck.run("**control:next")).toBe(true);
  const second = [...started, "open", "close", `disc ${discs[1]}`];
  await trial.drives(second);
  expect(await trial.inDrive()).toEqual({ number: 2, of: 3 });
  // A card of another disc changes the disc of the game that runs.
  expect(await deck.run(`PSX/${discs[2]}`)).toBe(true);
  const third = [...second, "open", "close", `disc ${discs[2]}`];
  await trial.drives(third);
  expect(await deck.run(`PSX/${discs[0]}`)).toBe(true);
  await trial.drives([...third, "open", "close", `disc ${discs[0]}`]);
  expect(deck.told("media.started")).toHaveLength(1);
  expect(deck.told("media.stopped")).toEqual([]);
});

test("a game starts with the disc of its card, and its drive knows the order of the others", async () => {
  await using trial = await discDeck(discs);
  await trial.deck.play(`PSX/${discs[1]}`);
  const started = ["list Quest (USA) (Disc 1).m3u", `disc ${discs[1]}`];
  await trial.drives(started);
  expect(await trial.inDrive()).toEqual({ number: 2, of: 3 });
  expect(await trial.deck.run(`PSX/${discs[0]}`)).toBe(true);
  const first = [...started, "open", "close", `disc ${discs[0]}`];
  await trial.drives(first);
  expect(await trial.deck.run("**control:next||**control:next")).toBe(true);
  const changes = [discs[1], discs[2]].flatMap((disc) => ["open", "close", `disc ${disc}`]);
  await trial.drives([...first, ...changes]);
});

test("the card of another disc left a game paused, and the disc before in its drive", async () => {
  await using trial = await discDeck(discs);
  const { deck } = trial;
  await deck.play(`PSX/${discs[0]}`);
  const started = ["list Quest (USA) (Disc 1).m3u", `disc ${discs[0]}`];
  await trial.drives(started);
  expect(await deck.run("**control:pause")).toBe(true);
  expect(await deck.run(`PSX/${discs[1]}`)).toBe(true);
  await trial.drives([...started, "open", "close", `disc ${discs[1]}`]);
  expect(await deck.launchQueue.playback()).toMatchObject({
    playbackState: "playing",
    disc: { number: 2, of: 3 },
  });
});

test("a card that names the player starts the game again, with its own disc", async () => {
  await using trial = await discDeck(discs);
  await trial.deck.play(`PSX/${discs[0]}`);
  const list = "list Quest (USA) (Disc 1).m3u";
  await trial.drives([list, `disc ${discs[0]}`]);
  expect(await trial.deck.run(`PSX/${discs[1]}?launcher=games`)).toBe(true);
  await trial.drives([list, `disc ${discs[0]}`, list, `disc ${discs[1]}`]);
  expect(trial.deck.told("media.started")).toHaveLength(2);
});

test("a list of the game's own counts, and a game of one disc starts as it is", async () => {
  await using trial = await discDeck([...discs, "Single.chd"]);
  // A PC may have written the ending in capitals.
  await trial.deck.file("PSX/Quest.M3U", `${discs[2]}\n${discs[0]}\n`);
  await trial.deck.play("PSX/Quest.M3U");
  const listed = ["list Quest.M3U", `disc ${discs[2]}`];
  await trial.drives(listed);
  expect(await trial.deck.run("**control:next")).toBe(true);
  const changed = [...listed, "open", "close", `disc ${discs[0]}`];
  await trial.drives(changed);
  await trial.deck.play("PSX/Single.chd");
  await trial.drives([...changed, "disc Single.chd"]);
  expect(await trial.inDrive()).toBeUndefined();
  expect(await trial.deck.run("**control:next")).toBe("RetroArch has no next command");
});
