/**
 * No secret is in a place that others can read. First a full run: pairing of both kinds, right and wrong secrets, failed
 * launches, a crash, a backup copy, the debug log. Then the test searches all output of the service for every secret.
 */
import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { startHandshake } from "../../src/secure/handshake.ts";
import { pairByCode, port, startDevice } from "../helpers/device.ts";
import { canMakeNetworks, type Network, visit } from "../helpers/namespaces.ts";
import { noisePython, noisePythonSetUpMs, startPythonClient } from "../helpers/noise-python.ts";
import { eventually, eventuallyExists, printed } from "../helpers/processes.ts";
import { readerConfig, sleeper } from "../helpers/tapdeck.ts";

const script = join(import.meta.dir, "noise-python/v1.py");
const request = (method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** The texts that the test searches, by the place of each. */
type Found = Map<string, string>;

test.skipIf(!canMakeNetworks)(
  "no secret is in a log, an error, an answer to a remote caller, the audit log, a file's name or a process's title",
  async () => {
    const python = await noisePython();
    await using device = await startDevice(settings);
    const { network, place } = device;
    await place.file("SNES/Game.sfc");
    const found: Found = new Map();
    const secrets: string[] = [];

    const owner = device.service.client;
    const made = await owner.call("clients.new", { name: "phone" });
    const revoked = await owner.call("clients.new", { name: "guest" });
    await owner.call("clients.delete", { id: revoked.id });
    const { pin } = await owner.call("clients.pair.start");
    const paired = await pairByPin(network, python, pin);
    secrets.push(made.secret, revoked.secret, paired.key, pin);
    // Another pairing by PIN stays open, and a wrong PIN is tried.
    const { pin: open } = await owner.call("clients.pair.start");
    found.set(
      "a wrong PIN",
      JSON.stringify(await pairByPin(network, python, String((Number(open) + 1) % 1e6).padStart(6, "0"))),
    );
    secrets.push(open);

    const { url } = device;
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
        // A process that is about to become a player has no command line for a moment.
        found.set("processes", lines);
        expect(lines).toContain("sleep 600");
      });
    }
    for (const [what, hello] of Object.entries({
      "a wrong secret": (await startHandshake(made.id, "00".repeat(32))).hello,
      "a client that was deleted": (await startHandshake(revoked.id, revoked.secret)).hello,
      "a secret in the clear": request("clients.delete", { id: made.secret }),
    }))
      found.set(what, JSON.stringify(await visit(network.onNeighbour, { url, send: [hello, "x"] })));
    // A deletion that must not be undone is copied to the backup at once.
    await eventuallyExists(`${place.folder}/tapdeck.db.backup`);
    await owner.call("launch", "no/such file");
    // A crash may lose lines of the audit log that are not written yet. Its files are written at the same time, so the test
    // waits for these two lines.
    const written = (name: string) => readFile(join(place.folder, name), "utf8").catch(() => "");
    await eventually(async () => {
      expect(await written("audit-traffic.jsonl")).toContain("secure-failure");
      expect(await written("audit.jsonl")).toContain('"revoked"');
    });
    process.kill(device.service.pid, "SIGKILL");
    await device.stop();

    await device.start();
    found.set("tapdeck audit", (await device.run("audit")).out);
    found.set("tapdeck audit --json", (await device.run("audit", "--json")).out);
    await device.stop();

    found.set("the log", device.log());
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
    // The run has produced every kind of output.
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
${readerConfig("simulated:")}[log]
debug = true
${sleeper()}`;

async function pairByPin(network: Network, python: string, pin: string): Promise<{ key: string }> {
  const url = `http://${network.deviceAddress}:${port}`;
  return JSON.parse(await printed(network.onNeighbour([python, script, "pair", url, pin, "old phone"])));
}

/** The command lines of every process except those of the test, which may know its secrets. */
async function commandLines(): Promise<string> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines
    .filter((line) => !line.includes("python"))
    .map((line) => line.replaceAll("\0", " "))
    .join("\n");
}

/** The private keys, without the PEM lines around them. */
async function keysIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith("key.pem"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => text.split("\n").slice(1, 2).join(""));
}

/** The forms of a secret: unchanged, in capitals, as base64 of its bytes, and as the spaced hex of the debug log. */
function formsOf(secret: string): readonly string[] {
  if (!/^[0-9a-f]{64}$/.test(secret)) return [secret];
  const bytes = Uint8Array.fromHex(secret);
  const spaced = secret.replace(/..(?!$)/g, "$& ");
  return [secret, secret.toUpperCase(), bytes.toBase64(), bytes.toBase64({ alphabet: "base64url" }), spaced];
}

/** Six digits occur by chance inside longer numbers, and these are no PIN. */
function saidIn(text: string, form: string): boolean {
  return form.length > 6 ? text.includes(form) : new RegExp(`(?<![0-9a-f])${form}(?![0-9a-f])`).test(text);
}
