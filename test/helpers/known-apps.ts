/**
 * The two generations of the known phone app, as neighbours of the device, with the frames that each sends. The current
 * one pairs by PIN and seals by version 1. The earlier one sends the frames of the contract, inside TLS or sealed by
 * version 2.
 */
import { join } from "node:path";
import * as v from "valibot";
import { type Device, port, tlsPort } from "./device.ts";
import { linesOf } from "./lines.ts";
import { noisePython } from "./noise-python.ts";
import { type Call, isLine, type Line, lineOf, startPeer } from "./peer.ts";
import { printed } from "./processes.ts";

/** The config that the current app needs. Further lines belong to the same section. */
export const appsAllowed = "[api]\nallow_v1_clients = true\n";

/** The origin of the pages of the app for Android, and those of the app elsewhere. */
export const androidOrigin = "http://localhost";
export const otherOrigins = ["https://localhost", "capacitor://localhost", "ionic://localhost"] as const;

/** The data that the device gave the app at the pairing. */
export interface AppIdentity {
  readonly token: string;
  readonly client: string;
  readonly key: string;
}
export interface AppLine extends Line, AsyncDisposable {}
type Place = Pick<Device, "network" | "service">;

const script = join(import.meta.dir, "../e2e/noise-python/v1.py");
const identity = v.object({ token: v.string(), client: v.string(), key: v.string() });
const told = v.union([
  v.object({ payload: v.string() }),
  v.object({ refused: v.record(v.string(), v.unknown()) }),
  v.object({ closed: v.number() }),
]);

/**
 * Pairs by PIN, as the app does from a page of this origin. Without an origin, it pairs as an app that opens its own sockets.
 */
export async function pairApp(
  { network, service }: Place,
  name = "phone",
  origin?: string,
): Promise<AppIdentity> {
  const { pin } = await service.client.call("clients.pair.start");
  const url = `http://${network.deviceAddress}:${port}`;
  const command = [await noisePython(), script, "pair", url, pin, name, ...originFlags(origin)];
  return v.parse(identity, JSON.parse(await printed(network.onNeighbour(command))));
}

/** A session of the current app, which begins with its first message. */
export async function openCurrentApp(
  { network }: Place,
  { token, key }: Pick<AppIdentity, "token" | "key">,
  origin?: string,
): Promise<AppLine> {
  const url = `ws://${network.deviceAddress}:${port}/api/v0.1`;
  const command = [await noisePython(), script, "talk", url, token, key, ...originFlags(origin)];
  const talking = Bun.spawn([...network.onNeighbour(command)], { stdio: ["pipe", "pipe", "inherit"] });
  const send = (text: string) => {
    talking.stdin.write(`${JSON.stringify(text)}\n`);
    talking.stdin.flush();
  };
  // In the frames of the app, ids are UUIDs, and each request has the time of the phone.
  const frame = (_: number, { method, params }: Call) => ({
    jsonrpc: "2.0",
    method,
    ...(params === undefined ? {} : { params }),
    timestamp: Date.now(),
    id: crypto.randomUUID(),
  });
  const line = lineOf(send, () => talking.kill(), frame);
  const listen = async () => {
    for await (const text of linesOf(talking.stdout)) {
      const came = v.parse(told, JSON.parse(text));
      if ("payload" in came) line.hear({ number: 0, kind: "text", text: came.payload });
      else if ("closed" in came) line.hear({ number: 0, kind: "closed", code: came.closed });
      else
        line.hear({ number: 0, kind: "text", text: JSON.stringify({ jsonrpc: "2.0", error: came.refused }) });
    }
    if (!line.isOver()) line.hear({ number: 0, kind: "closed", code: 1006 });
  };
  void listen();
  return {
    ...line,
    async [Symbol.asyncDispose]() {
      talking.kill();
      await talking.exited;
    },
  };
}

/** A session of the earlier app: a client of the device, sealed by version 2 (`ws`), or inside TLS with a stranger's rights. */
export async function openEarlierApp({ network, service }: Place, how: "ws" | "wss"): Promise<AppLine> {
  const peer = startPeer(network.onNeighbour);
  const at = `${network.deviceAddress}:${how === "ws" ? port : tlsPort}`;
  const { id, secret } = how === "ws" ? await service.client.call("clients.new", {}) : noIdentity;
  const client = how === "ws" ? { client: { id, secret } } : {};
  const line = await peer.open({ url: `${how}://${at}/api/v0.1`, ...client });
  if (!isLine(line)) throw new Error(`the earlier app was refused: ${JSON.stringify(line)}`);
  return { ...line, [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose]() };
}

const noIdentity = { id: "", secret: "" };

function originFlags(origin: string | undefined): readonly string[] {
  return origin === undefined ? [] : ["--origin", origin];
}
