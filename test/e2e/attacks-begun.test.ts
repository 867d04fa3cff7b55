/** Attacks by cards, scripts and connections that began before their right was revoked. */
import { expect } from "bun:test";
import { asOtherUser, attackTest, opened, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { port, tlsPort } from "../helpers/device.ts";
import { type Line, startPeer, wordOf } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders, sleeper } from "../helpers/tapdeck.ts";

const minuteMs = 60_000;

attackTest("a revoked member's cards stay on their readers, and their scripts run", async () => {
  // The hook keeps its place in the queue, so the next card has to wait.
  const hook = '[hooks]\nbefore_start = "**delay:1m"\n';
  await using scene = await startScene(`${noReaders}connect = ["simulated:"]\n${hook}${sleeper(".sfc")}`);
  const { client: owner, heard } = scene.device.service;
  await scene.device.place.file("SNES/Game.sfc");
  await eventually(async () => expect((await owner.call("readers")).readers[0]?.connected).toBe(true));
  const [reader] = (await owner.call("readers")).readers;
  const member = await scene.client("member");
  const line = await scene.sealed(member);
  const lay = async (uid: string, readerId?: string) => {
    const card = { uid, text: `SNES/Game.sfc||**echo:${uid}`, duration: 10 * minuteMs };
    const on = readerId === undefined ? {} : { readerId };
    expect(wordOf(await line.call("tokens.scan", { ...card, ...on }))).toBe("result");
    await heard.next("running", (run) => run.uid === uid);
  };
  const [simulated, virtual] = ["04000000000001", "04000000000002"];
  await lay(simulated, reader?.readerId ?? "no reader");
  await lay(virtual);
  expect((await owner.call("tokens")).active.map(({ uid }) => uid).toSorted()).toEqual([simulated, virtual]);
  await owner.call("clients.delete", { id: member.id });
  for (const uid of [simulated, virtual]) {
    await heard.next("tokens.removed", (token) => token.uid === uid);
    expect(await heard.next("launch.finished", (end) => end.uid === uid)).toMatchObject({
      success: false,
      error: "its client was revoked, or has another role now",
    });
  }
  expect((await owner.call("tokens")).active).toEqual([]);
  expect(heard.names()).not.toContain("media.started");
});

attackTest("a card of a revoked member that the guard held back is launched by a confirmation", async () => {
  await using scene = await startScene(`${noReaders}[launch]\nguard = true\n${sleeper(".sfc")}`);
  const { client: owner, heard } = scene.device.service;
  for (const name of ["Game", "Other"]) await scene.device.place.file(`SNES/${name}.sfc`);
  expect(await scene.launch("SNES/Game.sfc")).toBe("done");
  const member = await scene.client("member");
  const line = await scene.sealed(member);
  await line.call("tokens.scan", { uid: "04aa", text: "SNES/Other.sfc" });
  await heard.next("launch.guarded");
  await owner.call("clients.delete", { id: member.id });
  await expect(owner.call("confirm")).rejects.toThrow("nothing waits to be confirmed");
});

attackTest("a stranger's trusted scripts stay trusted when strangers may only play", async () => {
  const settings = (anonymous: string) =>
    `[api]\nanonymous = "${anonymous}"\n${noReaders}[script]\nallow_execute = [".*"]\n`;
  await using scene = await startScene(settings("change"));
  const { heard } = scene.device.service;
  const stranger = await scene.stranger();
  expect(await scene.launchOver(stranger, "**execute:/bin/true")).toBe("done");
  // The second script waits for the first. A card would run at once.
  const [running, waiting] = ["**delay:1m||**execute:/bin/true", "**echo:waits||**execute:/bin/true"];
  for (const text of [running, waiting]) await stranger.call("launch", { text });
  await scene.device.config(settings("play"));
  const ended = (text: string) => heard.next("launch.finished", (end) => end.text === text);
  expect(await ended(running)).toMatchObject({ error: "its caller may not start it any more" });
  expect((await ended(waiting)).error).toContain("**execute reaches outside this device");
});

attackTest("connections keep the rights that a setting gave them before it was narrowed", async () => {
  await using made = new AsyncDisposableStack();
  const wide = `[api]\nallow_anonymous_local = true\nallowed_origins = ["http://friend.example"]\nallowed_hosts = ["friend.test"]\n${noReaders}`;
  const scene = made.use(await startScene(wide));
  const { device, neighbour } = scene;
  const user = made.use(startPeer((command) => device.network.onDevice(asOtherUser(command))));
  const local = { url: `ws://127.0.0.1:${port}/api` };
  const page = { origin: "http://friend.example" };
  const name = { host: "friend.test" };
  const member = await scene.client("member");
  const lines: Readonly<Record<string, Line>> = {
    "another user": await opened(user.open(local)),
    "a page on the device": await opened(user.open({ ...local, headers: page })),
    "a name on the device": await opened(user.open({ ...local, headers: name })),
    "a page over TLS": await opened(neighbour.open({ url: urls.wss, headers: page })),
    "a page's member": await opened(neighbour.open({ url: urls.ws, client: member, headers: page })),
    "a name over TLS": await opened(neighbour.open({ url: urls.wss, headers: name })),
    "another user's stream": await opened(user.open({ url: `http://127.0.0.1:${port}/api/events` })),
    "a page's stream": await opened(
      neighbour.open({ url: `https://10.77.0.1:${tlsPort}/api/events`, headers: page }),
    ),
  };
  const bystander = await scene.stranger();
  expect(wordOf(await (lines["another user"] ?? bystander).call("clients"))).toBe("result");
  await device.config(`[api]\n${noReaders}`);
  for (const [what, line] of Object.entries(lines)) {
    await eventually(() => expect([what, line.isOver()]).toEqual([what, true]));
    if (!what.includes("stream")) expect(wordOf(await line.call("version"))).toStartWith("closed");
  }
  // The other connections stay.
  expect(wordOf(await bystander.call("version"))).toBe("result");
  await stillServes(scene);
});

async function stillServes(scene: Scene): Promise<void> {
  expect((await scene.device.service.client.call("clients")).clients.length).toBe(1);
}
