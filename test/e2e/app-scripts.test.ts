/** Scripts of cards, as the known phone app of both generations sends them, against the compiled service. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { deviceForAll } from "../helpers/device.ts";
import {
  type AppIdentity,
  type AppLine,
  androidOrigin,
  appsAllowed,
  openCurrentApp,
  openEarlierApp,
  pairApp,
} from "../helpers/known-apps.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import type { Answer } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { indexMedia, noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
/** A player that ends at once, so its launch is proved at once. */
const player = `
[[launchers]]
id = "quick"
extensions = [".sfc", ".nes"]
command = ["true", "{path}"]
`;
let app: AppIdentity;
const device = deviceForAll(
  appsAllowed + noReaders + player,
  async (made) => {
    await noisePython();
    app = await pairApp(made, "phone", androidOrigin);
    for (const path of ["SNES/Otter Racer (USA).sfc", "SNES/#1 Kart.sfc", "NES/Comet Diver.nes"])
      await made.place.file(path);
    await indexMedia(made.service.client);
  },
  noisePythonSetUpMs,
);

const generations = [
  { name: "the current app", open: () => openCurrentApp(device, app, androidOrigin) },
  { name: "the earlier app", open: () => openEarlierApp(device, "ws") },
] as const;

const notification = v.object({
  method: v.string(),
  params: v.looseObject({ mediaName: v.optional(v.string()), success: v.optional(v.boolean()) }),
});

function told(line: AppLine, method: string) {
  const all = line.texts.filter((text) => text.startsWith("{")).map((text) => JSON.parse(text));
  return all.filter((one) => one.method === method).map((one) => v.parse(notification, one).params);
}

/** Sends `run`, again while the device refuses it because of too many launches in a second. */
async function send(line: AppLine, text: string): Promise<Answer> {
  let answer: Answer = {};
  await eventually(async () => {
    answer = await line.call("run", { text });
    expect(answer.error?.data?.limit).toBeUndefined();
  });
  return answer;
}

/** Sends `run` with the text, and resolves with the media that it started and its `launch.finished`. */
async function runs(line: AppLine, text: string) {
  const [ends, starts] = [told(line, "launch.finished").length, told(line, "media.started").length];
  expect([text, await send(line, text)]).toMatchObject([text, { result: null }]);
  await eventually(() => expect(told(line, "launch.finished").length).toBe(ends + 1));
  const started = told(line, "media.started").slice(starts);
  return { started: started.map(({ mediaName }) => mediaName), end: told(line, "launch.finished").at(-1) };
}

const two = JSON.stringify({
  id: "two",
  name: "Two",
  items: [{ name: "Kart", zapscript: "SNES/#1 Kart.sfc" }, { zapscript: "@Comet Diver" }],
});
const isAllowed = expect.stringContaining("script.allow_input = true");

const scripts: readonly (readonly [text: string, started: readonly string[], end: object])[] = [
  ["SNES/#1 Kart.sfc||", ["#1 Kart"], { success: true }],
  ["**stop:||**echo:done||", [], { success: true }],
  ["#Mood=calm #level=5", [], { success: true, traits: { mood: "calm", level: "5" } }],
  ["@Otter Racer||#a='b c'", ["Otter Racer (USA)"], { success: true, traits: { a: "b c" } }],
  ["NES/Comet Diver", ["Comet Diver"], { success: true }],
  ["#1 Kart.sfc", [], { error: "there is no file #1 Kart.sfc below the media folders" }],
  ["**stop?flag", [], { error: expect.stringContaining("**stop has no option flag") }],
  ["**stop?my-key=v", [], { error: "**stop takes 0 arguments, not 1" }],
  ["**launch?my-key=v", [], { error: "there is no file ?my-key=v below the media folders" }],
  ['**echo:{"a":"||,?x=1"}', [], { success: true }],
  ['**echo:{"a"', [], { error: expect.stringContaining("a JSON argument has no end") }],
  ["**input.keyboard: a", [], { error: isAllowed }],
  ["**input.text:what? {x}||", [], { error: isAllowed }],
  ["**input.coinp3", [], { error: isAllowed }],
  ["**input.coinp4:2", [], { error: isAllowed }],
  ["**screenshot", [], { error: "nothing plays, and there is no screen to save" }],
  ["**mister.ini:1", [], { error: expect.stringContaining("works on a MiSTer only") }],
];

for (const { name, open } of generations) {
  remoteTest(`${name} runs the scripts of its cards`, async () => {
    await using line = await open();
    for (const [text, started, end] of scripts) {
      const ran = await runs(line, text);
      expect([text, ran.started]).toEqual([text, [...started]]);
      expect([text, ran.end]).toMatchObject([text, { text, ...end }]);
    }
  });

  remoteTest(`${name} opens a list of its own, sees the items, and chooses one`, async () => {
    await using line = await open();
    expect(await runs(line, `**playlist.open:${two}?repeat=off`)).toMatchObject({
      started: [],
      end: { success: true },
    });
    const items = [
      { place: 1, name: "Kart" },
      { place: 2, name: "@Comet Diver" },
    ];
    expect(told(line, "playlist.opened")).toMatchObject([{ name: "Two", place: 1, count: 2, items }]);
    expect(await line.call("media")).toMatchObject({ result: { playlists: [{ state: "paused", items }] } });
    expect(await runs(line, "**playlist.goto:2")).toMatchObject({
      started: ["Comet Diver"],
      end: { success: true },
    });
    await eventually(async () =>
      expect(await line.call("media")).toMatchObject({ result: { playlists: [] } }),
    );
  });
}

remoteTest("a stranger in the earlier app types nothing and pays no coins", async () => {
  await using line = await openEarlierApp(device, "wss");
  for (const text of ["**input.text:a", "**input.coinp3", "**echo:a||**input.coinp4", " **input.keyboard: a"])
    expect([text, await send(line, text)]).toMatchObject([
      text,
      { error: { code: 2, message: expect.stringContaining("reaches outside this device") } },
    ]);
  expect(await send(line, "#a=1||**stop:||")).toMatchObject({ result: null });
  await line.fence();
});
