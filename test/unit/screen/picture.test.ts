/** The graphical screen: the choice of the picture, its words, and its pixels. */

import { expect, test } from "bun:test";
import { ServiceError } from "../../../src/core/errors.ts";
import { faultOf } from "../../../src/core/faults.ts";
import { findMediaFile } from "../../../src/launch/media-file.ts";
import { createMediaLookup } from "../../../src/launch/ports/media-lookup.ts";
import { needsEastAsianFont, render } from "../../../src/screen/draw-job.ts";
import { marginShare } from "../../../src/screen/menu-parts.ts";
import {
  noticeOf,
  type Picture,
  pictureOf,
  playlistOf,
  type ScreenFacts,
  startingOf,
  stickGone,
} from "../../../src/screen/picture.ts";
import { escapeXml, fitText, plainText } from "../../../src/screen/screen-lines.ts";
import { screenSvg, screenTexts } from "../../../src/screen/status-template.ts";
import { english } from "../../../src/screen/texts.ts";

const base = "http://192.168.178.142:7497";
const long = "Wild Magnificent Adventures of WWWWWWWWWWWWWWWWWWWW and of the Mammoths ".repeat(20);
const pictures: Readonly<Record<Picture["kind"], Picture>> = {
  ready: { kind: "ready" },
  "no-reader": { kind: "no-reader" },
  "reader-broken": { kind: "reader-broken", reason: "no PN532 answers at /dev/ttyUSB0" },
  empty: { kind: "empty" },
  "not-found": { kind: "not-found", name: "Zelda" },
  failed: { kind: "failed", reason: "the player ended with code 1" },
  starting: { kind: "starting", name: "Mario" },
  playlist: {
    kind: "playlist",
    name: "Bedtime",
    items: ["1. Moon", "2. Stars", "3. A Long Night", "4. Owl", "5. Fox", "6. Wind"],
  },
  "stick-away": { kind: "stick-away", name: "GAMES" },
  "stick-gone": { kind: "stick-gone", name: "GAMES" },
  "switching-off": { kind: "switching-off" },
  restarting: { kind: "restarting" },
  "time-over": { kind: "time-over", reason: "there is more tomorrow" },
  pairing: { kind: "pairing", link: `${base}/#code=012345`, base, code: "012345" },
  menu: { kind: "menu", title: "Menu", tiles: [{ name: "Mario" }, { name: "Zelda" }], page: 1, pages: 2 },
};
const sizes = [
  { width: 1280, height: 720 },
  { width: 640, height: 480 },
  { width: 1024, height: 600 },
  { width: 800, height: 600 },
  { width: 720, height: 1280 },
] as const;
const facts: ScreenFacts = {
  hasReader: true,
  brokenReader: undefined,
  isSettled: true,
  isPlaying: false,
  refusal: undefined,
  pairing: undefined,
  menu: undefined,
  notice: undefined,
  ending: undefined,
};

/** The words of a picture, with a space instead of each line's end. */
const wordsIn = (svg: string) => [...svg.matchAll(/>([^<>\n]+)<\/text>/g)].map(([, text]) => text).join(" ");

for (const [kind, picture] of Object.entries(pictures)) {
  test(`the picture "${kind}" is sound XML, is not blank, and keeps clear of the edges`, async () => {
    for (const size of sizes) {
      const pixels = await render(screenSvg(picture, { base }, size, english), size);
      expect(colorsIn(pixels, { x: 0, y: 0, ...size }, size.width).size).toBeGreaterThan(3);
      for (const edge of edgesOf(size)) expect(colorsIn(pixels, edge, size.width).size).toBe(1);
    }
  });
}

test("no two states look alike, with and without a network", async () => {
  const size = sizes[1];
  const seen = new Set<string>();
  for (const place of [{ base }, { base: undefined }])
    for (const picture of Object.values(pictures))
      seen.add(Bun.SHA256.hash(await render(screenSvg(picture, place, size, english), size), "hex"));
  // The pictures of a start, of pairing, of the menu and of the two ends show no address.
  expect(seen.size).toBe(2 * Object.keys(pictures).length - 5);
});

