/**
 * A device under attack: its owner, strangers and paired clients on its network, and the messages that each sends and
 * receives.
 */
import { test } from "bun:test";
import { createHash, createHmac, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import type { Role } from "../../src/core/rights.ts";
import { type Device, port, startDevice, tlsPort } from "./device.ts";
import { canMakeNetworks } from "./namespaces.ts";
import {
  type Answer,
  type Call,
  type Identity,
  isLine,
  type Line,
  type Peer,
  startPeer,
  wordOf,
} from "./peer.ts";

/** A test is named after the success of an attack, and passes if the attack fails. */
export function attackTest(name: string, run: () => Promise<void>): void {
  test.skipIf(!canMakeNetworks)(`attack: ${name}`, run);
}

export const urls = {
  plain: `http://10.77.0.1:${port}/api/v0.1`,
  ws: `ws://10.77.0.1:${port}/api/v0.1`,
  tls: `https://10.77.0.1:${tlsPort}/api/v0.1`,
  wss: `wss://10.77.0.1:${tlsPort}/api/v0.1`,
} as const;

export interface Scene extends AsyncDisposable {
  readonly device: Device;
  /** A neighbour with many addresses. */
  readonly neighbour: Peer;
  /** A neighbour's connection over TLS, without an identity. */
  stranger(): Promise<Line>;
  /** Makes a client on the device. */
  client(role: Role): Promise<Identity>;
  /** A sealed connection of that client. */
  sealed(client: Identity, url?: string): Promise<Line>;
  /** The header that proves this client to the device's certificate. */
  bearer(client: Identity): Promise<{ readonly authorization: string }>;
  /** Calls by HTTPS, each in a POST of its own, with the client's token or without an identity. */
  posting(client?: Identity): Promise<Pick<Line, "call" | "texts" | "fence">>;
  /** Calls in one batch over HTTPS as that client. */
  postAs(client: Identity, calls: readonly Call[]): Promise<readonly Answer[]>;
  /** Launches over a connection, and returns its end: the refusal of the call, `done`, or `failed`. */
  launchOver(line: Pick<Line, "call">, text: string): Promise<string>;
  /** Launches as the owner, and returns its end. */
  launch(text: string): Promise<string>;
}

/** Runs a command as another user of the same machine. */
export function asOtherUser(command: readonly string[]): readonly string[] {
  return ["setpriv", "--reuid=12345", "--clear-groups", "--", ...command];
}

const sourcesCount = 40; // Many addresses are needed, because one address may ask only 20 times in a burst.

export async function startScene(toml: string, via: readonly string[] = []): Promise<Scene> {
  await using made = new AsyncDisposableStack();
  const device = made.use(await startDevice(toml, via));
  const { network, place } = device;
  const neighbour = made.use(startPeer(network.onNeighbour, network.addNeighbourAddresses(sourcesCount)[4]));
  const bearer = async (client: Identity) =>
    bearerOf(client, new X509Certificate(await readFile(join(place.folder, "tls/device.pem"))));
  const ended = async (text: string) => {
    const { success } = await device.service.heard.next("launch.finished", (end) => end.text === text);
    return success ? "done" : "failed";
  };
  const launchOver = async (line: Pick<Line, "call">, text: string) => {
    const word = wordOf(await line.call("launch", { text }));
    return word === "result" ? ended(text) : word;
  };
  const whole = made.move();
  return {
    device,
    neighbour,
    stranger: () => opened(neighbour.open({ url: urls.wss })),
    client: async (role) => newClient(device, role),
    sealed: (client, url = urls.ws) => opened(neighbour.open({ url, client })),
    bearer,
    async posting(client) {
      const headers = client === undefined ? {} : await bearer(client);
      const texts: string[] = [];
      return {
        texts,
        async call(method, params) {
          const [answer = {}] = await neighbour.post({ url: urls.tls, headers }, [{ method, params }]);
          texts.push(JSON.stringify(answer));
          return answer;
        },
        fence: async () => {},
      };
    },
    postAs: async (client, calls) => neighbour.post({ url: urls.tls, headers: await bearer(client) }, calls),
    launchOver,
    async launch(text) {
      await device.service.client.call("launch", { text });
      return ended(text);
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

let clientsCount = 0; // The number in the name of the next client, because names are unique.

export async function newClient(device: Device, role: Role): Promise<Identity> {
  clientsCount += 1;
  const made = await device.service.client.callAny("clients.new", { name: `${role} ${clientsCount}`, role });
  return v.parse(v.object({ id: v.string(), secret: v.string() }), made);
}

export function bearerOf({ id, secret }: Identity, certificate: X509Certificate) {
  const fingerprint = createHash("sha256").update(certificate.raw).digest("hex");
  const token = createHmac("sha256", Buffer.from(secret, "hex")).update(`tapdeck-bearer:${fingerprint}`);
  return { authorization: `Bearer ${id}:${token.digest("hex")}` };
}

/** Fails if the connection was refused. */
export async function opened(opening: Promise<Line | Answer>): Promise<Line> {
  const line = await opening;
  if (!isLine(line)) throw new Error(`the line was refused: ${JSON.stringify(line)}`);
  return line;
}
