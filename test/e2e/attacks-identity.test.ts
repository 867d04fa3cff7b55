/** Attacks with the identity of a caller: none, a stolen, altered or withdrawn one, an app's page, a wrong Host. */
import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { makeCertificate } from "../../src/system/certificate.ts";
import { attackTest, bearerOf, opened, type Scene, startScene, urls } from "../helpers/attack-scene.ts";
import { port, tlsPort } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { isLine, type Line, startPeer, wordOf } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const forbidden = expect.stringMatching(/^error 2\b/);
const encryptionRequired = -32002;
const probes = [
  { method: "version" },
  { method: "launch", params: "**delay:1" },
  { method: "mappings" },
  { method: "clients" },
];

for (const [anonymous, ...expected] of [
  ["none", forbidden, forbidden, forbidden, forbidden],
  ["look", "result", forbidden, forbidden, forbidden],
  ["play", "result", "result", forbidden, forbidden],
  ["change", "result", "result", "result", forbidden],
  // The default of `api.anonymous` is `play`.
  [undefined, "result", "result", forbidden, forbidden],
] as const) {
  const said =
    anonymous === undefined ? "the owner says nothing of strangers" : `strangers are granted ${anonymous}`;
  attackTest(`a stranger does more than it may, where ${said}`, async () => {
    const api = anonymous === undefined ? "" : `[api]\nanonymous = "${anonymous}"\n`;
    await using scene = await startScene(`${api}${noReaders}`);
    const line = await scene.stranger();
    expect((await line.callAll(probes)).map(wordOf)).toEqual([...expected]);
    expect((await scene.neighbour.post({ url: urls.tls }, probes)).map(wordOf)).toEqual([...expected]);
    // Encryption grants no more than cleartext does.
    const cleartext = await scene.neighbour.post({ url: urls.plain }, probes);
    expect(cleartext.map(({ status, error }) => [status, error?.code])).toEqual(
      probes.map(() => [403, encryptionRequired]),
    );
  });
}

/** The statuses of a POST and an event stream with this header. */
async function statusesOf(
  { neighbour }: Scene,
  headers: Readonly<Record<string, string>>,
  url: string = urls.tls,
) {
  const [posted = {}] = await neighbour.post({ url, headers }, [{ method: "mappings" }]);
  const stream = await neighbour.open({ url: `${url}/events`, headers });
  if (isLine(stream)) stream.close();
  return [wordOf(posted), isLine(stream) ? "result" : wordOf(stream)];
}

attackTest(
  "a bearer token is forged, borrowed for another certificate, sent in the clear, or withdrawn",
  async () => {
    await using scene = await startScene(`[api]\nallow_v1_clients = true\n${noReaders}`);
    const member = await scene.client("member");
    const right = await scene.bearer(member);
    expect(await statusesOf(scene, right)).toEqual(["result", "result"]);
    const [scheme = "", credentials = ""] = right.authorization.split(" ");
    const [id = "", token = ""] = credentials.split(":");
    const { certificatePem } = makeCertificate({
      commonName: "a man in the middle",
      names: [],
      addresses: [Uint8Array.of(10, 77, 0, 1)],
      notBefore: new Date("2020-01-01T00:00:00Z"),
      notAfter: new Date("2049-01-01T00:00:00Z"),
    });
    const other = await scene.client("member");
    const wrong: Readonly<Record<string, string>> = {
      "another certificate": bearerOf(member, new X509Certificate(certificatePem)).authorization,
      "another client's": `${scheme} ${other.id}:${token}`,
      "no such client": `${scheme} nobody:${token}`,
      "the last digit altered": right.authorization.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
      "cut off": right.authorization.slice(0, -2),
      "no token": `${scheme} ${id}:`,
      "the secret itself": `${scheme} ${id}:${member.secret}`,
      "no colon": `${scheme} ${id}`,
      nothing: scheme,
      "much too long": `${scheme} ${id}:${token.repeat(50)}`,
    };
    for (const [what, authorization] of Object.entries(wrong))
      expect([what, ...(await statusesOf(scene, { authorization }))]).toEqual([
        what,
        "status 401",
        "status 401",
      ]);
    const [cleartext, clearStream] = await statusesOf(scene, right, urls.plain);
    expect([cleartext, clearStream]).toEqual([`error ${encryptionRequired}`, "status 403"]);
    await scene.device.service.client.call("clients.delete", { id: member.id });
    expect(await statusesOf(scene, right)).toEqual(["status 401", "status 401"]);
    expect(scene.device.log()).not.toContain(token);
    expect(scene.device.log()).not.toContain(member.secret);
  },
);

attackTest("a client that was revoked goes on listening", async () => {
  await using scene = await startScene(noReaders);
  const member = await scene.client("member");
  const headers = await scene.bearer(member);
  const stream = await opened(scene.neighbour.open({ url: `${urls.tls}/events`, headers }));
  const sealed = await scene.sealed(member);
  // An eavesdropper could replay a hello, so a client counts only after it has sent a message.
  await sealed.call("version");
  await scene.device.service.client.call("clients.delete", { id: member.id });
  // The connections end within a second, or later on a busy machine.
  await eventually(() => expect([sealed.isOver(), stream.isOver()]).toEqual([true, true]));
});

