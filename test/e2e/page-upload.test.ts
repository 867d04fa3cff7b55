/**
 * Uploads by the page in real Chromium, from another network: interruptions of the connection, a reload, folders, moves
 * and deletions.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { uploadsFolder } from "../../src/core/media.ts";
import { say } from "../../src/web/page/page-texts.ts";
import { goTo, startChromium, type TestBrowser } from "../helpers/chromium.ts";
import { deviceForAll, port } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { look, openPage, region, unnamed } from "../helpers/page-visit.ts";
import { eventually } from "../helpers/processes.ts";
import { indexMedia, noReaders } from "../helpers/tapdeck.ts";
import { pngOf } from "../image/picture.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(noReaders, async ({ place, service }) => {
  for (const name of ["Star Garden", "Super Game"]) await place.file(`SNES/${name}.sfc`);
  for (const name of ["Deleted", "Kept"]) await place.file(`Gameboy/${name}.gb`);
  await indexMedia(service.client);
});
let phone: TestBrowser;
/** Files of the phone. */
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-phone-"));
  if (canMakeNetworks) phone = await startChromium({}, device.network.onNeighbour);
}, 120_000);
afterAll(async () => {
  await phone?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const media = (...path: readonly string[]) => join(device.place.folder, "media", ...path);
const names = (path: string) => readdir(media(path)).catch(() => [] as string[]);
const content = (seed: number, length: number) =>
  Uint8Array.from({ length }, (_, at) => (at * seed + (at >> 7)) & 0xff);

async function makeFile(path: string, bytes: Uint8Array): Promise<string> {
  const whole = join(folder, path);
  await mkdir(join(whole, ".."), { recursive: true });
  await writeFile(whole, bytes);
  return whole;
}

async function openUploads(name: string) {
  const visit = await openPage(device, phone, name);
  await visit.page.goto(`${new URL(visit.page.url()).origin}/#library`);
  await region(visit.page, say.upload.title).waitFor();
  return visit;
}

/** Chooses files in the first picker of the card, or a folder in the second. */
const choose = (page: Page, place: 0 | 1, paths: readonly string[] | string) =>
  region(page, say.upload.title).locator("input[type=file]").nth(place).setInputFiles(paths);

/** Connects or cuts the wire of the neighbour. */
const link = (state: "up" | "down") => {
  const [, , , name = ""] = device.network.onDevice([]);
  const shown = Bun.spawnSync(["ip", "-n", name, "-o", "link", "show", "type", "veth"]).stdout.toString();
  const wire = /^\d+: ([^@:]+)/.exec(shown)?.[1] ?? "";
  expect(Bun.spawnSync(["ip", "-n", name, "link", "set", wire, state]).exitCode).toBe(0);
};

/**
 * Cuts the wire until the page has noticed. The kernel ends the connections at once, because an idle page would notice only
 * after 30 s.
 */
async function cut(page: Page): Promise<void> {
  link("down");
  Bun.spawnSync([...device.network.onNeighbour(["ss", "-K", "-t", "dport", "=", String(port)])]);
  await page.locator("#line[data-state=off]").waitFor();
  link("up");
  await page.locator("#line[data-state=on]").waitFor();
}

remoteTest(
  "200 files arrive although the connection is cut twice and the service is killed",
  async () => {
    await using visit = await openUploads("Sender");
    const { page } = visit;
    const card = region(page, say.upload.title);
    const count = 200;
    for (let n = 0; n < count; n++)
      await makeFile(
        `Games/Genesis/${n % 2 === 0 ? "A" : "B"}/Game ${n}.md`,
        content(n + 1, n % 50 === 0 ? 3_000_000 : 2000),
      );
    await makeFile("Games/Genesis/.hidden", content(1, 5));
    await choose(page, 1, join(folder, "Games"));
    const arrived = async () => [...(await names("Genesis/A")), ...(await names("Genesis/B"))].length;
    await eventually(async () => expect(await arrived()).toBeGreaterThan(20));
    await look(page, "upload-busy");
    await cut(page);
    await eventually(async () => expect(await arrived()).toBeGreaterThan(60));
    process.kill(device.service.pid, "SIGKILL");
    await device.stop();
    await device.start();
    await eventually(async () => expect(await arrived()).toBeGreaterThan(120));
    await cut(page);
    // A part that was being sent at the cut may be given up only after 30 s.
    await eventually(async () => expect(await card.innerText()).toContain(say.upload.arrived(count)));
    expect(await arrived()).toBe(count);
    for (const n of [0, 1, 50, 199])
      expect(await readFile(media(`Genesis/${n % 2 === 0 ? "A" : "B"}/Game ${n}.md`))).toEqual(
        await readFile(join(folder, `Games/Genesis/${n % 2 === 0 ? "A" : "B"}/Game ${n}.md`)),
      );
    expect(await names(uploadsFolder)).toEqual([]);
    const { client } = device.service;
    await eventually(async () =>
      expect((await client.call("media.search", { query: "game", systems: ["Genesis"] })).total).toBe(count),
    );
    await region(page, say.browse).getByText("Genesis").waitFor();
    expect(await unnamed(page)).toEqual([]);
  },
  240_000,
);

remoteTest(
  "after a reload the same file continues; unknown files ask for their system; an existing one is replaced on request",
  async () => {
    await using visit = await openUploads("Reloader");
    const { page, faults } = visit;
    const card = region(page, say.upload.title);
    const film = await makeFile("Long Film.mkv", content(3, 12_000_000));
    // The third part of the film does not reach the service.
    await page.route(/offset=2097152/, (route) => route.abort());
    await choose(page, 0, [film]);
    await eventually(async () => {
      const { uploads } = await device.service.client.call("uploads");
      expect(uploads).toMatchObject([{ system: "Video", path: "Long Film.mkv", offset: 2_097_152 }]);
    });
    await page.reload();
    await card.getByText(say.upload.unfinished(1)).waitFor();
    await page.unroute(/offset=2097152/);
    const offsets: string[] = [];
    page.on("request", (request) => offsets.push(/[?&]offset=(\d+)/.exec(request.url())?.[1] ?? ""));
    await choose(page, 0, [film]);
    await card.getByText(say.upload.arrived(1)).waitFor();
    expect(offsets.filter((one) => one !== "")[0]).toBe("2097152");
    expect(await readFile(media("Video/Long Film.mkv"))).toEqual(await readFile(film));

    const unknown = await makeFile("Disc.bin", content(5, 3000));
    await choose(page, 0, [unknown]);
    await card.getByText(say.upload.unknown(1)).waitFor();
    await look(page, "upload-unknown");
    await card.getByRole("combobox", { name: say.upload.system }).selectOption("Genesis");
    await card.getByText(say.upload.arrived(1)).waitFor();
    expect(await readFile(media("Genesis/Disc.bin"))).toEqual(await readFile(unknown));

    const other = await makeFile("Disc.bin", content(7, 4000));
    await choose(page, 0, [other]);
    await card.getByText(say.upload.thereAlready).waitFor();
    await card.getByRole("button", { name: say.upload.replace(1) }).click();
    await card.getByText(say.upload.arrived(1)).waitFor();
    expect(await readFile(media("Genesis/Disc.bin"))).toEqual(await readFile(other));
    expect(faults.filter((fault) => !fault.includes("ERR_FAILED"))).toEqual([]);
  },
);

remoteTest("a file that was chosen before the card had loaded the systems was asked about", async () => {
  await using visit = await openPage(device, phone, "Hasty");
  const { page, faults } = visit;
  const song = await makeFile("Hasty.mp3", content(17, 3000));
  // The service stands still, so the card waits for its first answer.
  process.kill(device.service.pid, "SIGSTOP");
  try {
    await goTo(page, "Library");
    await choose(page, 0, [song]);
  } finally {
    process.kill(device.service.pid, "SIGCONT");
  }
  await region(page, say.upload.title).getByText(say.upload.arrived(1)).waitFor();
  expect(await readFile(media("Audio/Hasty.mp3"))).toEqual(await readFile(song));
  expect(faults).toEqual([]);
});

/** Drags these files and folders of the phone onto the middle of a card. */
async function dragOnto(page: Page, card: string, files: readonly string[]): Promise<void> {
  const target = region(page, card);
  await using session = await newSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  const send = async (type: "dragEnter" | "dragOver" | "drop") => {
    // The entries of the library, which load and change meanwhile, move the cards below them.
    await target.scrollIntoViewIfNeeded();
    const box = await target.boundingBox();
    if (box === null) throw new Error(`the card ${card} is not visible`);
    const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await session.cdp.send("Input.dispatchDragEvent", { type, ...at, data });
  };
  const isMarked = () => target.evaluate((element) => element.classList.contains("new"));
  await send("dragEnter");
  // Chromium drops nothing before it knows that the page takes it, which the page says in its answer to a movement. A hand
  // moves all the time.
  await eventually(async () => {
    await send("dragOver");
    expect(await isMarked()).toBe(card === say.upload.title);
  });
  await send("dragOver");
  await send("drop");
}

async function newSession(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  return { cdp, [Symbol.asyncDispose]: () => cdp.detach() };
}

remoteTest("no file that was dragged onto the card arrived", async () => {
  await using visit = await openUploads("Dragger");
  const { page, faults } = visit;
  const song = await makeFile("Puddle.mp3", content(11, 3000));
  await makeFile("Dragged/GBA/Inner/Tower.gba", content(13, 2000));
  await dragOnto(page, say.upload.title, [song, join(folder, "Dragged")]);
  await region(page, say.upload.title).getByText(say.upload.arrived(2)).waitFor();
  expect(await readFile(media("Audio/Puddle.mp3"))).toEqual(await readFile(song));
  expect(await names("GBA/Inner")).toEqual(["Tower.gba"]);
  expect(faults).toEqual([]);
});

remoteTest(
  "a file that was dropped beside the card opened in the place of the page, or in another tab",
  async () => {
    await using visit = await openUploads("Clumsy");
    const { page } = visit;
    await dragOnto(page, say.browse, [await makeFile("Beside.mp3", content(3, 100))]);
    // The drop on the card comes after the other one, so its end shows that nothing else comes.
    await dragOnto(page, say.upload.title, [await makeFile("Aimed.mp3", content(5, 100))]);
    await region(page, say.upload.title).getByText(say.upload.arrived(1)).waitFor();
    expect(await names("Audio")).not.toContain("Beside.mp3");
    const open = page.context().pages();
    expect(open.map((one) => new URL(one.url()).protocol)).toEqual(["http:"]);
  },
);

remoteTest(
  "a deleted file stayed in the list if an index from before its deletion ended after it",
  async () => {
    await using visit = await openUploads("Deleter");
    const { page } = visit;
    const browse = region(page, say.browse);
    await browse.getByRole("link", { name: "Game Boy", exact: true }).click();
    await browse.getByRole("button", { name: say.moreOf("Deleted") }).click();
    await page.getByRole("button", { name: say.upload.delete, exact: true }).click();
    await page.getByText(say.upload.deleteSure("Deleted")).waitFor();
    await page.getByRole("button", { name: say.upload.delete, exact: true }).click();
    await page.getByText(say.upload.deleted("Deleted")).waitFor();
    // The deletion causes an index run a second later.
    await indexMedia(device.service.client, ["SNES"]);
    await browse.getByRole("button", { name: say.moreOf("Kept") }).focus();
    await eventually(async () =>
      expect(await browse.getByRole("listitem").allInnerTexts()).toEqual([expect.stringContaining("Kept")]),
    );
  },
);

remoteTest(
  "a picture named like a game becomes its cover, and a file of several systems is asked about with three guesses",
  async () => {
    await using visit = await openUploads("Painter");
    const { page, faults } = visit;
    const card = region(page, say.upload.title);
    const dot = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
      "base64",
    );
    const picture = await makeFile("Pictures/Star Garden.png", dot);
    const game = await makeFile("Loose/New Game.sfc", content(5, 3000));
    await choose(page, 0, [picture, game]);
    await card.getByText(say.upload.arrived(2)).waitFor();
    expect(await names("SNES/covers")).toEqual(["Star Garden.png"]);
    expect(await names("SNES")).toContain("New Game.sfc");
    await region(page, say.browse)
      .getByRole("link", { name: /Super Nintendo/ })
      .click();
    const tile = region(page, say.browse).getByRole("button", { name: "Star Garden", exact: true });
    await tile.locator("img[src^='data:image']").waitFor();
    await choose(page, 0, [await makeFile("Loose/Disc.chd", content(9, 5000))]);
    await card.getByText("1 × .chd").waitFor();
    const guesses = card.locator(".bar", { hasText: "1 × .chd" }).getByRole("button");
    expect(await guesses.count()).toBe(3);
    await look(page, "upload-guess");
    await guesses.first().click();
    await card.getByText(say.upload.arrived(1)).waitFor();
    expect(await card.getByText("1 × .chd").count()).toBe(0);
    expect(faults).toEqual([]);
  },
);

remoteTest("any picture of the phone becomes that of a game, which had another one", async () => {
  await using visit = await openUploads("Photographer");
  const { page, faults } = visit;
  const browse = region(page, say.browse);
  await browse.getByRole("link", { name: /Super Nintendo/ }).click();
  const image = browse.getByRole("button", { name: "Star Garden", exact: true }).locator("img");
  const width = 1600;
  const height = 1200;
  const pixels = new Uint8Array(width * height * 3).fill(200);
  const picture = async (file: { name: string; mimeType: string; buffer: Buffer }) => {
    await browse.getByRole("button", { name: say.moreOf("Star Garden") }).click();
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("dialog").getByRole("button", { name: say.upload.picture }).click();
    await (await chooser).setFiles(file);
  };
  await picture({ name: "notes.png", mimeType: "image/png", buffer: Buffer.from("no picture") });
  await page.getByText(say.upload.noPicture("notes.png")).waitFor();
  expect(await names("SNES/images")).toEqual([]);
  const before = await image.getAttribute("src");
  const photo = Buffer.from(pngOf({ width, height, pixels }));
  await picture({ name: "IMG_0815.png", mimeType: "image/png", buffer: photo });
  await page.getByText(say.upload.pictured("Star Garden")).waitFor();
  expect(await names("SNES/images")).toEqual(["Star Garden.png"]);
  const stored = await readFile(media("SNES/images/Star Garden.png"));
  // PNG 1.2, 11.2.2: the width and the height.
  expect([stored.readUInt32BE(16), stored.readUInt32BE(20)]).toEqual([512, 384]);
  await eventually(async () => {
    const now = await image.getAttribute("src");
    expect(now).toStartWith("data:image");
    expect(now).not.toBe(before);
  });
  await look(page, "upload-picture");
  expect(faults).toEqual([]);
});

remoteTest("a file of the library is moved to another system, and deleted after a question", async () => {
  await using visit = await openUploads("Mover");
  const { page, faults } = visit;
  const browse = region(page, say.browse);
  await browse.getByRole("link", { name: /Super Nintendo/ }).click();
  await browse.getByRole("button", { name: say.moreOf("Super Game") }).click();
  await page.getByRole("dialog").getByRole("combobox", { name: say.upload.moveTo }).selectOption("SNESMSU1");
  await look(page, "upload-actions");
  await page.getByRole("button", { name: say.upload.move, exact: true }).click();
  await page.getByText(say.upload.moved("Super Game")).waitFor();
  expect(await names("SNESMSU1")).toEqual(["Super Game.sfc"]);
  await browse.getByRole("button", { name: say.moreOf("Star Garden") }).click();
  await page.getByRole("button", { name: say.upload.delete, exact: true }).click();
  await page.getByText(say.upload.deleteSure("Star Garden")).waitFor();
  await page.getByRole("button", { name: say.upload.delete, exact: true }).click();
  await page.getByText(say.upload.deleted("Star Garden")).waitFor();
  expect(await names("SNES")).not.toContain("Star Garden.sfc");
  await browse.getByRole("link", { name: /Back$/ }).click();
  // The index gets no processor time while other programs want it, so it may take longer than the page's own waits.
  await eventually(async () => {
    const { systems } = await device.service.client.call("systems");
    expect(systems.map(({ id }) => id)).toContain("SNESMSU1");
  });
  await browse.getByText("MSU-1").waitFor();
  expect(faults).toEqual([]);
});
