/**
 * Lists this device on Windows PCs of the network while the share for PCs is on, by WS-Discovery over IPv4. UDP port
 * 3702 receives multicast requests, and HTTP on port 5357 returns the name of the computer.
 *
 * Each PC of the network may ask, so the answers have the name and nothing else. A request from another network has no
 * answer, because its address may be forged to flood another computer. The number of answers is limited.
 */
import { createSocket } from "node:dgram";
import { readdirSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { wsdAnswersMax } from "../core/console-limits.ts";
import { codeOf, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { serveWsdHttp } from "./wsd-http.ts";
import { type WsdHost, wsdBye, wsdHello, wsdMatches, wsdMetadata, wsdRequestIn } from "./wsd-messages.ts";

interface DiscoveryParts {
  readonly name: string;
  readonly log: Log;
  /** The ports of the standard, unless a test uses others. */
  readonly port?: number;
  readonly httpPort?: number;
  /** The addresses of this device. */
  readonly addresses?: () => readonly OwnAddress[];
  /** The interval at which new addresses are found, unless a test uses another one. */
  readonly lookMs?: number;
}

export interface OwnAddress {
  readonly address: string;
  readonly netmask: string;
}

const group = "239.255.255.250"; // WS-Discovery, 2.4.
const discoveryPort = 3702; // WS-Discovery, 2.4.
const metadataPort = 5357; // Registered for it by IANA.
const usualLookMs = 10_000; // A network may come later.
const budgetMs = 10_000;
const hops = 1; // Only this network.

/** Announces this device until disposed. Rejects if a port is taken. */
export async function announceToWindows(parts: DiscoveryParts): Promise<AsyncDisposable> {
  const { name, log, port = discoveryPort, httpPort = metadataPort, addresses = ownAddresses } = parts;
  const { lookMs = usualLookMs } = parts;
  const host: WsdHost = { uuid: uuidOf(name), name, instance: Math.trunc(Date.now() / 1000) };
  const budget = createBudget();
  let sent = 0;
  const urlAt = (address: string) => `http://${address}:${httpPort}/${host.uuid}`;
  const server = serveWsdHttp({
    port: httpPort,
    path: `/${host.uuid}`,
    isNear: (address) => addresses().some((own) => isInNetwork(address, own)),
    answer(body) {
      const asked = wsdRequestIn(body);
      return asked?.kind === "get" && budget() ? wsdMetadata(host, asked.id) : undefined;
    },
  });
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  const joined = new Set<string>();
  /** Resolves when it is sent, or could not be. */
  const say = (text: string, through: string) =>
    new Promise<void>((done) => {
      const finish = (error?: unknown) => {
        if (error) log.debug("share", "Windows was not told", { address: through, error: messageOf(error) });
        done();
      };
      try {
        socket.setMulticastInterface(through);
        socket.send(text, port, group, finish);
      } catch (error) {
        finish(error);
      }
    });
  const look = () => {
    const present = addresses().map(({ address }) => address);
    for (const gone of [...joined].filter((address) => !present.includes(address))) joined.delete(gone);
    for (const address of present.filter((one) => !joined.has(one))) {
      try {
        socket.addMembership(group, address);
      } catch (error) {
        // An interface stays in the group when its address changes. Otherwise it may not be up yet, and the next look
        // tries again.
        if (codeOf(error) !== "EADDRINUSE") continue;
      }
      joined.add(address);
      void say(wsdHello(host, { url: urlAt(address), number: ++sent }), address);
    }
  };
  socket.on("message", (bytes, { address, port: back }) => {
    const asked = wsdRequestIn(bytes);
    if (asked === undefined || asked.kind === "get") return;
    if (asked.kind === "resolve" && asked.address.toLowerCase() !== `urn:uuid:${host.uuid}`) return;
    const own = addresses().find((one) => isInNetwork(address, one));
    if (own === undefined || !budget()) return;
    const place = { url: urlAt(own.address), relatesTo: asked.id, number: ++sent };
    socket.send(wsdMatches(asked.kind, host, place), back, address);
  });
  // A network may go away during a send.
  socket.on("error", (error) => log.debug("share", "WS-Discovery", { error: messageOf(error) }));
  try {
    await bound(socket, port);
  } catch (error) {
    server[Symbol.dispose]();
    throw error;
  }
  socket.setMulticastTTL(hops);
  look();
  const looking = setInterval(look, lookMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(looking);
      for (const address of joined) await say(wsdBye(host, { url: urlAt(address), number: ++sent }), address);
      await new Promise<void>((done) => socket.close(done));
      server[Symbol.dispose]();
    },
  };
}

function bound(socket: ReturnType<typeof createSocket>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, "0.0.0.0", () => {
      socket.off("error", reject);
      resolve();
    });
  });
}

/** A token bucket. The function returns true if one more answer may be sent now. */
function createBudget(): () => boolean {
  let left = wsdAnswersMax;
  let atMs = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(wsdAnswersMax, left + ((now - atMs) / budgetMs) * wsdAnswersMax);
    atMs = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

export function isInNetwork(address: string, { address: own, netmask }: OwnAddress): boolean {
  const [theirs, ours, mask] = [bitsOf(address), bitsOf(own), bitsOf(netmask)];
  if (theirs === undefined || ours === undefined || mask === undefined) return false;
  return (theirs & mask) === (ours & mask);
}

function bitsOf(address: string): bigint | undefined {
  const [, ...bytes] = /^(?:::ffff:)?(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address) ?? [];
  if (bytes.length !== 4) return undefined;
  return bytes.reduce((bits, byte) => bits * 256n + BigInt(byte), 0n);
}

/** The addresses of this device, without those of the loopback interface. */
function ownAddresses(): readonly OwnAddress[] {
  return Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ family, internal }) => family === "IPv4" && !internal),
  );
}

/**
 * Returns the same UUID after each start, so that Windows lists the device once. The share may begin before a network has
 * an address, so the addresses do not count.
 */
function uuidOf(name: string): string {
  const hash = new Bun.CryptoHasher("sha256").update(`${name} ${hardwareAddress()}`);
  const digits = hash.digest("hex");
  // A UUID of the random form (RFC 9562, 5.4).
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join("-");
}

const interfaces = "/sys/class/net";

/** The lowest hardware address of all interfaces, also of those without a network. */
function hardwareAddress(): string {
  const found = readdirSync(interfaces).flatMap((name) => {
    try {
      return [readFileSync(join(interfaces, name, "address"), "utf8").trim()];
    } catch {
      return []; // The entry is no interface, or the adapter was pulled out.
    }
  });
  return found.filter((address) => !/^[0:]*$/.test(address)).toSorted()[0] ?? "";
}
