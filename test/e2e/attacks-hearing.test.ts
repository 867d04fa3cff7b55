/** Attacks by listening: the facts that strangers and players learn of the owner's cards, readers, files and folders. */
import { expect } from "bun:test";
import { attackTest, opened, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { port, tlsPort } from "../helpers/device.ts";
import type { Line } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders, sleeper } from "../helpers/tapdeck.ts";

const eventsOf = ({ neighbour }: Scene, headers: Readonly<Record<string, string>> = {}) =>
  opened(neighbour.open({ url: `${urls.tls}/events`, headers }));

/** A sealed connection that has proved its secret, without which it receives nothing. */
async function sealedOf(scene: Scene, role: "member" | "player"): Promise<Line> {
  const line = await scene.sealed(await scene.client(role));
  await line.call("version");
  return line;
}

const uid = "04feedfacecafe";

/** Puts a card on, changes the readers, and stops the player; `media.stopped` is the last of these events. */
async function live({ device }: Scene): Promise<void> {
  const { client, heard } = device.service;
  await client.call("tokens.scan", { text: "SNES/Game.sfc", uid, duration: 10 });
  await heard.next("media.started");
  await heard.next("launch.finished");
  await heard.next("tokens.removed");
  await client.call("settings.update", { readers: [`file:${device.place.folder}/card`] });
  await heard.next("readers.added");
  await client.call("settings.update", { readers: [] });
  await heard.next("readers.removed");
  await client.call("stop");
  await heard.next("media.stopped");
}

const everything = [
  "launch.finished",
  "media.started",
  "media.stopped",
  "readers.added",
  "readers.removed",
  "running",
  "tokens.added",
  "tokens.removed",
];
const aboutMedia = ["media.started", "media.stopped"];

attackTest("strangers and players hear which cards are tapped", async () => {
  await using scene = await startScene(`${noReaders}${sleeper(".sfc")}`);
  await scene.device.place.file("SNES/Game.sfc");
  const player = await scene.client("player");
  const member = await scene.client("member");
  const lines: Readonly<Record<string, Line>> = {
    "a stranger over wss": await scene.stranger(),
    "a stranger's event stream": await eventsOf(scene),
    "a player, sealed": await sealedOf(scene, "player"),
    "a player's event stream": await eventsOf(scene, await scene.bearer(player)),
    "a member, sealed": await sealedOf(scene, "member"),
    "a member's event stream": await eventsOf(scene, await scene.bearer(member)),
  };
  await live(scene);
  const late: Readonly<Record<string, Line>> = {
    // Events are kept for a stream that reconnects.
    "a stranger that comes back": await eventsOf(scene, { "last-event-id": "0-0" }),
    "a player that comes back": await eventsOf(scene, {
      ...(await scene.bearer(player)),
      "last-event-id": "0-0",
    }),
  };
  const all = Object.entries({ ...lines, ...late });
  await eventually(() => {
    for (const [name, line] of all) expect([name, ...line.heard()]).toContain("media.stopped");
  });
  const heard = all.map(([who, line]) => [
    who,
    [...new Set(line.heard())].filter((name) => name !== "media.indexing").toSorted(),
    line.texts.some((text) => text.includes(uid)) ? "knows the card" : "",
  ]);
  expect(heard).toEqual([
    ["a stranger over wss", aboutMedia, ""],
    ["a stranger's event stream", aboutMedia, ""],
    ["a player, sealed", aboutMedia, ""],
    ["a player's event stream", aboutMedia, ""],
    ["a member, sealed", everything, "knows the card"],
    ["a member's event stream", everything, "knows the card"],
    ["a stranger that comes back", aboutMedia, ""],
    ["a player that comes back", aboutMedia, ""],
  ]);
});

const secretWord = "secret-diary";
const revealing = `
[readers]
detect = false
connect = ["pn532-uart:/dev/${secretWord}"]

[systems]
root_folders = ["/mnt/${secretWord}"]

[[launchers]]
id = "odd"
extensions = [".odd"]
command = ["/opt/${secretWord}/player", "{path}"]
`;

const questions = [
  { method: "health" },
  { method: "launchers" },
  { method: "systems" },
  { method: "media" },
  { method: "media.active" },
  { method: "media.search", params: { query: "diary" } },
  { method: "media.control", params: { action: "pause" } },
  { method: "launch", params: "SNES/none.odd" },
  { method: "launch", params: "@SNES/None" },
  { method: "launch", params: "**launch.random:SNES" },
  { method: "confirm" },
  { method: "settings" },
  { method: "readers" },
  { method: "tokens.history" },
  { method: "rpc.discover" },
];

attackTest("health and errors tell strangers and players paths and names of the owner's", async () => {
  await using scene = await startScene(revealing);
  const { service } = scene.device;
  await eventually(async () => expect((await service.client.call("health")).status).toBe("degraded"));
  const told: string[] = [];
  for (const [who, line] of [
    ["a stranger", await scene.stranger()],
    ["a player", await sealedOf(scene, "player")],
  ] as const) {
    const answers = await line.callAll(questions);
    for (let ends = 0; ends < 3; ends++) await service.heard.next("launch.finished");
    await line.fence();
    expect(answers[0]?.result).toMatchObject({ status: "degraded" });
    if (/"reason":/.test(JSON.stringify(answers[0]?.result))) told.push(`${who}: a reason`);
    for (const text of line.texts) if (text.includes(secretWord)) told.push(`${who}: ${text.slice(0, 200)}`);
  }
  for (const url of [`http://10.77.0.1:${port}/health`, `https://10.77.0.1:${tlsPort}/health`]) {
    const { status, body } = await scene.neighbour.ask({ url });
    expect([url, status]).toEqual([url, 503]);
    if (body.includes(secretWord)) told.push(`${url}: ${body}`);
  }
  expect(told).toEqual([]);
  // A member sees the reasons of the faults.
  const member = await sealedOf(scene, "member");
  for (const method of ["health", "launchers", "readers", "settings"]) {
    const { result } = await member.call(method);
    expect([method, JSON.stringify(result ?? "").includes(secretWord)]).toEqual([method, true]);
  }
});