test("an open access point is on the screen with its QR code, name and password, and with the reason of a failed try", async () => {
  const point = { name: "Tapdeck-AB12", password: "u7u78ttm", address: "10.77.7.1" };
  for (const size of sizes) {
    const wifi = { state: "point", point, fault: "wrong-password", network: "Home" } as const;
    const svg = screenSvg(pictures.ready, { base, wifi }, size, english);
    const words = wordsIn(svg);
    expect(words).toContain("Join this Wi-Fi Tapdeck-AB12 password u7u78ttm");
    expect(words).toContain(
      "The password of the Wi-Fi is wrong. No network: join this Wi-Fi with your phone",
    );
    expect(words).not.toContain(english.openPage);
    const pixels = await render(svg, size);
    for (const edge of edgesOf(size)) expect(colorsIn(pixels, edge, size.width).size).toBe(1);
  }
  const joining = { state: "joining", network: "Home & <Garden>" } as const;
  expect(wordsIn(screenSvg(pictures.ready, { base: undefined, wifi: joining }, sizes[0], english))).toContain(
    "Connecting to “Home &amp; &lt;Garden&gt;”.",
  );
  const away = { state: "away", fault: "not-found" } as const;
  const words = wordsIn(screenSvg(pictures.ready, { base: undefined, wifi: away }, sizes[0], english));
  expect(words).toContain(
    "The Wi-Fi is not in reach. No network. Soon after a start your phone can set up the Wi-Fi",
  );
});

test("faults of the machine are shown below, with a network and without, and stay within the screen", async () => {
  const why = "line 4: there is no such key; line 5: it is not key=value";
  const faults = [faultOf("conf-invalid", { why })];
  for (const size of sizes)
    for (const place of [{ base }, { base: undefined }]) {
      const well = await render(screenSvg(pictures.ready, place, size, english), size);
      const ill = await render(screenSvg(pictures.ready, { ...place, faults }, size, english), size);
      expect(Bun.SHA256.hash(ill, "hex")).not.toBe(Bun.SHA256.hash(well, "hex"));
      expect(wordsIn(screenSvg(pictures.ready, { ...place, faults }, size, english))).toContain(
        "In tapdeck.conf on the boot partition, line 4",
      );
      for (const edge of edgesOf(size)) expect(colorsIn(ill, edge, size.width).size).toBe(1);
    }
});

test("a mistake in tapdeck.conf was cut off in small type: two of them can be read whole", () => {
  const faults = [
    faultOf("conf-invalid", { why: 'line 4: there is no key "wifi_pasword"; line 5: it is not key=value' }),
    faultOf("boot-unreadable", {}),
  ];
  for (const size of sizes) {
    const svg = screenSvg(pictures.ready, { base, faults }, size, english);
    expect(wordsIn(svg)).toContain(
      "it is not key=value. The boot partition cannot be read, so tapdeck.conf does not count.",
    );
    const [, fontSize] = /font-size="([\d.]+)"[^>]*>In tapdeck.conf/.exec(svg) ?? [];
    expect(Number(fontSize)).toBeGreaterThanOrEqual(Math.min(size.width, size.height) * 0.03);
  }
});

test("the screen describes a full card, a damaged game and a missing network in plain words", () => {
  const svgOf = (picture: Picture, place: Parameters<typeof screenSvg>[1]) =>
    wordsIn(screenSvg(picture, place, sizes[0], english));
  const full = svgOf(pictures.ready, { base, faults: [faultOf("disk-full", { kib: "12" })] });
  expect(full).toContain("The memory card is full: what you play is not saved.");
  const launch = { text: "SNES/Mario.sfc", success: false, error: "the player retroarch ended with code 1" };
  const broken = noticeOf({ ...launch, reason: "player-failed" });
  expect(svgOf(broken ?? pictures.ready, { base })).toContain("It may be damaged or incomplete.");
  expect(svgOf(broken ?? pictures.ready, { base })).not.toContain("code 1");
  // Other reasons have sentences that name a remedy.
  const noBios = noticeOf({ ...launch, error: "it needs scph5501.bin", reason: "bios-missing" });
  expect(svgOf(noBios ?? pictures.ready, { base })).toContain("It needs scph5501.bin");
  expect(svgOf(pictures.ready, { base: undefined })).toContain("plug in a cable, or write the Wi-Fi into");
});

