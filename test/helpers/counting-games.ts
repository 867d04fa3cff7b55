/** Launchers, decks and places with the counting game (nes-games.ts), Debian's RetroArch and a free core, without a screen. */
import { expect } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { LauncherConfig } from "../../src/config/launcher-settings.ts";
import { headlessRetroArch } from "./disc-core.ts";
import { type Deck, type DeckOptions, makeDeck } from "./launch-harness.ts";
import { makeCountingNesGame } from "./nes-games.ts";
import { eventually } from "./processes.ts";
import { makePlace, type Running, readerConfig } from "./tapdeck.ts";

const cores = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/libretro`;

/** The owner's settings of RetroArch. */
export const retroArchSettings = `${headlessRetroArch}libretro_directory = "${cores}"
libretro_info_path = "/usr/share/libretro/info"
`;

/** RetroArch with its home and its settings in the folder. */
export const retroArchIn = (folder: string): LauncherConfig => ({
  id: "games",
  systems: ["NES", "Homebrew"],
  extensions: [],
  command: ["retroarch", `--config=${join(folder, "retroarch.cfg")}`, "{path}"],
  kind: "retroarch",
  core: "nestopia",
  environment: { HOME: folder, XDG_CONFIG_HOME: folder },
});

/** A deck whose launcher can play NES/Game.nes. `more` is added to the owner's settings of RetroArch. */
export async function gameDeck(options: DeckOptions = {}, more = ""): Promise<Deck> {
  const deck = await makeDeck({ launchers: (folder) => [retroArchIn(folder)], ...options });
  await deck.file("NES/Game.nes", makeCountingNesGame());
  await deck.file("retroarch.cfg", retroArchSettings + more);
  return deck;
}

/** Plays the card for some frames and stops it. */
export async function playSomeFrames(deck: Deck, card = "NES/Game.nes"): Promise<void> {
  await deck.play(card);
  // RetroArch runs commands and answers between two frames. After the answers, some frames have passed since the state
  // was loaded.
  if ((await deck.run("**control:pause||**control:resume")) !== true) throw new Error("it was not paused");
  if ((await deck.run("**stop")) !== true) throw new Error("it was not stopped");
}

/** A place for the compiled program, with a card that is a file. `retroArch` has lines for its section of the config. */
export async function gamePlace(retroArch = "") {
  const place = await makePlace();
  const card = join(place.folder, "card");
  // Players cannot make folders in the data folder itself.
  const folder = join(place.folder, ".home");
  const { command, environment = {} } = retroArchIn(folder);
  await place.config(`${readerConfig(`file:${card}`)}insert_mode = true
[retroarch]
${retroArch}
[[launchers]]
id = "games"
systems = ["NES"]
kind = "retroarch"
command = ${JSON.stringify(command)}
env = { ${Object.entries(environment)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join(", ")} }
`);
  const game = join(place.folder, "media/NES/Game.nes");
  await mkdir(dirname(game), { recursive: true });
  await mkdir(folder);
  await writeFile(game, makeCountingNesGame());
  await writeFile(join(folder, "retroarch.cfg"), retroArchSettings);
  await writeFile(card, "");
  return { place, card, game, folder };
}

export async function untilPlaying({ client }: Pick<Running, "client">): Promise<void> {
  await eventually(async () => expect((await client.call("media.active"))?.playbackState).toBe("playing"));
  await client.call("media.control", { action: "pause" });
  await client.call("media.control", { action: "resume" });
}
