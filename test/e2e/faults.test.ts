/**
 * Faults at each of the seven stops of a tap: the reader dies or is pulled out, with the card on it, and comes back. It is
 * connected again within two seconds, and the tap is launched once.
 */
import { afterAll, expect, test } from "bun:test";
import { commandCodes } from "../../drivers/protocol/pn532-commands.ts";
import { tagCommands } from "../../drivers/protocol/type2-tag.ts";
import type { Pn532Device } from "../emulators/pn532-device.ts";
import { emulatedPn532, ntag213 } from "../helpers/emulated.ts";
import { within } from "../helpers/processes.ts";
import {
  firstReader,
  type Heard,
  makePlace,
  readerConfig,
  sleeper,
  startTapdeck,
} from "../helpers/tapdeck.ts";

type Strike = () => void;

interface Fault {
  readonly name: string;
  strike(device: Pn532Device): Promise<void> | void;
  heal(device: Pn532Device): void;
}

const faults: readonly Fault[] = [
  { name: "dies", strike: (device) => device.kill(), heal: (device) => device.revive() },
  { name: "is pulled out", strike: (device) => device.unplug(), heal: (device) => device.plug() },
];

interface Stop {
  readonly name: string;
  /** Runs the fault once, when a tap has reached this stop. */
  arm(device: Pn532Device, heard: Heard, strike: Strike): void;
}

const at =
  (name: "tokens.added" | "running" | "media.started" | "launch.finished") =>
  (_: Pn532Device, heard: Heard, strike: Strike) =>
    void heard.next(name).then(strike);

/** Alters the bytes of the next answer that is longer than an ACK, and then runs the fault. */
function spoilAnswer(device: Pn532Device, strike: Strike, spoil: (bytes: Uint8Array) => Uint8Array): void {
  device.faults.split = (bytes) => {
    if (bytes.length <= 16) return [bytes];
    device.faults.split = undefined;
    queueMicrotask(strike);
    return [spoil(bytes)];
  };
}

const stops: readonly Stop[] = [
  {
    name: "1, bytes arrive",
    arm: (device, _, strike) => spoilAnswer(device, strike, (bytes) => bytes.subarray(0, 7)),
  },
  {
    name: "2, bytes become frames",
    arm: (device, _, strike) => spoilAnswer(device, strike, (bytes) => bytes.with(9, (bytes[9] ?? 0) ^ 1)),
  },
  {
    name: "3, the tag is read",
    arm: (device, _, strike) =>
      device.onCommand(([, code, first]) => {
        if (code !== commandCodes.inCommunicateThru || first !== tagCommands.fastRead) return;
        device.onCommand(() => {});
        strike();
      }),
  },
  { name: "4, the token is added", arm: at("tokens.added") },
  { name: "5, the launch is queued", arm: at("running") },
  { name: "6, the player starts", arm: at("media.started") },
  { name: "7, everybody is told", arm: at("launch.finished") },
];

const backMs: number[] = [];
afterAll(() => {
  process.stdout.write(`reader back after ${backMs.map((ms) => Math.round(ms)).join(", ")} ms\n`);
});

for (const stop of stops) {
  for (const fault of faults) {
    test(`the reader ${fault.name} at stop ${stop.name}: it comes back, and the tap is launched once`, async () => {
      await using device = emulatedPn532("none");
      await using place = await makePlace(readerConfig(device) + sleeper());
      await place.file("SNES/Game.sfc");
      await using service = await startTapdeck(place);
      const { heard } = service;
      await firstReader(service);

      const struck = Promise.withResolvers<void>();
      stop.arm(device, heard, () => {
        void fault.strike(device);
        struck.resolve();
      });
      const card = ntag213("04112233445566", "SNES/Game.sfc");
      device.put(card);
      await within("fault", struck.promise, { seen: heard.names });
      await heard.next("readers.removed");
      const healedMs = performance.now();
      fault.heal(device);
      await heard.next("readers.added");
      backMs.push(performance.now() - healedMs);

      // The card is still on the reader. It was launched before or after the fault, and is not launched again.
      while (heard.names().filter((name) => name === "launch.finished").length === 0)
        await heard.next("launch.finished");
      device.take(card);
      const gone = await heard.next("tokens.removed");
      expect(gone.uid).toBe("04112233445566");
      const count = (name: string) => heard.names().filter((one) => one === name).length;
      expect([
        count("tokens.added"),
        count("running"),
        count("media.started"),
        count("launch.finished"),
      ]).toEqual([1, 1, 1, 1]);
      expect(count("media.stopped")).toBe(0);
    });
  }
}
