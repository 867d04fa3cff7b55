/** Every kind of caller, each with its rights, ready to call and to listen. */
import { opened, type Scene, urls } from "./attack-scene.ts";
import { port, tlsPort } from "./device.ts";
import { openCurrentApp, pairApp } from "./known-apps.ts";
import { type Answer, type Call, isLine, type Peer, type Visited, wordOf } from "./peer.ts";
import type { Grant } from "./right-tables.ts";

export interface MatrixCaller {
  readonly name: string;
  /** The rights of the caller. With `cleartext`, every request is answered by `encryption-required`. */
  readonly grant: Grant | "cleartext";
  /** True for a paired owner over the network. */
  readonly isOwnerAfar: boolean;
  callAll(calls: readonly Call[]): Promise<readonly Answer[]>;
  /** Names of the notifications that it received. */
  heard(): readonly string[];
  /** Resolves when all earlier messages have arrived. The function is absent if the transport cannot detect that. */
  fence(): Promise<void>;
}

export interface Crew {
  /** Callers on the device as its owner, and as another user. */
  readonly owner: Peer;
  readonly otherUser: Peer;
  /** The rights of strangers, or of another user, who has at most `look`. */
  readonly anonymous: Exclude<Grant, "own">;
}

const loopback = `127.0.0.1:${port}`;
const path = "api/v0.1";

/**
 * The callers are made one after another, because few handshakes are allowed at a time. Their resources are released with
 * `made`.
 */
export async function makeCallers(
  scene: Scene,
  { owner, otherUser, anonymous }: Crew,
  made: AsyncDisposableStack,
): Promise<readonly MatrixCaller[]> {
  const { device, neighbour } = scene;
  const socket = { path: `${device.place.folder}/tapdeck.sock` };
  const ofOther = anonymous === "none" ? "none" : "look";
  const member = await scene.client("member");
  const player = await scene.client("player");
  // Each owner has a quota of writes of its own.
  const owners = [
    await scene.client("owner"),
    await scene.client("owner"),
    await scene.client("owner"),
  ] as const;
  const asMember = { headers: await scene.bearer(member) };
  const asOwner = { headers: await scene.bearer(owners[2]) };
  const asPlayer = { headers: await scene.bearer(player) };
  const makers: readonly (() => Promise<MatrixCaller>)[] = [
    () => byLine("device, its socket", "own", owner, { url: `ws://localhost/${path}`, ...socket }),
    () => byLine("device, loopback", "own", owner, { url: `ws://${loopback}/${path}` }),
    () => byLine("device, loopback by IPv6", "own", owner, { url: `ws://[::1]:${port}/${path}` }),
    () => byLine("device, loopback over TLS", "own", owner, { url: `wss://127.0.0.1:${tlsPort}/${path}` }),
    () => byLine("device, its own address", "own", owner, { url: urls.ws }),
    () => byPost("device, POST", "own", owner, { url: `http://${loopback}/${path}` }),
    () => byLine("another user, loopback", ofOther, otherUser, { url: `ws://${loopback}/${path}` }),
    () => byLine("another user, over TLS", ofOther, otherUser, { url: `wss://127.0.0.1:${tlsPort}/${path}` }),
    () => byLine("another user, the device's own address", ofOther, otherUser, { url: urls.ws }),
    () => byPost("another user, POST", ofOther, otherUser, { url: `http://${loopback}/${path}` }),
    () => byLine("owner, sealed ws", "own", neighbour, { url: urls.ws, client: owners[0] }),
    () => byLine("owner, sealed wss", "own", neighbour, { url: urls.wss, client: owners[1] }),
    () => byPost("owner, bearer", "own", neighbour, { url: urls.tls, ...asOwner }),
    () => byLine("member, sealed ws", "change", neighbour, { url: urls.ws, client: member }),
    () => byLine("member, sealed wss", "change", neighbour, { url: urls.wss, client: member }),
    () => byPost("member, bearer", "change", neighbour, { url: urls.tls, ...asMember }),
    () => byLine("player, sealed ws", "play", neighbour, { url: urls.ws, client: player }),
    () => byLine("player, sealed wss", "play", neighbour, { url: urls.wss, client: player }),
    () => byPost("player, bearer", "play", neighbour, { url: urls.tls, ...asPlayer }),
    () => byLine("stranger, wss", anonymous, neighbour, { url: urls.wss }),
    () => byPost("stranger, POST over TLS", anonymous, neighbour, { url: urls.tls }),
    () => byVersion1(scene, made),
    () => inCleartext(neighbour),
    () => byPost("cleartext, POST", "cleartext", neighbour, { url: urls.plain }),
  ];
  const callers: MatrixCaller[] = [];
  for (const make of makers) callers.push(await make());
  return callers;
}

async function byLine(name: string, grant: Grant, peer: Peer, what: Visited): Promise<MatrixCaller> {
  const line = await opened(peer.open(what));
  // A sealed connection counts only after the client has proved its secret.
  if (what.client !== undefined) await line.call("version");
  return {
    name,
    grant,
    isOwnerAfar: grant === "own" && what.client !== undefined,
    callAll: line.callAll,
    heard: line.heard,
    fence: line.fence,
  };
}

/** Calls by POST, all in one batch, and listens to the event stream beside it. */
async function byPost(
  name: string,
  grant: MatrixCaller["grant"],
  peer: Peer,
  what: Visited,
): Promise<MatrixCaller> {
  const stream = await peer.open({ ...what, url: `${what.url}/events` });
  // For a caller without any right, a refused stream is no error.
  if (!isLine(stream) && grant !== "none" && grant !== "cleartext")
    throw new Error(`${name}: the event stream was refused: ${wordOf(stream)}`);
  return {
    name,
    grant,
    isOwnerAfar: grant === "own" && what.headers !== undefined,
    callAll: (calls) => peer.post(what, calls),
    heard: () => (isLine(stream) ? stream.heard() : []),
    fence: async () => {},
  };
}

/**
 * A caller in cleartext. Its connection ends with the first request, so each request gets a connection of its own, and
 * another one only listens.
 */
async function inCleartext(neighbour: Peer): Promise<MatrixCaller> {
  const listening = await opened(neighbour.open({ url: urls.ws }));
  return {
    name: "cleartext, ws",
    grant: "cleartext",
    isOwnerAfar: false,
    async callAll(calls) {
      const answers: Answer[] = [];
      for (const { method, params } of calls) {
        // Many handshakes in a short time get the status 429, which is then the answer to this call.
        const line = await neighbour.open({ url: urls.ws });
        answers.push(isLine(line) ? await line.call(method, params) : line);
      }
      return answers;
    },
    heard: listening.heard,
    fence: listening.fence,
  };
}

/** A known client, with version 1 of the secure layer, paired by PIN. */
async function byVersion1({ device }: Scene, made: AsyncDisposableStack): Promise<MatrixCaller> {
  const { call, callAll, heard, fence } = made.use(
    await openCurrentApp(device, await pairApp(device, "old phone")),
  );
  await call("version");
  return { name: "version 1", grant: "change", isOwnerAfar: false, callAll, heard, fence };
}