test.each(Object.entries(screenTexts))(
  "in the language %p each text is whole on each screen, and no sentence of the service is among them",
  (language, texts) => {
    const wifi = { state: "away", fault: "refused" } as const;
    const point = { name: "Tapdeck-0A1B", password: "k3m9x2pq", address: "http://10.77.7.1/" };
    const places = [
      { base },
      { base, hasGames: true },
      { base: undefined },
      { base: undefined, wifi },
      { base: undefined, wifi: { state: "joining", network: "Home" } as const },
      { base: undefined, wifi: { state: "point", fault: "wrong-password", point } as const },
      { base, act: { act: "device.update", name: "Mum" } as const },
    ];
    for (const size of sizes)
      for (const picture of Object.values(pictures))
        for (const place of places) {
          const words = wordsIn(screenSvg(picture, place, size, texts));
          expect([picture.kind, words.includes("…") ? words : ""]).toEqual([picture.kind, ""]);
          if (language !== "en") expect(words).not.toContain("ended with code 1");
        }
  },
);

test("a reason that the language has words for is on the screen in them", () => {
  const blank = { text: "", success: false, error: "the card is empty", reason: "locked" } as const;
  const notice = noticeOf(blank) ?? pictures.ready;
  const words = (texts: typeof english) => wordsIn(screenSvg(notice, { base }, sizes[0], texts));
  expect(words(screenTexts.de)).toContain("Diese Karte ist gesperrt.");
  expect(words(screenTexts.ja).replaceAll(" ", "")).toContain("このカードはロックされています。");
  expect(words(english)).toContain("The card is empty");
});

test("a line of Japanese is broken between its characters, and no line begins with a closing mark", () => {
  const { lines } = fitText(screenTexts.ja.noNetwork, { width: 400, linesMax: 8, sizeMax: 30, sizeMin: 20 });
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.join("").replaceAll(" ", "")).toBe(screenTexts.ja.noNetwork.replaceAll(" ", ""));
  for (const line of lines) expect(line).toMatch(/^[^、。」ー]/);
});

test.each([
  ["マリオ", true],
  ["東京", true],
  ["한국어", true],
  ["ㅎ (20)", true],
  ["ＦＩＮＡＬ", true],
  ["Go！", true],
  ["㐀", true],
  ["Zelda Ⅲ – “Café” ★ Игра שלום", false],
])("names of East Asia, such as %s, were drawn as boxes although a font has them", (text, isNeeded) => {
  expect(needsEastAsianFont(text)).toBe(isNeeded);
});

test("a broken reader has a picture of its own, which appears only after the first search for readers", () => {
  const brokenReader = "/dev/ttyUSB0: no PN532 answers";
  const absent = { ...facts, hasReader: false };
  expect(pictureOf(absent)).toEqual({ kind: "no-reader" });
  expect(pictureOf({ ...absent, brokenReader })).toEqual({ kind: "reader-broken", reason: brokenReader });
  expect(pictureOf({ ...absent, brokenReader, isSettled: false })).toBeUndefined();
  expect(pictureOf({ ...facts, brokenReader })).toEqual({ kind: "ready" });
});

test("the act of an owner stands below, before the faults of the machine, with any name of a phone", async () => {
  const faults = [faultOf("data-lost", {})];
  for (const name of ["Mum's phone", "W".repeat(255), "<b>&"])
    for (const act of ["backup", "restore", "device.update", "device.restart", "device.shutdown"] as const)
      for (const size of sizes) {
        const svg = screenSvg(pictures.ready, { base, faults, act: { act, name } }, size, english);
        if (name === "<b>&") expect(svg).toContain("&lt;b&gt;&amp;");
        if (name.startsWith("Mum")) expect(wordsIn(svg)).toContain(escapeXml(english.acts[act](name)));
        expect(svg).not.toContain("data partition");
        const pixels = await render(svg, size);
        for (const edge of edgesOf(size)) expect(colorsIn(pixels, edge, size.width).size).toBe(1);
      }
}, 60_000);

test("how a controller ends a game stands below what starts, and below the ready screen where games are played", () => {
  const svgOf = (picture: Picture, hasGames: boolean) =>
    screenSvg(picture, { base, hasGames }, sizes[0], english);
  const hint = escapeXml(english.endGame);
  expect(svgOf(startingOf("Mario", true), false)).toContain(hint);
  expect(svgOf(startingOf("A film"), true)).not.toContain(hint);
  expect(svgOf(pictures.ready, true)).toContain(hint);
  expect(svgOf(pictures.ready, false)).not.toContain(hint);
  // Faults of the machine come first.
  const ill = screenSvg(
    pictures.ready,
    { base, faults: [faultOf("data-lost", {})], hasGames: true },
    sizes[0],
    english,
  );
  expect(ill).not.toContain(hint);
});