attackTest("a player's identity is used to do what members may, over every transport", async () => {
  await using scene = await startScene(noReaders);
  const words: Record<string, readonly string[]> = {};
  for (const role of ["player", "member"] as const) {
    const client = await scene.client(role);
    words[`${role} over ws`] = (await (await scene.sealed(client)).callAll(probes)).map(wordOf);
    words[`${role} by bearer`] = (await scene.postAs(client, probes)).map(wordOf);
    // The secure layer inside of TLS grants the same rights.
    const inside = await scene.neighbour.open({ url: urls.wss, client });
    words[`${role} over wss`] = isLine(inside)
      ? (await inside.callAll(probes)).map(wordOf)
      : [wordOf(inside)];
  }
  const player = ["result", "result", forbidden, forbidden];
  const member = ["result", "result", "result", forbidden];
  expect(words).toEqual({
    "player over ws": player,
    "player by bearer": player,
    "player over wss": player,
    "member over ws": member,
    "member by bearer": member,
    "member over wss": member,
  });
});

attackTest("a page of the known app's origin does more than version 1 of the secure layer", async () => {
  await using scene = await startScene(`[api]\nallow_v1_clients = true\nallow_launch = true\n${noReaders}`);
  const { neighbour } = scene;
  const member = await scene.client("member");
  const bearer = await scene.bearer(member);
  const mayAnswer: string[] = [];
  for (const origin of [
    "capacitor://localhost",
    "ionic://localhost",
    "http://localhost",
    "https://localhost",
  ]) {
    const headers = { origin };
    const post = { headers: { ...headers, "content-type": "application/json" }, method: "POST" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "version" });
    const asked = {
      "POST over TLS": await neighbour.ask({ url: urls.tls, ...post, body }),
      "POST with a token": await neighbour.ask({
        url: urls.tls,
        ...post,
        headers: { ...post.headers, ...bearer },
        body,
      }),
      "POST in the clear": await neighbour.ask({ url: urls.plain, ...post, body }),
      "the launch endpoint": await neighbour.ask({ url: `http://10.77.0.1:${port}/l/**delay:1`, headers }),
    };
    for (const [what, { status }] of Object.entries(asked))
      if (status !== 403) mayAnswer.push(`${origin}: ${what}`);
    const lines: Record<string, Parameters<typeof neighbour.open>[0]> = {
      "events over TLS": { url: `${urls.tls}/events`, headers },
      "version 2 over ws": { url: urls.ws, headers, client: member },
      "version 2 over wss": { url: urls.wss, headers, client: member },
    };
    for (const [what, visited] of Object.entries(lines))
      if (isLine(await neighbour.open(visited))) mayAnswer.push(`${origin}: ${what}`);
    const openly = await neighbour.open({ url: urls.wss, headers });
    if (isLine(openly) && wordOf(await openly.call("version")) === "result") mayAnswer.push(`${origin}: wss`);
  }
  expect(mayAnswer).toEqual([]);
});

attackTest("a page reaches the device by an unspecified address as its Host", async () => {
  await using scene = await startScene(`[api]\nallow_launch = true\n${noReaders}`);
  const hosts = [
    "0.0.0.0",
    "[::]",
    "[::0]",
    "[0:0:0:0:0:0:0:0]",
    "[::ffff:0.0.0.0]",
    "[::ffff:0:0]",
    "0.0.0.0.",
    "0",
    "000.0.0.0",
  ];
  await using itself = startPeer(scene.device.network.onDevice);
  const passed: string[] = [];
  for (const name of hosts)
    for (const host of [name, `${name}:${port}`])
      for (const [who, peer, base] of [
        ["device", itself, `http://127.0.0.1:${port}`],
        ["device over TLS", itself, `https://127.0.0.1:${tlsPort}`],
        ["neighbour", scene.neighbour, `http://10.77.0.1:${port}`],
        ["neighbour over TLS", scene.neighbour, `https://10.77.0.1:${tlsPort}`],
      ] as const) {
        const { status } = await peer.ask({ url: `${base}/l/**delay:1`, headers: { host } });
        const line: Line | { readonly status?: number } = await peer.open({
          url: `${base.replace("http", "ws")}/api/v0.1`,
          headers: { host, origin: `http://${host}` },
        });
        if (status !== 403) passed.push(`${who}, ${host}: ${status}`);
        if ("texts" in line || line.status !== 403) passed.push(`${who}, ${host}: WebSocket`);
      }
  expect(passed).toEqual([]);
});

test.skipIf(!canMakeNetworks)("the device's page loads for everybody", async () => {
  await using scene = await startScene(`[api]\nanonymous = "none"\n${noReaders}`);
  await using itself = startPeer(scene.device.network.onDevice);
  for (const [peer, base] of [
    [scene.neighbour, `http://10.77.0.1:${port}`],
    [scene.neighbour, `https://10.77.0.1:${tlsPort}`],
    [itself, `http://127.0.0.1:${port}`],
  ] as const) {
    const { status, body } = await peer.ask({ url: `${base}/` });
    expect([base, status, body.slice(0, 15).toLowerCase()]).toEqual([base, 200, "<!doctype html>"]);
    // Every file that the page names can also be loaded.
    for (const [, path] of body.matchAll(/(?:src|href)="(\/?[\w./-]+)"/g)) {
      const file = await peer.ask({ url: new URL(path ?? "", `${base}/`).href });
      expect([path, file.status]).toEqual([path, 200]);
    }
  }
});
