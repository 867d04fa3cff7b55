/**
 * No secret is where others look. After a full run (pairing of both kinds, right and wrong secrets, launches that fail, a crash,
 * a backup copy, with the debug log on), everything that the service wrote, said or shows of itself is searched for every
 * secret that was made.
 */
import { expect, test } from "bun:test";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "../../src/client/client.ts";
import { startHandshake } from "../../src/secure/handshake.ts";
import { canMakeNetworks, makeNetwork, type Network, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs, startPythonClient } from "../helpers/noise-python.ts";
import { makePlace, type Place, program } from "../helpers/tapdeck.ts";

const port = 7497;
const peer = join(import.meta.dir, "../helpers/paired-peer.ts");
const script = join(import.meta.dir, "noise-python/v1.py");
const request = (method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** What was said, by where. */
type Found = Map<string, string>;

test.skipIf(!canMakeNetworks)(
  "no secret is in a log, an error, an answer to somebody from afar, the audit log, a file's name or a process's title",
  async () => {
    const python = await noisePython();
    await using network = await makeNetwork();
    await using place = await makePlace();
    await place.file("SNES/Game.sfc");
    await Bun.write(`${place.folder}/config.toml`, settings);
    const found: Found = new Map();
    const secrets: string[] = [];

    const first = await startService(network, place);
    const local = () => connect(`ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`);
    const owner = await local();
    const made = await owner.call("clients.new", { name: "phone" });
    const revoked = await owner.call("clients.new", { name: "guest" });
    await owner.call("clients.delete", { id: revoked.id });
    const { pin } = await owner.call("clients.pair.start");
    const paired = await pairByPin(network, python, pin);
    secrets.push(made.secret, revoked.secret, paired.key, pin);
    // Another PIN stays open, and is guessed wrongly.
    const { pin: open } = await owner.call("clients.pair.start");
    found.set(
      "a wrong PIN",
      JSON.stringify(await pairByPin(network, python, String((Number(open) + 1) % 1e6).padStart(6, "0"))),
    );
    secrets.push(open);

    const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
    const { code } = await owner.call("pairing.open");
    const wrongCode = String((Number(code) + 1) % 1e6).padStart(6, "0");
    found.set("a wrong code", await pairByCode(network, url, wrongCode));
    const { identity } = JSON.parse(await pairByCode(network, url, code));
    secrets.push(code, identity.secret);

    {
      await using phone = await startPythonClient(made, [url], {}, network.onNeighbour);
      await phone.next();
      for (const method of [
        "version",
        "settings",
        "health",
        "clients",
        "clients.new",
        "audit",
        "tokens.history",
        "rpc.discover",
      ]) {
        phone.send(request(method));
        found.set(`${method} from afar`, await phone.payload());
      }
      phone.send(request("launch", "SNES/Game.sfc"));
      found.set("launch from afar", await phone.payload());
      await eventually(async () => {
        const lines = await commandLines();
        // A player that is about to become its program has no command line for that moment.
        if (!lines.includes("sleep 600")) throw new Error(lines);
        found.set("processes", lines);
      });
    }
    for (const [what, hello] of Object.entries({
      "a wrong secret": (await startHandshake(made.id, "00".repeat(32))).hello,
      "a client that was deleted": (await startHandshake(revoked.id, revoked.secret)).hello,
      "a secret in the clear": request("clients.delete", { id: made.secret }),
    }))
      found.set(what, JSON.stringify(await visit(network.onNeighbour, { url, send: [hello, "x"] })));
    // A copy is made at once when something is taken away that must not come back.
    await eventually(() => stat(`${place.folder}/tapdeck.db.backup`));
    await owner.call("launch", "no/such file");
    owner.close();
    // A crash may take the last few seconds of the audit log with it: this one comes later.
    await eventually(async () => {
      const text = await readFile(join(place.folder, "audit-traffic.jsonl"), "utf8");
      if (!text.includes("secure-failure")) throw new Error(text);
    });
    first.child.kill("SIGKILL");
    await first.child.exited;

    const second = await startService(network, place);
    found.set("tapdeck audit", await printed(network, [program, "audit", `--data=${place.folder}`]));
    found.set(
      "tapdeck audit --json",
      await printed(network, [program, "audit", "--json", `--data=${place.folder}`]),
    );
    second.child.kill("SIGTERM");
    await second.child.exited;

    found.set("the log", first.log() + second.log());
    found.set("the folder", (await readdir(place.folder, { recursive: true })).join("\n"));
    for (const name of ["audit.jsonl", "audit-traffic.jsonl"])
      found.set(name, await readFile(join(place.folder, name), "utf8"));
    secrets.push(...(await keysIn(join(place.folder, "tls"))));

    expect(secrets).toHaveLength(8);
    for (const [where, text] of found) {
      expect([where, text.length > 0]).toEqual([where, true]);
      const told = secrets.flatMap(formsOf).filter((form) => saidIn(text, form));
      expect([where, told]).toEqual([where, []]);
    }
    // It was a full run.
    expect(found.get("audit.jsonl")).toContain('"revoked"');
    for (const event of ["wrong-pin", "wrong-code", "secure-failure", "launched"])
      expect(found.get("audit-traffic.jsonl")).toContain(event);
    expect(found.get("the log")).toContain("debug");
    expect(found.get("processes")).toContain("sleep");
  },
  noisePythonSetUpMs,
);

const settings = `
[api]
allow_v1_clients = true
[readers]
connect = ["simulated:"]
detect = false
[log]
debug = true
[[launchers]]
id = "sleeper"
systems = ["SNES"]
command = ["/bin/sh", "-c", "exec sleep 600", "{path}"]
`;

async function startService(network: Network, { folder }: Place) {
  const child = Bun.spawn([...network.onDevice([program, `--data=${folder}`])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) log += decoder.decode(chunk);
  })();
  await eventually(async () => (await connect(`ws+unix://${folder}/tapdeck.sock:/api/v0.1`)).close());
  return { child, log: () => log };
}

