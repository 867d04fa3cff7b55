/**
 * A paired owner over the network: its acts, the acts that only the device itself may do, and how the first owner is
 * made.
 */
import { expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Calls } from "../../src/client/client.ts";
import { startScene } from "../helpers/attack-scene.ts";
import { pairByCode, startDevice } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import type { Identity, Line } from "../helpers/peer.ts";
import { eventually } from "../helpers/processes.ts";
import { noReaders } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);

async function owning(toml = noReaders) {
  await using made = new AsyncDisposableStack();
  const scene = made.use(await startScene(toml));
  const identity = await scene.client("owner");
  const line = await scene.sealed(identity);
  const whole = made.move();
  return { scene, identity, line, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

async function ask<Name extends keyof Calls>(
  line: Pick<Line, "call">,
  method: Name,
  params: object = {},
): Promise<Calls[Name]["result"]> {
  const { result, error } = await line.call(method, params);
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return result as Calls[Name]["result"];
}

/** The code and the sentence of a refusal. */
async function refusal(line: Pick<Line, "call">, method: string, params: object) {
  const { error } = await line.call(method, params);
  return { refused: error?.data?.reason, message: error?.message };
}

remoteTest("an owner over the network works with phones, without secrets and addresses", async () => {
  await using owned = await owning();
  const { scene, identity, line } = owned;
  expect(await ask(line, "rights")).toEqual({ rights: ["look", "play", "change", "own"] });
  const member = await scene.client("member");
  const { phones } = await ask(line, "phones");
  expect(phones).toEqual([
    {
      id: identity.id,
      name: expect.any(String),
      role: "owner",
      isYou: true,
      added: expect.any(String),
      lastUsed: expect.any(String),
    },
    { id: member.id, name: expect.any(String), role: "member", added: expect.any(String) },
  ]);
  expect(JSON.stringify(phones)).not.toContain(member.secret);
  expect(JSON.stringify(phones)).not.toContain(scene.device.network.neighbourAddress);
  for (const method of ["clients", "clients.new", "clients.update", "clients.delete"])
    expect(await refusal(line, method, { id: member.id, role: "owner" })).toEqual({
      refused: "forbidden",
      message: `${method} can be called on the device itself only`,
    });
  // A change of the role also ends the member's open connection.
  const hers = await scene.sealed(member);
  expect(await ask(hers, "rights")).toEqual({ rights: ["look", "play", "change"] });
  expect(await ask(line, "phones.update", { id: member.id, name: "Tablet", role: "player" })).toBeNull();
  await eventually(async () => expect((await hers.call("version")).closed).toBeDefined());
  expect(await ask(await scene.sealed(member), "clients.current")).toMatchObject({
    name: "Tablet",
    role: "player",
    rights: ["look", "play"],
  });
  const audited = (await ask(line, "audit")).entries.find(({ method }) => method === "phones.update");
  expect(audited).toMatchObject({
    client: identity.id,
    name: expect.stringMatching(/^owner \d+$/),
    object: `phone ${member.id}`,
  });
});

remoteTest("a revoked phone is out at once, and comes back with its secret by an undo", async () => {
  await using owned = await owning();
  const { scene, line } = owned;
  const member = await scene.client("member");
  const hers = await scene.sealed(member);
  expect(await ask(hers, "version")).toMatchObject({ platform: "linux" });
  expect(await ask(line, "phones.delete", { id: member.id })).toEqual({ undoMs: 10_000 });
  await eventually(async () => expect((await hers.call("version")).closed).toBeDefined());
  expect(await ask(line, "phones.restore", { id: member.id })).toBeNull();
  expect(await ask(await scene.sealed(member), "rights")).toEqual({ rights: ["look", "play", "change"] });
});

remoteTest("the last owner is changed on the device only, and an owner can make another one", async () => {
  await using owned = await owning();
  const { scene, identity, line } = owned;
  const last = {
    refused: "forbidden",
    message: "this is the last owner: only the device itself can change or revoke it",
  };
  expect(await refusal(line, "phones.delete", { id: identity.id })).toEqual(last);
  expect(await refusal(line, "phones.update", { id: identity.id, role: "member" })).toEqual(last);
  const { code } = await ask(line, "pairing.open", { role: "owner" });
  const { identity: second } = JSON.parse(await pairByCode(scene.device.network, scene.device.url, code)) as {
    identity: Identity;
  };
  const other = await scene.sealed(second);
  expect(await ask(other, "phones.delete", { id: identity.id })).toEqual({ undoMs: 10_000 });
  expect(await refusal(other, "phones.delete", { id: second.id })).toEqual(last);
  await scene.device.service.client.call("clients.delete", { id: second.id });
});

remoteTest("an owner who is revoked while its pairing is open lets nobody in any more", async () => {
  await using owned = await owning();
  const { scene, identity, line } = owned;
  await scene.client("owner");
  const { code } = await ask(line, "pairing.open", { role: "owner" });
  await scene.device.service.client.call("clients.delete", { id: identity.id });
  const answer = await pairByCode(scene.device.network, scene.device.url, code);
  expect(JSON.parse(answer).refused).toContain("no pairing by code is open");
});

const risky = `
[script]
allow_execute = ["rm .*"]
allow_input = true
[hooks]
on_start = "**execute:evil"
[api]
anonymous = "change"
[mqtt]
url = "mqtt://evil.example"
user = "deck"
password_file = "tls/device-key.pem"
[[launchers]]
id = "evil"
systems = ["SNES"]
command = ["sh", "-c", "evil"]
`;

remoteTest("a restore over the network changes what an owner may, and never what runs programs", async () => {
  await using first = await startDevice(`${noReaders}insert_mode = true\n${risky}`);
  await first.run("map", "04aabbccdd", "**delay:7");
  await first.service.client.call("backup");
  const { bytes, data } = await first.service.client.call("backup.read", { offset: 0 });
  expect(Buffer.from(data, "base64")).toHaveLength(bytes);

  await using owned = await owning(`${noReaders}# my own words\n[playtime]\ndaily_minutes = 90\n`);
  const { scene, line } = owned;
  const { content } = await ask(line, "backup.send", { offset: 0, data, isLast: true });
  expect(content?.changes).toEqual(["readers.insert_mode", "playtime.daily_minutes"]);
  expect(content?.warnings).toEqual([
    "these stay as they are here, because only a restore on the device itself changes them: api.anonymous, script.allow_execute, script.allow_input, hooks.on_start, mqtt.url, mqtt.user, mqtt.password_file, launchers",
  ]);
  const sha256 = content?.sha256 ?? "";
  expect(await ask(line, "restore", { sha256 })).toMatchObject({ counts: { mappings: 1 } });
  await eventually(async () => {
    const client = await scene.device.connect(AbortSignal.timeout(5000));
    const { mappings } = await client.call("mappings").finally(() => client.close());
    expect(mappings).toMatchObject([{ pattern: "04aabbccdd" }]);
  });
  const toml = await readFile(join(scene.device.place.folder, "config.toml"), "utf8");
  expect(toml).toContain("insert_mode = true");
  expect(toml).toContain("# my own words");
  for (const word of ["evil", "allow_execute", "allow_input", "anonymous"]) expect(toml).not.toContain(word);
  const { entries } = await (await scene.device.connect(AbortSignal.timeout(5000))).call("audit");
  expect(entries).toContainEqual(
    expect.objectContaining({ method: "restore", name: expect.stringMatching(/^owner \d+$/) }),
  );
});

remoteTest("an owner over the network sends no program, and changes the limits", async () => {
  await using owned = await owning(
    `${noReaders}[[launchers]]\nid = "run"\nextensions = [".sh"]\ncommand = ["sh", "{path}"]\n`,
  );
  const { line } = owned;
  const files = [{ system: "PC", path: "evil.sh", size: 3 }];
  const started = await ask(line, "uploads.start", { files });
  expect(JSON.stringify(started)).toContain(
    ".sh files are programs: only a caller on the device itself may send it",
  );
  expect(await ask(line, "playtime.limits.update", { dailyMinutes: 30 })).toBeNull();
  expect(await ask(line, "playtime")).toMatchObject({ limits: { dailyMinutes: 30 } });
  expect(await ask(line, "settings.update", { debug: true })).toBeNull();
});

remoteTest(
  "on an image the first phone that pairs by the screen's code is the owner, and the next is a member",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tapdeck-first-owner-"));
    await using made = new AsyncDisposableStack();
    made.defer(() => rm(folder, { recursive: true }));
    const screen = join(folder, "screen");
    const card = join(folder, "card");
    await Bun.write(screen, "");
    await Bun.write(card, "");
    const via = ["env", `TAPDECK_SCREEN=${screen}`, "TAPDECK_FIRST_OWNER=yes"];
    await using device = await startDevice(`[readers]\ndetect = false\nconnect = ["file:${card}"]\n`, via);
    const roles: string[] = [];
    for (const name of ["first", "second"]) {
      await Bun.write(screen, "");
      await Bun.write(card, "**pair");
      let code = "";
      await eventually(async () => {
        const [, one = "", two = ""] = /type (\d{3}) (\d{3})/.exec(await readFile(screen, "utf8")) ?? [];
        code = one + two;
        return code !== "";
      });
      expect(JSON.parse(await pairByCode(device.network, device.url, code)), name).toHaveProperty("identity");
      await Bun.write(card, "");
      const { clients } = await device.service.client.call("clients");
      roles.push(clients.at(-1)?.role ?? "");
      await device.service.heard.next("tokens.removed");
    }
    expect(roles).toEqual(["owner", "member"]);
  },
);
