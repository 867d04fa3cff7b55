/**
 * The compiled service on a device of its own, with a neighbour on its network. Without namespaces no caller is remote,
 * because every address of this machine is the device.
 */
import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import { type Client, connect } from "../../src/client/client.ts";
import { canMakeNetworks, makeNetwork, type Network } from "./namespaces.ts";
import { printed, run } from "./processes.ts";
import { makePlace, type Place, program, type Running, startTapdeck } from "./tapdeck.ts";

/** The ports of the service in tests that name no others. */
export const [port, tlsPort] = [7497, 7498];

export interface Device {
  readonly network: Network;
  readonly place: Place;
  /** The address of the API for the neighbour. */
  readonly url: string;
  /**
   * The present run. Its client uses the device's socket in the file system, which can be reached from every network
   * namespace.
   */
  readonly service: Running;
  /** All that the service wrote to stderr since its first start. */
  log(): string;
  /** Replaces the whole config file. */
  config(toml: string): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Connects another client to the socket in the file system. */
  connect(signal: AbortSignal): Promise<Client>;
  /** Starts the command line on the device, with its output in pipes. */
  tapdeck(...words: readonly string[]): Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** Runs the command line on the device to its end. */
  run(...words: readonly string[]): ReturnType<typeof run>;
}

/** Pairs a client of the neighbour, and returns the output of `paired-peer.ts`. */
export async function pairByCode(network: Network, url: string, code: string): Promise<string> {
  const peer = join(import.meta.dir, "../programs/paired-peer.ts");
  const words = JSON.stringify({ code, name: "tablet" });
  return printed(network.onNeighbour([process.execPath, peer, url, words]));
}

/** Starts the service with exactly this config. `via` runs it elsewhere, for example by `prlimit`. */
export async function startDevice(
  toml: string,
  via: readonly string[] = [],
): Promise<Device & AsyncDisposable> {
  await using made = new AsyncDisposableStack();
  const network = made.use(await makeNetwork());
  const place = made.use(await makePlace());
  const config = async (text: string) => {
    await Bun.write(join(place.folder, "config.toml"), text);
  };
  const door = `ws+unix://${place.folder}/tapdeck.sock:/api/v0.1`;
  let earlierLog = "";
  const serve = () => startTapdeck(place, network.onDevice([...via, program]), door);
  const command = (words: readonly string[]) =>
    network.onDevice([program, ...words, `--data=${place.folder}`]);
  await config(toml);
  let service = await serve();
  made.defer(() => service[Symbol.asyncDispose]());
  const log = () => earlierLog + service.log();
  const whole = made.move();
  return {
    network,
    place,
    url: `ws://${network.deviceAddress}:${port}/api/v0.1`,
    get service() {
      return service;
    },
    log,
    config,
    async start() {
      const earlier = log();
      service = await serve();
      earlierLog = earlier;
    },
    stop: () => service[Symbol.asyncDispose](),
    connect: (signal) => connect(door, { signal }),
    tapdeck: (...words) => Bun.spawn([...command(words)], { stdio: ["ignore", "pipe", "pipe"] }),
    run: (...words) => run(command(words)),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/**
 * One device for all tests of a file, made before the first test and removed after the last. If networks cannot be
 * made, there is no device, and those tests must be skipped. `setUp` runs after its start, and `msMax` limits both.
 */
export function deviceForAll(
  toml: string,
  setUp: (device: Device) => Promise<unknown> = async () => {},
  msMax = 120_000,
): Device {
  let device: (Device & AsyncDisposable) | undefined;
  const made = () => {
    if (device === undefined) throw new Error("the device is made before the first test");
    return device;
  };
  beforeAll(async () => {
    if (!canMakeNetworks) return;
    device = await startDevice(toml);
    await setUp(device);
  }, msMax);
  afterAll(() => device?.[Symbol.asyncDispose]());
  return {
    get network() {
      return made().network;
    },
    get place() {
      return made().place;
    },
    get url() {
      return made().url;
    },
    get service() {
      return made().service;
    },
    log: () => made().log(),
    config: (text) => made().config(text),
    start: () => made().start(),
    stop: () => made().stop(),
    connect: (signal) => made().connect(signal),
    tapdeck: (...words) => made().tapdeck(...words),
    run: (...words) => made().run(...words),
  };
}
