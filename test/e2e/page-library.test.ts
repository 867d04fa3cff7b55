/** The page's library and player in real Chromium: a paired phone drives the compiled service with mpv and an emulated reader. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createClassicTag } from "../emulators/emulated-tags.ts";
import { mp3 } from "../helpers/audio-files.ts";
import { goTo, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll } from "../helpers/device.ts";
import { emulatedPn532, ntag213, textOn, unlessHeldUp } from "../helpers/emulated.ts";
import { makeFiles } from "../helpers/library.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { connected, look, openPage, region, settled, unnamed } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { firstReader, indexMedia, readerConfig, sleeper } from "../helpers/tapdeck.ts";
import { pngOf } from "../image/picture.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const mpv = `
[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".wav", ".mp3"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;

const songs = ["Der Mond", "Die Sterne", "Das Licht"];
const song = (title: string, track: number) =>
  mp3({ title, artist: "Zoë & Band", album: "Nachtlieder", track, disc: 1, picture: picture() }, 70);

/** The number of games is more than twice the number of tiles that the page keeps. */
const manyGames = 600;
/** The page keeps 240 tiles, those of a part that is being filled, and those of the part with the focus. */
const tilesMax = 264;

const reader = emulatedPn532("real");
const device = deviceForAll(
  readerConfig(reader) + mpv + sleeper(".sfc", ".gba"),
  async ({ place, service }) => {
    for (const name of ["Star Garden", "Super Game"]) await place.file(`SNES/${name}.sfc`);
    for (const name of ["First Song", "Second Song"])
      await Bun.write(join(place.folder, `media/Audio/Album/${name}.wav`), makeSound(200));
    for (const [number, title] of songs.entries())
      await Bun.write(
        join(place.folder, `media/Audio/Nachtlieder/0${number + 1}.mp3`),
        song(title, number + 1),
      );
    for (const path of ["SNES/images/Star Garden.png", "Audio/Album/images/First Song.png"])
      await Bun.write(join(place.folder, "media", path), picture());
    const numbers = Array.from({ length: 120 }, (_, number) => String(number).padStart(3, "0"));
    makeFiles(
      join(place.folder, "media"),
      numbers.map((number) => `GBA/Long/${Number(number) % 2 === 0 ? "Arrow" : "Boat"} ${number}.gba`),
    );
    makeFiles(
      join(place.folder, "media"),
      Array.from({ length: manyGames }, (_, number) => `NES/Game ${String(number).padStart(3, "0")}.nes`),
    );
    await firstReader(service);
    await indexMedia(service.client);
  },
);
let phone: TestBrowser;
beforeAll(async () => {
  if (canMakeNetworks) phone = await startChromium({}, device.network.onNeighbour);
}, 120_000);
afterAll(async () => {
  await phone?.[Symbol.asyncDispose]();
  await reader[Symbol.asyncDispose]();
});

/** A cover with a wave of orange in blue. */
function picture(): Uint8Array {
  const [width, height] = [120, 160];
  const pixels = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at++)
    pixels.set((at % width) + Math.floor(at / width) < 140 ? [240, 140, 60] : [50, 70, 140], at * 3);
  return pngOf({ width, height, pixels });
}

const open = (name: string, locale?: string) => openPage(device, phone, name, locale);
const playback = () => device.service.client.call("media.active");

