/**
 * Every method and every notification for every caller, against the tables of `test/helpers/right-tables.ts`. Each caller
 * comes over a real connection: from the device, from another user of the device, or from a neighbour's network
 * namespace.
 */

import { expect, test } from "bun:test";
import { batchRequestsMax } from "../../src/core/limits.ts";
import { localDay } from "../../src/core/local-time.ts";
import { openStore } from "../../src/store/open.ts";
import { asOtherUser, type Scene, startScene } from "../helpers/attack-scene.ts";
import { pairByCode } from "../helpers/device.ts";
import { type MatrixCaller, makeCallers } from "../helpers/matrix-callers.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs } from "../helpers/noise-python.ts";
import { type Answer, type Call, startPeer, wordOf } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { includes, methodRows, notificationRights } from "../helpers/right-tables.ts";
import { makeSound } from "../helpers/sound-file.ts";
import { indexMedia } from "../helpers/tapdeck.ts";

const canPlay = canMakeNetworks && Bun.which("mpv") !== null && Bun.which("setpriv") !== null;
const names = Object.keys(methodRows);
const busy = -32000;
const retryMs = 100;

const configOf = (anonymous: string) => `
[api]
anonymous = "${anonymous}"
allow_v1_clients = true

[readers]
detect = false

[launch]
guard = true

[playtime]
daily_minutes = 600
warning_minutes = [600]

[[launchers]]
id = "mpv"
kind = "mpv"
extensions = [".wav"]
command = ["mpv", "--no-terminal", "--no-config", "--ao=null", "--vo=null", "--", "{path}"]
`;

for (const anonymous of ["none", "look", "play", "change"] as const) {
  test.skipIf(!canPlay)(
    `every caller may call and hear what its right includes, where strangers have ${anonymous}`,
    async () => {
      await noisePython();
      await using made = new AsyncDisposableStack();
      const scene = made.use(await startScene(configOf(anonymous), ["env", "TAPDECK_MACHINE=/nowhere"]));
      await playedAMinute(scene);
      const { onDevice } = scene.device.network;
      const crew = {
        owner: made.use(startPeer(onDevice)),
        otherUser: made.use(startPeer((command) => onDevice(asOtherUser(command)))),
        anonymous,
      };
      const callers = await makeCallers(scene, crew, made);
      const wrong: string[] = [];
      for (const caller of callers) {
        wrong.push(...(await wronglyAnswered(caller)));
        // The calls of a batch run side by side, so it may open a pairing after it has cancelled one. The next caller would
        // wait for that.
        await scene.device.service.client.call("pairing.cancel");
      }
      expect(wrong).toEqual([]);
      await causeAll(scene);
      expect(await wronglyHeard(callers)).toEqual([]);
    },
    noisePythonSetUpMs,
  );
}

/** Gives the day a minute of play time that is used up. */
async function playedAMinute({ device }: Scene): Promise<void> {
  await device.stop();
  const store = openStore(device.place.folder, {});
  const date = localDay(Date.now(), "");
  store.playTimes.save({ day: date, days: new Map([[date, 60_000]]), sessionMs: 0, seenMs: Date.now() });
  store.close();
  await device.start();
}

async function wronglyAnswered(caller: MatrixCaller): Promise<readonly string[]> {
  const answers = await callPatiently(caller);
  return names.flatMap((name, index) => {
    const right = methodRows[name]?.right ?? "own";
    const isShut = caller.isOwnerAfar && methodRows[name]?.isLocal === true;
    const granted =
      caller.grant !== "cleartext" && includes(caller.grant, right) && !isShut ? "allowed" : `needs ${right}`;
    const want = caller.grant === "cleartext" ? "encryption required" : granted;
    const got = cellOf(answers[index] ?? { closed: 0 });
    return want === got ? [] : [`${caller.name}, ${name}: ${want}, but was ${got}`];
  });
}

/**
 * A refusal for a missing right names that right. A call that is forbidden for another reason counts as allowed by the
 * rights.
 */
function cellOf(answer: Answer): string {
  const { error, closed } = answer;
  if (error?.code === -32002) return "encryption required";
  if (error?.code === 2 && error.data?.right !== undefined) return `needs ${error.data.right}`;
  const isAnswered = closed === undefined && answer.status === undefined;
  return isAnswered ? "allowed" : wordOf(answer);
}

