/**
 * Two network namespaces joined by a wire: a device and somebody else on its network. Whatever listens there is reached
 * from nowhere else. Needs the right to make them (root, on a test machine).
 */
import { join } from "node:path";

export interface Network {
  /** The device's address, as its neighbour sees it. */
  readonly deviceAddress: string;
  readonly deviceAddress6: string;
  readonly neighbourAddress: string;
  /** The neighbour's end of the wire, to give it more addresses. */
  readonly neighbourLink: string;
  /** Puts a command into the device's namespace. */
  onDevice(command: readonly string[]): readonly string[];
  onNeighbour(command: readonly string[]): readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

let made = 0;

export const canMakeNetworks = process.getuid?.() === 0 && Bun.which("ip") !== null;

export async function makeNetwork(): Promise<Network> {
  made += 1;
  const id = `${process.pid}-${made}`;
  const [device, neighbour] = [`td-dev-${id}`, `td-lan-${id}`];
  const [wire, otherEnd] = [`tdd${id}`.slice(0, 15), `tdl${id}`.slice(0, 15)];
  const on = (name: string) => (command: readonly string[]) => ["ip", "netns", "exec", name, ...command];
  ip("netns", "add", device);
  ip("netns", "add", neighbour);
  ip("-n", device, "link", "add", wire, "type", "veth", "peer", "name", otherEnd, "netns", neighbour);
  for (const [name, link, host] of [
    [device, wire, 1],
    [neighbour, otherEnd, 2],
  ] as const) {
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "address", "add", `10.77.0.${host}/24`, "dev", link);
    ip("-n", name, "address", "add", `fd77::${host}/64`, "dev", link, "nodad");
    ip("-n", name, "link", "set", link, "up");
  }
  return {
    deviceAddress: "10.77.0.1",
    deviceAddress6: "fd77::1",
    neighbourAddress: "10.77.0.2",
    neighbourLink: otherEnd,
    onDevice: on(device),
    onNeighbour: on(neighbour),
    async [Symbol.asyncDispose]() {
      ip("netns", "delete", device);
      ip("netns", "delete", neighbour);
    },
  };
}

export interface Visit {
  /** `ws://` or `http://`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
  /** Trusts whatever the service shows over TLS. */
  readonly anyCertificate?: boolean;
  /** Texts that a WebSocket sends, one after another; it then waits for as many messages, or for its end. */
  readonly send?: readonly string[];
}

export interface Outcome {
  /** Of an HTTP answer, or of a refused upgrade. */
  readonly status?: number;
  readonly body?: string;
  readonly messages?: readonly string[];
  /** Of a WebSocket that the service closed. */
  readonly closed?: number;
}

/** Visits the service with a process of its own, run by `via`. */
export async function visit(
  via: (command: readonly string[]) => readonly string[],
  what: Visit,
): Promise<Outcome> {
  const script = join(import.meta.dir, "visitor.ts");
  const child = Bun.spawn([...via([process.execPath, script, JSON.stringify(what)])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [text, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`the visitor failed: ${error}`);
  return JSON.parse(text);
}

function ip(...words: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...words]);
  if (exitCode !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr.toString()}`);
}
