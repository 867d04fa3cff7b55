/**
 * The compiled service on a device of its own, with a neighbour on its network. Without that nobody comes from afar: every
 * address of this machine is this device.
 */
import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import { type Client, connect } from "../../src/client/client.ts";
import { canMakeNetworks, makeNetwork, type Network } from "./namespaces.ts";
import { run } from "./processes.ts";
import { makePlace, type Place, program, type Running, startTapdeck } from "./tapdeck.ts";

/** Where the service listens that is not told otherwise. */
export const [port, tlsPort] = [7497, 7498];

export interface Device {
  readonly network: Network;
  readonly place: Place;
  /** The API, as the neighbour reaches it. */
  readonly url: string;
  /** As it runs now. Its client comes by the device's own door, a socket in the file system, which namespaces do not shut. */
  readonly service: Running;
  /** All that it wrote to stderr so far, since its first start. */
  log(): string;
  /** Writes the whole config file. */
  config(toml: string): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** One more client at that door. */
  connect(signal: AbortSignal): Promise<Client>;
  /** Starts the command line there, with its output in pipes. */
  tapdeck(...words: readonly string[]): Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** Runs it to its end. */
  run(...words: readonly string[]): ReturnType<typeof run>;
}

/** Starts the service with this config, and nothing else in it. `via` is what runs it there, such as `prlimit`. */
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
 * One for all tests of a file, made before the first and gone behind the last. Where networks cannot be made there is none,
 * and those tests are to be skipped. `setUp` follows its start; `msMax` is for both.
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
