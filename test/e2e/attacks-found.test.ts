/** Attacks that outsiders found on the compiled program. Each continues until the service stops it. */
import { expect } from "bun:test";
import { join } from "node:path";
import { asOtherUser, attackTest, startScene } from "../helpers/attack-scene.ts";
import { port } from "../helpers/device.ts";
import { wordOf } from "../helpers/peer.ts";
import { eventually, run } from "../helpers/processes.ts";
import { noReaders, sleeper } from "../helpers/tapdeck.ts";

/** Arguments: host, port, source address or nothing, payload; `--close` closes directly after it. Prints the answer. */
const sender = `
import socket, sys, time
host, port, source, payload, how = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
s = socket.socket(family); s.settimeout(10)
if source: s.bind((source, 0))
s.connect((host, port))
s.sendall(payload.encode())
if how == "close": s.close(); sys.exit()
if how == "half": s.shutdown(socket.SHUT_WR); time.sleep(0.05); s.close(); sys.exit()
print(s.recv(65536).decode())
`;

function posted(method: string, params: object = {}): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return `POST /api/v0.1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

attackTest(
  "another user closes the socket at once, and the kernel then calls it root's (no owner: uid 0)",
  async () => {
    await using scene = await startScene(noReaders);
    const { device } = scene;
    const owner = device.service.client;
    for (const how of ["close", "half"])
      for (let turn = 0; turn < 10; turn++) {
        const mapping = { enabled: true, type: "uid", match: "exact", pattern: "04aa", override: "**stop" };
        const words = ["127.0.0.1", String(port), "", posted("mappings.new", mapping), how];
        const { code, error } = await run(
          device.network.onDevice(asOtherUser(["/usr/bin/python3", "-c", sender, ...words])),
        );
        expect([code, error]).toEqual([0, ""]);
      }
    // The answer to this call shows that everything sent before it was processed.
    const words = ["127.0.0.1", String(port), "", posted("version"), "wait"];
    const { out } = await run(
      device.network.onDevice(asOtherUser(["/usr/bin/python3", "-c", sender, ...words])),
    );
    expect(out).toContain("200 OK");
    expect((await owner.call("mappings")).mappings).toEqual([]);
  },
);

attackTest(
  "a neighbour takes an address that the device lists and does not have, and counts as the device",
  async () => {
    await using scene = await startScene(`[api]\nanonymous = "none"\n${noReaders}`);
    const { network } = scene.device;
    const address = "fd77::77";
    const ip = async (via: typeof network.onDevice, ...words: string[]) => {
      const { code, error } = await run(via(["ip", ...words]));
      if (code !== 0) throw new Error(error);
    };
    const linkOf = async (via: typeof network.onDevice) => {
      const { out } = await run(via(["ip", "-o", "-6", "address", "show", "scope", "global"]));
      return out.trim().split(/\s+/)[1] ?? "";
    };
    await ip(
      network.onNeighbour,
      "address",
      "add",
      `${address}/64`,
      "dev",
      await linkOf(network.onNeighbour),
      "nodad",
    );
    await ip(network.onDevice, "address", "add", `${address}/64`, "dev", await linkOf(network.onDevice));
    // The neighbour answers for the address, so the device may not use it. The device's kernel still lists the address.
    await eventually(async () =>
      expect((await run(network.onDevice(["ip", "-6", "address", "show"]))).out).toContain("dadfailed"),
    );
    const words = ["fd77::1", String(port), address, posted("clients.new"), "wait"];
    await eventually(async () => {
      await run(network.onNeighbour(["ip", "-6", "neigh", "flush", "all"]));
      const { out, code } = await run(network.onNeighbour(["/usr/bin/python3", "-c", sender, ...words]));
      if (code !== 0) return false; // No answer came, because the kernel still looks for its neighbour.
      expect(out).toContain("encryption-required");
      return true;
    });
    expect((await scene.device.service.client.call("clients")).clients).toEqual([]);
  },
);

attackTest("a pipe in a media folder that calls itself a playlist stops all launches", async () => {
  await using scene = await startScene(`${noReaders}${sleeper(".sfc")}`);
  const { place } = scene.device;
  await place.file("SNES/Game.sfc");
  const folder = join(place.folder, "media/SNES");
  for (const name of ["pipe.m3u", "pipe.pls"]) {
    expect((await run(["mkfifo", join(folder, name)])).code).toBe(0);
    const stranger = await scene.stranger();
    expect(await scene.launchOver(stranger, `**playlist.play:SNES/${name}`)).toBe("failed");
  }
  expect(await scene.launch("SNES/Game.sfc")).toBe("done");
});

attackTest("strangers fill the queue with scripts that wait, and no card is launched any more", async () => {
  await using scene = await startScene(noReaders);
  const owner = scene.device.service.client;
  const { heard } = scene.device.service;
  const words: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    const stranger = await scene.stranger();
    words.push(wordOf(await stranger.call("launch", { text: `**delay:9s||**echo:${turn}` })));
  }
  expect(words.filter((word) => word === "result").length).toBe(8);
  expect(new Set(words.slice(8))).toEqual(new Set(["error -32000"]));
  // A card has its turn before all waiting scripts.
  await owner.call("tokens.scan", { uid: "04aabbccdd", text: "**echo:a card" });
  expect(await heard.next("launch.finished", ({ uid }) => uid === "04aabbccdd")).toMatchObject({
    success: true,
  });
  await owner.call("stop");
  // A stranger's script may not wait for long.
  const stranger = await scene.stranger();
  expect(await scene.launchOver(stranger, "**delay:6s||**delay:6s")).toBe("failed");
});

attackTest("a Host with an impossible port makes the service fail, and fills the log", async () => {
  await using scene = await startScene(noReaders);
  const request = "GET /ping HTTP/1.1\r\nHost: 10.77.0.1:99999\r\nConnection: close\r\n\r\n";
  const words = ["10.77.0.1", String(port), "", request, "wait"];
  const { out } = await run(scene.device.network.onNeighbour(["/usr/bin/python3", "-c", sender, ...words]));
  expect(out).toMatch(/^HTTP\/1\.1 4\d\d /);
  expect(scene.device.log()).not.toContain("Invalid URL");
});

attackTest("a member's scripts go on after it was revoked", async () => {
  await using scene = await startScene(`${noReaders}${sleeper(".sfc")}`);
  const { client: owner, heard } = scene.device.service;
  await scene.device.place.file("SNES/Game.sfc");
  const member = await scene.client("member");
  const line = await scene.sealed(member);
  const texts = ["**delay:1m||SNES/Game.sfc", "SNES/Game.sfc||**echo:waits"];
  for (const text of texts) expect(wordOf(await line.call("launch", { text }))).toBe("result");
  await owner.call("clients.delete", { id: member.id });
  for (const text of texts)
    expect(await heard.next("launch.finished", (end) => end.text === text)).toMatchObject({
      success: false,
      error: "its client was revoked, or has another role now",
    });
  expect(heard.names()).not.toContain("media.started");
});