/** This test is not about rate limits. */
async function callPatiently(caller: MatrixCaller): Promise<readonly Answer[]> {
  const calls: readonly Call[] = names.map((method) => ({ method, params: methodRows[method]?.params }));
  const callAll = async (all: readonly Call[]) => {
    const parts: Answer[] = [];
    for (let at = 0; at < all.length; at += batchRequestsMax)
      parts.push(...(await caller.callAll(all.slice(at, at + batchRequestsMax))));
    return parts;
  };
  const answers = await callAll(calls);
  const isFull = ({ error, status }: Answer) => error?.code === busy || status === 429 || status === 503;
  await eventually(async () => {
    const again = answers.flatMap((answer, index) => (isFull(answer) ? [index] : []));
    if (again.length === 0) return true;
    await Bun.sleep(retryMs);
    const next = await callAll(again.flatMap((index) => calls[index] ?? []));
    again.forEach((index, at) => {
      answers[index] = next[at] ?? { closed: 0 };
    });
    return false;
  });
  return answers;
}

/** Makes the service send every notification that exists; `media.stopped` is the last. */
async function causeAll({ device }: Scene): Promise<void> {
  const { place, service } = device;
  const { client, heard } = service;
  for (const name of ["long", "other"]) {
    await place.file(`Audio/${name}.wav`);
    await Bun.write(`${place.folder}/media/Audio/${name}.wav`, makeSound(60));
  }
  await client.call("settings.update", { readers: [`file:${place.folder}/card`] });
  await heard.next("readers.added");
  await client.call("settings.update", { readers: ["simulated:"] });
  await heard.next("readers.removed");
  const { readerId } = await heard.next("readers.added");
  const writing = client.call("readers.write", { text: "**stop", readerId });
  await client.call("tokens.scan", { text: "x", readerId, duration: 60_000 });
  await writing;
  await heard.next("tokens.written");
  await client.call("settings.update", { readers: [] });
  await heard.next("readers.removed");
  await indexMedia(client);
  heard.forget();
  await client.call("tokens.scan", { text: "Audio/long.wav", uid: "04aa", duration: 10 });
  await heard.next("tokens.removed");
  await heard.next("launch.finished");
  await heard.next("playtime.warning");
  await heard.next("playtime.limit.warning");
  await client.call("media.control", { action: "pause" });
  await heard.next("media.paused");
  await client.call("media.control", { action: "resume" });
  await heard.next("media.resumed");
  await client.call("tokens.scan", { text: "Audio/other.wav", uid: "04bb", duration: 10 });
  await heard.next("launch.guarded");
  await heard.next("launch.finished");
  await client.call("launch", "**playlist.open:Audio");
  await heard.next("playlist.opened");
  await client.call("device.update", "http://127.0.0.1:9/");
  await heard.next("device.updating");
  await client.call("uploads.start", { files: [{ system: "Audio", path: "new.wav", size: 10 }] });
  await heard.next("media.uploading");
  const { code } = await client.call("pairing.open");
  await pairByCode(device.network, device.url, code);
  await heard.next("clients.paired", ({ clientName }) => clientName === "tablet");
  await client.call("playtime.limits.update", { dailyMinutes: 1 });
  await heard.next("playtime.limit.reached");
  await heard.next("media.stopped");
  expect([...new Set(heard.names())].toSorted()).toEqual(Object.keys(notificationRights).toSorted());
}

async function wronglyHeard(callers: readonly MatrixCaller[]): Promise<readonly string[]> {
  const mayHear = (caller: MatrixCaller, name: string) =>
    caller.grant !== "cleartext" && includes(caller.grant, notificationRights[name] ?? "own");
  const isDone = (caller: MatrixCaller) =>
    !mayHear(caller, "media.stopped") || caller.heard().includes("media.stopped");
  await eventually(() => callers.every(isDone)).catch((error: unknown) => {
    const behind = callers.filter((caller) => !isDone(caller)).map(({ name }) => name);
    throw new Error(`media.stopped has not reached: ${behind.join("; ")}`, { cause: error });
  });
  for (const caller of callers) await caller.fence();
  return callers.flatMap((caller) => {
    const heard = new Set(caller.heard());
    const wanted = Object.keys(notificationRights).filter((name) => mayHear(caller, name));
    return [
      ...wanted.filter((name) => !heard.has(name)).map((name) => `${caller.name} does not hear ${name}`),
      ...[...heard].filter((name) => !wanted.includes(name)).map((name) => `${caller.name} hears ${name}`),
    ];
  });
}
