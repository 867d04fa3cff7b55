/** The time until a reader works again after it was dead or unplugged. */
import { emulatedPn532 } from "../helpers/emulated.ts";
import { firstReader, makePlace, readerConfig, startTapdeck } from "../helpers/tapdeck.ts";
import { line, spread, title } from "./figures.ts";

const rounds = 8;

export async function measureRecovery(): Promise<void> {
  title("A reader comes back");
  await using device = emulatedPn532("real");
  await using place = await makePlace(readerConfig(device));
  await using service = await startTapdeck(place);
  await firstReader(service);

  for (const [what, strike, heal] of [
    ["dead chip, found out", () => device.kill(), () => device.revive()],
    ["unplugged, noticed", () => device.unplug(), () => device.plug()],
  ] as const) {
    const [noticed, back]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const struckMs = performance.now();
      await strike();
      await service.heard.next("readers.removed");
      noticed.push(performance.now() - struckMs);
      // The time suffices for the back-off to reach its longest wait. It varies, so it does not end at a fixed point of
      // that wait.
      await Bun.sleep(2000 + Math.random() * 800);
      const healedMs = performance.now();
      heal();
      await service.heard.next("readers.added");
      back.push(performance.now() - healedMs);
    }
    line(`${what} after`, spread(noticed, "ms"));
    line("  heard again, from the moment it was back", spread(back, "ms"), "2000 ms");
  }
}