test("the longest names and reasons stay within the screen", async () => {
  const unbroken = "W".repeat(500);
  for (const size of sizes)
    for (const text of [long, unbroken]) {
      const failed: Picture = { kind: "failed", reason: plainText(text, 120) };
      const items = Array.from({ length: 100 }, (_, at) => ({ place: at + 1, name: text }));
      const list = playlistOf({
        path: "",
        name: text,
        place: 97,
        count: 100,
        state: "paused",
        isShuffled: false,
        repeat: "no",
        items,
      });
      expect(list.kind === "playlist" && list.items.map((item) => Number.parseInt(item, 10))).toEqual([
        95, 96, 97, 98, 99, 100,
      ]);
      for (const picture of [startingOf(text), failed, list, { ...pictures["not-found"], name: text }]) {
        const pixels = await render(screenSvg(picture, { base }, size, english), size);
        for (const edge of edgesOf(size)) expect(colorsIn(pixels, edge, size.width).size).toBe(1);
      }
    }
});

test("a name is text, whatever it contains: no markup, no control characters, no turned direction", async () => {
  const hostile = `</text><script>"'&amp;\x1b[2J\u202egpj\u0000\ud800 a\u0301\u0301\u0301\u0301\u0301`;
  const svg = screenSvg(startingOf(hostile), { base }, sizes[0], english);
  expect(svg).not.toContain("<script");
  expect(svg).toContain(escapeXml("</text><script>\"'&amp;"));
  expect(svg.replaceAll("\n", "")).not.toMatch(/\p{C}/u);
  expect(plainText(hostile, 80)).toEndWith("gpj \u00e1\u0301\u0301");
  await render(svg, sizes[0]);
});

test("pictures in a name were boxes, because no font of the television has them", () => {
  expect(plainText("🎮 Games 🕹️", 80)).toBe("Games");
  expect(plainText("Super👍🏽Mario 🇩🇪 👨‍👩‍👧", 80)).toBe("Super Mario");
  expect(plainText("1️⃣ First ⭐", 80)).toBe("1\ufe0f First");
  // The font has these.
  expect(plainText("I ❤ NES ☺ ⚡ 😀", 80)).toBe("I ❤ NES ☺ ⚡ 😀");
  expect(plainText("🎮", 80)).toBe("🎮");
});

test("Katakana of half width were boxes", () => {
  expect(plainText("ｽｰﾊﾟｰﾏﾘｵ｡ ＡＢ", 80)).toBe("スーパーマリオ。 ＡＢ");
});

test("a text that is too long is cut off with dots, and one that fits is as large as it may be", () => {
  const room = { width: 400, linesMax: 2, sizeMax: 50, sizeMin: 20 };
  const { size, lines } = fitText(plainText(long, 1000), room);
  expect(size).toBe(20);
  expect(lines.length).toBe(2);
  expect(lines[1]).toEndWith("…");
  expect(fitText("Mario", room)).toEqual({ size: 50, lines: ["Mario"] });
  expect(fitText("", room).lines).toEqual([]);
});

test("a name without blanks was cut off in the first line, although it had room for a second one", () => {
  const room = { width: 300, linesMax: 2, sizeMax: 30, sizeMin: 20 };
  const whole = (text: string) => {
    const { lines } = fitText(text, room);
    expect(lines.join("")).toBe(text);
    return lines;
  };
  expect(whole("Symphony_of_the_Night_(USA)")).toEqual(["Symphony_of_", "the_Night_(USA)"]);
  expect(whole("tapdeck-kids-room.local:7497").length).toBe(2);
  expect(whole("Donaudampfschifffahrtsgesell").length).toBe(2);
  for (const line of whole("o\u0308".repeat(14))) expect(line).toStartWith("o");
  expect(fitText("Symphony_of_the_Night_(USA)", { ...room, linesMax: 1 }).lines).toEqual([
    "Symphony_of_the_Nig…",
  ]);
  expect(fitText("W".repeat(99), room).lines[1]).toEndWith("W…");
});

test("the address that a person has to type was cut off for a device with a long name", async () => {
  const longest = `http://${"the-deck-of-".repeat(5)}mum.local:7497`;
  for (const size of sizes)
    for (const picture of [pictures.ready, { ...pictures.pairing, base: longest }]) {
      const svg = screenSvg(picture, { base: longest }, size, english);
      expect(wordsIn(svg).replaceAll(" ", "")).toContain(longest.slice("http://".length));
      const pixels = await render(svg, size);
      for (const edge of edgesOf(size)) expect(colorsIn(pixels, edge, size.width).size).toBe(1);
    }
});

