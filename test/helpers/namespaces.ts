/**
 * Two network namespaces joined by a wire: a device and a neighbour. A listener in them cannot be reached from
 * elsewhere. The tests need the right to make namespaces (root, on a test machine).
 */
import { join } from "node:path";
import { run } from "./processes.ts";

export interface Network {
  /** The device's address, as its neighbour sees it. */
  readonly deviceAddress: string;
  readonly deviceAddress6: string;
  readonly neighbourAddress: string;
  /**
   * Gives the neighbour this many additional addresses of each family, from 10.77.0.10 and fd77::10 on, and returns them.
   */
  addNeighbourAddresses(count: number): { readonly 4: readonly string[]; readonly 6: readonly string[] };
  /** Makes the neighbour's new connections to an address of the device come from this address of the neighbour. */
  callAs(source: string, device: string): void;
  /** Runs a command in the device's namespace. */
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
  addNamespace(device);
  addNamespace(neighbour);
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
    addNeighbourAddresses(count) {
      const hosts = Array.from({ length: count }, (_, n) => n + 10);
      const added = { 4: hosts.map((host) => `10.77.0.${host}`), 6: hosts.map((host) => `fd77::${host}`) };
      const lines = [
        ...added[4].map((address) => `address add ${address}/24 dev ${otherEnd}`),
        ...added[6].map((address) => `address add ${address}/64 dev ${otherEnd} nodad`),
      ];
      ipBatch(neighbour, lines);
      return added;
    },
    callAs(source, to) {
      ip("-n", neighbour, "route", "replace", to, "dev", otherEnd, "src", source);
    },
    onDevice: on(device),
    onNeighbour: on(neighbour),
    async [Symbol.asyncDispose]() {
      ip("netns", "delete", device);
      ip("netns", "delete", neighbour);
    },
  };
}

export interface Visit {
  /** The address of the service, `ws://` or `http://`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
  /** The body in base64. */
  readonly bytes?: string;
  /** True to accept every certificate of the service. */
  readonly anyCertificate?: boolean;
  /**
   * The texts that a WebSocket sends, one after another. After that it waits for the same number of messages, or for its
   * end.
   */
  readonly send?: readonly string[];
}

export interface Outcome {
  /** The status of an HTTP answer, or of a refused upgrade. */
  readonly status?: number;
  readonly body?: string;
  readonly messages?: readonly string[];
  /** The close code of a WebSocket that the service closed. */
  readonly closed?: number;
}

/** Visits the service with a process of its own, run by `via`. */
export async function visit(
  via: (command: readonly string[]) => readonly string[],
  what: Visit,
): Promise<Outcome> {
  const script = join(import.meta.dir, "../programs/visitor.ts");
  const { out, error, code } = await run(via([process.execPath, script, JSON.stringify(what)]));
  if (code !== 0) throw new Error(`the visitor failed: ${error}`);
  return JSON.parse(out);
}

/**
 * The kernel walks its whole table of connections at each read of /proc/net/tcp, which the service reads for each
 * caller on the device. On a PC that table has 262,144 rows, and on a board 4096. A namespace gets this number from the
 * namespace that makes it (`ip-sysctl`, tcp_child_ehash_entries); older kernels have one table for all.
 */
function addNamespace(name: string): void {
  const script = 'sysctl -q -w net.ipv4.tcp_child_ehash_entries=4096 2>/dev/null; exec ip netns add "$0"';
  const { exitCode, stderr } = Bun.spawnSync(["unshare", "--net", "sh", "-c", script, name]);
  if (exitCode !== 0) throw new Error(`ip netns add ${name}: ${stderr.toString()}`);
}

function ip(...words: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...words]);
  if (exitCode !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr.toString()}`);
}

/** One process sets up all lines, because a process for each line would take milliseconds. */
function ipBatch(name: string, lines: readonly string[]): void {
  const stdin = Buffer.from(`${lines.join("\n")}\n`);
  const { exitCode, stderr } = Bun.spawnSync(["ip", "-n", name, "-batch", "-"], { stdin });
  if (exitCode !== 0) throw new Error(`ip -batch: ${stderr.toString()}`);
}