remoteTest(
  "the page shows the cover and the position, and pauses, seeks, changes the volume and moves in a playlist",
  async () => {
    await using visit = await open("Player");
    const { page, faults } = visit;
    const now = region(page, "Now playing");
    await device.service.client.call("launch", "**playlist.play:Audio/Album");
    await now.getByText("First Song", { exact: true }).waitFor();
    await now.locator("img.cover").and(page.locator("[src^='data:image']")).waitFor();
    await now.getByRole("slider", { name: "Position" }).waitFor();
    await look(page, "now");

    await page.reload();
    await now.locator("img.cover[src^='data:image']").waitFor();
    await now.getByRole("button", { name: "Pause" }).click();
    await now.getByText("Paused").waitFor();
    expect(await playback()).toMatchObject({ playbackState: "paused" });
    // The focus is on the button that replaced "Pause".
    expect(
      await now.getByRole("button", { name: "Continue" }).evaluate((one) => one === document.activeElement),
    ).toBe(true);
    await now.getByRole("slider", { name: "Position" }).fill("100000");
    await eventually(async () =>
      expect(Math.abs(((await playback())?.positionMs ?? 0) - 100_000)).toBeLessThan(1000),
    );
    await now.getByText(/^1:(39|40) \/ 3:20$/).waitFor();
    await now.getByRole("slider", { name: "Volume" }).fill("35");
    await eventually(async () => expect((await playback())?.volume).toBe(35));
    // Another phone, or a card, continues the song.
    await device.service.client.call("media.control", { action: "resume" });
    await now.getByRole("button", { name: "Pause" }).waitFor();
    await now.getByRole("button", { name: "Next" }).click();
    await now.getByText("Second Song", { exact: true }).waitFor();
    await now.getByRole("button", { name: "Previous" }).click();
    await now.getByText("First Song", { exact: true }).waitFor();
    await now.getByRole("button", { name: "Stop" }).click();
    await now.getByText("Nothing plays.").waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the page shows the card on the reader, and the last taps by name with reasons in words",
  () =>
    unlessHeldUp(async () => {
      await using visit = await open("Taps");
      const { page, faults } = visit;
      await region(page, "Readers").getByText("No card lies on it.").waitFor();
      reader.put(ntag213("04b1b2b3b4b5b6", "SNES/Super Game.sfc"));
      await region(page, "Readers").getByText("Here now: Super Game").waitFor();
      await region(page, "Now playing").getByText("Super Game", { exact: true }).waitFor();
      await region(page, "Last taps")
        .getByRole("button", { name: /^Super Game/ })
        .first()
        .waitFor();
      reader.take();
      await region(page, "Readers").getByText("No card lies on it.").waitFor();
      reader.put(ntag213("04c1c2c3c4c5c6"));
      await region(page, "Last taps").getByText("This card is empty.").waitFor();
      await region(page, "Readers").getByText("Here now: Empty card 04c1c2c3c4c5c6").waitFor();
      await look(page, "taps");
      reader.take();
      await region(page, "Readers").getByText("No card lies on it.").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      expect(await region(page, "Last taps").getByText("the tag is blank").count()).toBe(0);
      expect(faults).toEqual([]);
    }),
  60_000,
);

remoteTest(
  "the library is a wall of covers or a list, whose folders have addresses and load as they come into view",
  async () => {
    await using visit = await open("Browser");
    const { page, faults } = visit;
    const browse = region(page, "Browse");
    const entries = browse.getByRole("listitem");
    const names = entries.locator(".name");
    const hasFocus = (one: Element) => one === document.activeElement;
    await goTo(page, "Library");
    await browse.getByRole("link", { name: /^Super Nintendo/ }).click();
    await browse.getByText("2 files and folders").waitFor();
    expect(page.url()).toEndWith("/#library/SNES");
    const star = entries.filter({ hasText: "Star Garden" });
    await star.locator("img[src^='data:image']").waitFor();
    expect(await star.getByRole("button").first().evaluate(hasFocus)).toBe(true);
    await look(page, "wall");
    await browse.getByRole("button", { name: "List" }).click();
    await star.locator(".thumb img[src^='data:image']").waitFor();
    await look(page, "folder");
    await page.reload();
    await star.getByRole("button", { name: /^Write Star Garden/ }).waitFor();
    await browse.getByRole("button", { name: "Covers" }).click();
    await browse.getByRole("link", { name: /Back$/ }).click();
    const advance = browse.getByRole("link", { name: /^Game Boy Advance/ });
    await advance.click();
    await browse.getByRole("link", { name: "Long" }).click();
    await browse.getByText("Game Boy Advance · 120 files and folders").waitFor();
    expect(page.url()).toEndWith("/#library/GBA/Long");
    await eventually(async () => {
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      expect(await entries.count()).toBe(120);
    });
    expect(new Set(await names.allTextContents()).size).toBe(120);
    expect(await browse.getByRole("button", { name: "Show more" }).count()).toBe(0);
    await look(page, "long");
    await page.goBack();
    // The focus is on the folder that was left.
    await browse.getByText("1 file or folder").waitFor();
    expect(await browse.getByRole("link", { name: "Long" }).evaluate(hasFocus)).toBe(true);
    await page.goBack();
    await browse.getByText(/ systems$/).waitFor();
    await eventually(async () => expect(await advance.evaluate(hasFocus)).toBe(true));
    await page.goForward();
    await browse.getByRole("link", { name: "Long" }).click();
    const letter = (name: string) => browse.getByRole("button", { name, exact: true });
    const isHere = (name: string) => letter(name).and(page.locator("[aria-current=true]")).waitFor();
    await letter("A").click();
    await browse.getByText("60 files and folders").waitFor();
    await isHere("A");
    // The entries of the letters after it follow.
    await eventually(async () => {
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      expect(await entries.count()).toBe(120);
    });
    await isHere("B");
    await look(page, "letters");
    await letter("B").click();
    await browse.getByText("60 files and folders").waitFor();
    await eventually(async () => expect(await names.first().textContent()).toBe("Boat 001"));
    await browse.getByRole("button", { name: "Boat 001", exact: true }).click();
    await page.getByText("Starting Boat 001").waitFor();
    await goTo(page, "Now");
    await region(page, "Now playing").getByText("Boat 001", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.evaluate(() => {
      location.hash = "#library/GBA/Gone";
    });
    await browse.getByText(/ systems$/).waitFor();
    expect(page.url()).toEndWith("/#library");
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "a wall that was scrolled to its end and back keeps a few tiles, and asks for the pictures in view only",
  async () => {
    await using visit = await open("Scroller");
    const { page, faults } = visit;
    let sent = 0;
    page.on("websocket", (socket) => socket.on("framesent", () => (sent += 1)));
    await page.reload();
    await connected(page);
    const browse = region(page, "Browse");
    const tiles = browse.getByRole("listitem");
    await page.evaluate(() => {
      location.hash = "#library/NES";
    });
    const game = (number: number) =>
      browse.getByRole("button", { name: `Game ${String(number).padStart(3, "0")}`, exact: true });
    const seen = (number: number) => game(number).and(page.locator(":visible")).waitFor();
    await seen(0);
    const sentBefore = sent;
    await eventually(async () => {
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      await game(manyGames - 1).waitFor({ timeout: 200 });
    });
    expect(await browse.getByRole("button", { name: "Show more" }).count()).toBe(0);
    const height = await page.evaluate(() => document.body.scrollHeight);
    expect(await tiles.count()).toBeLessThanOrEqual(tilesMax);
    // Each page of entries is a request. The pictures of tiles that were passed without a stop are not requested.
    expect(sent - sentBefore).toBeLessThan(manyGames / 2);
    await game(0).waitFor({ state: "detached" });
    for (const share of [0.75, 0.5, 0.25]) {
      await page.evaluate((y) => scrollTo(0, y), Math.round(height * share));
      await seen(Math.round(manyGames * share));
      expect(await tiles.count()).toBeLessThanOrEqual(tilesMax);
      expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(tilesMax * 15);
    }
    // The tile with the focus stays, however far the page scrolls.
    await game(Math.round(manyGames / 4)).focus();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await seen(manyGames - 1);
    expect(await game(Math.round(manyGames / 4)).evaluate((one) => one === document.activeElement)).toBe(
      true,
    );
    await page.evaluate(() => scrollTo(0, 0));
    await seen(0);
    expect(faults).toEqual([]);
  },
  90_000,
);

remoteTest(
  "an album plays from its folder, becomes a favourite, and the start of the page has favourites, what was played, and systems",
  async () => {
    await using visit = await open("Home");
    const { page, faults } = visit;
    const { client } = device.service;
    const browse = region(page, "Browse");
    await goTo(page, "Library");
    await browse.getByRole("link", { name: /^Audio/ }).click();
    await browse.getByRole("button", { name: "More about Album" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Add to the favourites" }).click();
    await page.getByText("Album is a favourite now.").waitFor();
    await browse.getByRole("link", { name: "Album" }).click();
    await browse.getByText("Audio · 2 files and folders").waitFor();
    await browse.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByText("Starting Album").waitFor();
    await goTo(page, "Now");
    await region(page, "Now playing").getByText("First Song", { exact: true }).waitFor();
    await region(page, "Played lately").getByRole("button", { name: "First Song", exact: true }).waitFor();
    await region(page, "Systems")
      .getByRole("link", { name: /^Super Nintendo/ })
      .waitFor();
    await look(page, "home");
    const favourites = region(page, "Favourites");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Nothing plays.").waitFor();
    await favourites.getByRole("button", { name: "More about Album" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Play" }).click();
    await region(page, "Now playing").getByText("First Song", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await favourites.getByRole("link", { name: "Album" }).click();
    await browse.getByText("Audio · 2 files and folders").waitFor();
    await page.goBack();
    await favourites.getByRole("button", { name: "More about Album" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove from the favourites" }).click();
    await favourites.waitFor({ state: "hidden" });
    expect(await client.call("media.favourites")).toEqual({ favourites: [] });
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "songs have the titles, artists and pictures in their files, and an album its length",
  async () => {
    await using visit = await open("Listener");
    const { page, faults } = visit;
    const browse = region(page, "Browse");
    const { client } = device.service;
    await eventually(async () =>
      expect((await client.call("media.search", { query: "zoe nachtlieder" })).total).toBe(songs.length),
    );
    await goTo(page, "Library");
    await browse.getByRole("link", { name: /^Audio/ }).click();
    const album = browse.getByRole("listitem").filter({ hasText: "Nachtlieder" });
    await album.locator("img[src^='data:image']").waitFor();
    await album.getByRole("link").click();
    await browse.getByText("Audio · 3 files and folders · 3:30").waitFor();
    expect(await browse.locator("li .name").allTextContents()).toEqual(songs);
    await browse.getByText("Zoë & Band · Nachtlieder").first().waitFor();
    await look(page, "album");
    await browse.getByRole("button", { name: "Die Sterne", exact: true }).click();
    await page.getByText("Starting Die Sterne").waitFor();
    await goTo(page, "Now");
    const now = region(page, "Now playing");
    await now.getByText("Die Sterne", { exact: true }).waitFor();
    await now.getByText("Zoë & Band · Nachtlieder", { exact: true }).waitFor();
    await now.locator("img.cover[src^='data:image']").waitFor();
    await region(page, "Played lately").getByRole("button", { name: "Die Sterne", exact: true }).waitFor();
    const search = region(page, "Play something");
    await search.getByRole("searchbox").fill("zoe licht");
    await search.getByRole("button", { name: /^Das Licht/ }).waitFor();
    await look(page, "song");
    // The player may be loading at first.
    await eventually(async () =>
      expect((await device.run("status")).out).toContain("Die Sterne (Zoë & Band · Nachtlieder), 0:"),
    );
    await page.getByRole("button", { name: "Stop" }).click();
    await now.getByText("Nothing plays.").waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the address names the screen, also after Back and a reload, and a screen is up to date when it is shown",
  async () => {
    await using visit = await open("Walker");
    const { page, faults } = visit;
    const current = page.locator("nav [aria-current=page]");
    const shows = (name: string) => current.getByText(name, { exact: true }).waitFor();
    await shows("Now");
    await goTo(page, "Library");
    expect(page.url()).toEndWith("/#library");
    expect(await page.title()).toBe("Library · Tapdeck");
    await region(page, "Browse").waitFor();
    expect(await region(page, "Now playing").count()).toBe(0);
    await page.reload();
    await shows("Library");
    await goTo(page, "Device");
    await page.goBack();
    await shows("Library");
    await page.evaluate(() => {
      location.hash = "#nowhere";
    });
    await shows("Now");
    // The media start while another screen is in view.
    await goTo(page, "Device");
    await device.service.client.call("launch", "SNES/Star Garden.sfc");
    await goTo(page, "Now");
    await region(page, "Now playing").getByText("Star Garden", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Nothing plays.").waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "an answer that came after the library was left changed the address, and the link of the library led nowhere",
  async () => {
    await using visit = await open("Leaver");
    const { page, faults } = visit;
    // The service stands still, so the library waits for its first answer.
    process.kill(device.service.pid, "SIGSTOP");
    try {
      await goTo(page, "Library");
      await page.evaluate(() => {
        location.hash = "#device/sound";
      });
      await page.locator("main:not([aria-busy]) > .place").waitFor();
    } finally {
      process.kill(device.service.pid, "SIGCONT");
    }
    await page.getByLabel("Volume at the start").waitFor();
    await settled(page);
    expect(page.url()).toEndWith("/#device/sound");
    await goTo(page, "Library");
    await region(page, "Browse")
      .getByRole("link", { name: /^Super Nintendo/ })
      .waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the page speaks the browser's language until its visitor chooses another, which stays",
  async () => {
    await using visit = await open("Polyglot", "de-AT");
    const { page, faults } = visit;
    await region(page, "Es läuft").getByText("Es läuft nichts.").waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("de");
    for (const { code, screen, nothing } of [
      { code: "ja", screen: "再生中", nothing: "何も再生していません。" },
      { code: "pt", screen: "Agora", nothing: "Nada em reprodução." },
      { code: "en", screen: "Now", nothing: "Nothing plays." },
      { code: "fr", screen: "En cours", nothing: "Rien n’est lancé." },
    ]) {
      await page.locator("footer select").selectOption(code);
      await page.getByRole("link", { name: screen, exact: true }).waitFor();
      await page.getByText(nothing).waitFor();
      expect(await page.locator("html").getAttribute("lang")).toBe(code);
      await look(page, `now-${code}`);
    }
    await page.reload();
    await page.getByText("Rien n’est lancé.").waitFor();
    expect(await page.locator("footer select").inputValue()).toBe("fr");
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "the search pages, takes the name of a system, and forgives one wrong letter",
  async () => {
    await using visit = await open("Finder");
    const { page, faults } = visit;
    const search = region(page, "Play something");
    const rows = search.getByRole("listitem");
    const type = (words: string) => search.getByRole("searchbox").fill(words);
    await type("boat");
    await search.getByText("40 of 60 results").waitFor();
    await search.getByRole("button", { name: "Show more" }).click();
    await search.getByText("60 results", { exact: true }).waitFor();
    expect(await rows.count()).toBe(60);
    await type("snes");
    await search.getByText("2 results", { exact: true }).waitFor();
    await type("game boy advance arrow 002");
    await search.getByText("1 result", { exact: true }).waitFor();
    expect(await rows.locator(".name").allTextContents()).toEqual(["Arrow 002"]);
    for (const slip of ["star gardem", "star gadren", "star garrden", "ster garden", "snes supr"]) {
      await type("");
      await eventually(async () => expect(await rows.count()).toBe(0));
      await type(slip);
      await search.getByText("Nothing fits. Instead").waitFor();
      expect(await rows.first().locator(".name").textContent()).toBe(
        slip === "snes supr" ? "Super Game" : "Star Garden",
      );
    }
    await look(page, "search");
    await type("album");
    await search.getByRole("link", { name: /^Album/ }).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await search.getByText("Nothing fits.").count()).toBe(0);
    expect(page.url()).toEndWith("/#now/find/album");
    // The Back button leads from a folder to the results in which it was found, and from the results to the start.
    await search.getByRole("link", { name: /^Album/ }).click();
    await region(page, "Browse").getByText("Audio · 2 files and folders").waitFor();
    await page.goBack();
    await search.getByRole("link", { name: /^Album/ }).waitFor();
    expect(await search.getByRole("searchbox").inputValue()).toBe("album");
    await page.reload();
    await search.getByRole("link", { name: /^Album/ }).waitFor();
    await page.goBack();
    await eventually(async () => expect(await search.getByRole("searchbox").inputValue()).toBe(""));
    await eventually(async () => expect(await rows.count()).toBe(0));
    await type("zzzzzz");
    await search.getByText("Nothing fits.", { exact: true }).waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "a launch of a file that is not there is explained, and the file that was meant starts by a press",
  async () => {
    await using visit = await open("Speller");
    const { page, faults } = visit;
    await region(page, "Now playing").getByText("Nothing plays.").waitFor();
    await device.service.client.call("launch", "SNES/Star Gardem.sfc");
    await page
      .getByText(/there is no file SNES\/Star Gardem\.sfc/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Did you mean Star Garden?" }).click();
    await region(page, "Now playing").getByText("Star Garden", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Nothing plays.").waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "arrow keys and Enter alone find the folder of a game, start it and stop it",
  async () => {
    await using visit = await open("Television");
    const { page, faults } = visit;
    await page.setViewportSize({ width: 1920, height: 1080 });
    const focused = () => page.locator(":focus");
    const press = async (key: string, name: RegExp) => {
      for (let times = 0; times < 20; times++) {
        await page.keyboard.press(key);
        if (name.test((await focused().getAttribute("aria-label")) ?? (await focused().textContent()) ?? ""))
          return;
      }
      throw new Error(`${key} does not lead to ${name}`);
    };
    expect(await unnamed(page)).toEqual([]);
    await press("ArrowRight", /^Library$/);
    await page.keyboard.press("Enter");
    await region(page, "Browse")
      .getByRole("link", { name: /^Super Nintendo/ })
      .waitFor();
    await page.keyboard.press("ArrowDown");
    await press("ArrowUp", /^(Covers|List)/);
    await press("ArrowRight", /^List/);
    await page.keyboard.press("Enter");
    await press("ArrowDown", /^Super Nintendo/);
    await page.keyboard.press("Enter");
    await region(page, "Browse").getByText("2 files and folders").waitFor();
    await press("ArrowDown", /^Super Game/);
    await press("ArrowRight", /^Write Super Game to a card/);
    await press("ArrowLeft", /^Super Game/);
    await page.keyboard.press("Enter");
    await page.getByText("Starting Super Game").waitFor();
    await press("ArrowUp", /^Now$/);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await look(page, "television");
    await press("ArrowDown", /^Find a game/);
    await press("ArrowUp", /^Stop/);
    await page.keyboard.press("Enter");
    await page.getByText("Nothing plays.").waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);

remoteTest(
  "a card without a meaning appears on the page, is written with the chosen game, and the next tap plays",
  () =>
    unlessHeldUp(async () => {
      await using visit = await open("Filler");
      const { page, faults } = visit;
      const { heard } = device.service;
      const card = region(page, "New card");
      expect(await card.count()).toBe(0);
      const tag = ntag213("04d1d2d3d4d5d6");
      heard.forget();
      reader.put(tag);
      await card.getByText("Card 04d1d2d3d4d5d6 has no meaning yet.").waitFor();
      await card.getByRole("searchbox").fill("star");
      await card.getByRole("button", { name: "Try Star Garden" }).click();
      await region(page, "Now playing").getByText("Star Garden", { exact: true }).waitFor();
      expect(await unnamed(page)).toEqual([]);
      await look(page, "assign");
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Nothing plays.").waitFor();
      await card.getByRole("button", { name: /^Put Star Garden / }).click();
      await page.getByText("Written: Star Garden").waitFor();
      await card.waitFor({ state: "hidden" });
      expect(textOn(tag)).toBe("SNES/Star Garden.sfc");
      reader.take();
      await heard.next("tokens.removed");
      heard.forget();
      reader.put(tag);
      expect(await heard.next("media.started")).toMatchObject({ mediaName: "Star Garden" });
      expect(await card.count()).toBe(0);
      reader.take();
      await heard.next("tokens.removed");
      await page.getByRole("button", { name: "Stop" }).click();
      expect(faults).toEqual([]);
    }),
  60_000,
);

remoteTest(
  "a card that cannot be written gets a mapping, with an own text, and the next tap plays",
  () =>
    unlessHeldUp(async () => {
      await using visit = await open("Mapper");
      const { page, faults } = visit;
      const { client, heard } = device.service;
      const card = region(page, "New card");
      const tag = createClassicTag(Uint8Array.fromHex("04e1e2e3e4e5e6"));
      heard.forget();
      reader.put(tag);
      await card.getByText("Card 04e1e2e3e4e5e6 has no meaning yet.").waitFor();
      await card.getByText("Own text").click();
      await card.getByRole("button", { name: "Save to the card" }).click();
      await page.getByText("Type a text first.").waitFor();
      await card.getByRole("textbox", { name: "Own text" }).fill("SNES/Super Game.sfc");
      await card.getByRole("button", { name: "Save to the card" }).click();
      await page.getByText("The card cannot be written, so this device remembers it").waitFor();
      await card.waitFor({ state: "hidden" });
      expect((await client.call("mappings")).mappings).toMatchObject([
        { type: "uid", match: "exact", pattern: "04e1e2e3e4e5e6", override: "SNES/Super Game.sfc" },
      ]);
      reader.take();
      await heard.next("tokens.removed");
      heard.forget();
      reader.put(tag);
      expect(await heard.next("media.started")).toMatchObject({ mediaName: "Super Game" });
      expect(await card.count()).toBe(0);
      // A card that was dismissed on the page is shown again only after it is tapped again.
      reader.take();
      await heard.next("tokens.removed");
      reader.put(ntag213("04f1f2f3f4f5f6"));
      await card.getByRole("button", { name: "Not now" }).click();
      await card.waitFor({ state: "hidden" });
      reader.take();
      await heard.next("tokens.removed");
      expect(faults).toEqual([]);
    }),
  60_000,
);

remoteTest(
  "what was played lately could not be written to a card if the reader came after the page",
  async () => {
    const { client } = device.service;
    const connectedReaders = async () =>
      (await client.call("readers")).readers.filter((one) => one.connected).length;
    await client.call("launch", "SNES/Star Garden.sfc");
    await client.call("stop");
    await reader.unplug();
    await eventually(async () => expect(await connectedReaders()).toBe(0));
    await using visit = await open("Early");
    const { page, faults } = visit;
    const played = region(page, "Played lately");
    await played.getByRole("button", { name: "Star Garden", exact: true }).waitFor();
    expect(await played.getByRole("button", { name: /^More about/ }).count()).toBe(0);
    reader.plug();
    await played.getByRole("button", { name: "More about Star Garden" }).waitFor();
    expect(faults).toEqual([]);
  },
  60_000,
);