test("a player has the screen, then pairing, the end of play time, what went wrong, and whether a reader is there", () => {
  const { pairing } = pictures;
  const shown = pairing.kind === "pairing" ? pairing : undefined;
  const all: ScreenFacts = { ...facts, pairing: shown, refusal: "more tomorrow", notice: { kind: "empty" } };
  expect(pictureOf({ ...all, isPlaying: true })).toBeUndefined();
  expect(pictureOf({ ...all, isPlaying: true, notice: startingOf("Mario") })).toEqual(pictures.starting);
  expect(pictureOf(all)).toEqual(pairing);
  expect(pictureOf({ ...all, pairing: undefined })).toEqual({ kind: "time-over", reason: "more tomorrow" });
  expect(pictureOf({ ...facts, notice: { kind: "empty" } })).toEqual(pictures.empty);
  expect(pictureOf(facts)).toEqual(pictures.ready);
  expect(pictureOf({ ...facts, hasReader: false })).toEqual(pictures["no-reader"]);
  expect(pictureOf({ ...facts, hasReader: false, isSettled: false })).toBeUndefined();
});

test("the launcher's own refusals become the states of the screen", async () => {
  const folders = { roots: ["/no/such/roms"], own: [], systems: [] };
  const port = createMediaLookup(
    {
      any: async () => undefined,
      findTitle: async () => undefined,
      search: () => ({ results: [], total: 0 }),
    },
    () => folders,
  );
  const missing = [
    await refusalOf(
      findMediaFile("SNES/Zelda.sfc", { ...folders, closed: { folders: [], files: [], open: "" } }, []),
    ),
    await refusalOf(port.title({ system: "SNES", title: "Zelda", tags: [] })),
    await refusalOf(port.search({ pattern: "zel*" })),
  ];
  for (const { reason = "failed" } of missing)
    expect(noticeOf({ text: "SNES/Zelda.sfc", reason })).toEqual({ kind: "not-found", name: "Zelda" });
  for (const reason of ["blank", "unformatted", "no-text"] as const)
    expect(noticeOf({ text: "", error: "any words", reason })).toEqual({ kind: "empty" });
  for (const reason of ["stopped", "taken-over"] as const)
    expect(noticeOf({ text: "x", error: "any words", reason })).toBeUndefined();
  expect(noticeOf({ text: "", error: "it is locked", reason: "locked" })).toEqual({
    kind: "failed",
    reason: "it is locked",
    cause: "locked",
  });
});

test("a USB stick that is away, or that was pulled out, is shown by its name", async () => {
  const folders = { roots: [], own: [], removable: ["/media/usb"] };
  const { reason = "failed", subject = "" } = await refusalOf(
    findMediaFile("/media/usb/MY GAMES/SNES/x.sfc", folders, []),
  );
  expect(noticeOf({ text: "x", reason, subject })).toEqual({ kind: "stick-away", name: "MY GAMES" });
  expect(stickGone("GAMES")).toEqual({ kind: "stick-gone", name: "GAMES" });
});

test("of a script or an address nothing is shown, for it may hold a secret", () => {
  for (const text of ["**http.get:http://lamp/?key=secret", "smb://me:secret@nas/x"])
    expect(noticeOf({ text, reason: "media-not-found" })).toEqual({ kind: "not-found", name: "" });
});

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The four strips that a television may cut off. Each is half of the free margin, because drawings have round ends. */
function edgesOf({ width, height }: { readonly width: number; readonly height: number }): readonly Area[] {
  const strip = Math.floor((Math.min(width, height) * marginShare) / 2);
  return [
    { x: 0, y: 0, width, height: strip },
    { x: 0, y: height - strip, width, height: strip },
    { x: 0, y: 0, width: strip, height },
    { x: width - strip, y: 0, width: strip, height },
  ];
}

function colorsIn(pixels: Uint8Array, area: Area, width: number): Set<number> {
  const view = new DataView(pixels.buffer, pixels.byteOffset);
  const colors = new Set<number>();
  for (let y = area.y; y < area.y + area.height; y++)
    for (let x = area.x; x < area.x + area.width; x++) colors.add(view.getUint32((y * width + x) * 4));
  return colors;
}

/** The refusal of a promise that must not resolve. */
async function refusalOf(promise: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  if (!(error instanceof ServiceError)) throw new Error("it was not refused", { cause: error });
  return error;
}