async function pairByPin(network: Network, python: string, pin: string): Promise<{ key: string }> {
  const url = `http://${network.deviceAddress}:${port}`;
  return JSON.parse(await printed(network, [python, script, "pair", url, pin, "old phone"], "onNeighbour"));
}

async function pairByCode(network: Network, url: string, code: string): Promise<string> {
  const words = JSON.stringify({ code, name: "tablet" });
  return printed(network, [process.execPath, peer, url, words], "onNeighbour");
}

async function printed(
  network: Network,
  command: readonly string[],
  where: "onDevice" | "onNeighbour" = "onDevice",
): Promise<string> {
  const child = Bun.spawn([...network[where](command)], { stdio: ["ignore", "pipe", "inherit"] });
  return new Response(child.stdout).text();
}

/** Of every process that there is but those of the test, which may know its secrets. */
async function commandLines(): Promise<string> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines
    .filter((line) => !line.includes("python"))
    .map((line) => line.replaceAll("\0", " "))
    .join("\n");
}

/** The private keys, without what stands around them. */
async function keysIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith("key.pem"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => text.split("\n").slice(1, 2).join(""));
}

/** As it is, in the other case, as base64 of its bytes, and the way that bytes stand in the debug log. */
function formsOf(secret: string): readonly string[] {
  if (!/^[0-9a-f]{64}$/.test(secret)) return [secret];
  const bytes = Uint8Array.fromHex(secret);
  const spaced = secret.replace(/..(?!$)/g, "$& ");
  return [secret, secret.toUpperCase(), bytes.toBase64(), bytes.toBase64({ alphabet: "base64url" }), spaced];
}

/** Six digits are found by chance inside of longer numbers: those are no PIN. */
function saidIn(text: string, form: string): boolean {
  return form.length > 6 ? text.includes(form) : new RegExp(`(?<![0-9a-f])${form}(?![0-9a-f])`).test(text);
}

/** Resolves as soon as it does not throw any more; fails after a minute. */
async function eventually(ask: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + 60_000;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await Bun.sleep(20);
    }
  }
}
