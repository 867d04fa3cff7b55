/** One connection to a broker beside that of the deck, to see whether the broker lets the device in. */
import type { Clock } from "../core/clock.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import { mqttConnectMsMax } from "../core/limits.ts";
import { silentLog } from "../core/log.ts";
import type { Broker } from "./broker.ts";
import { createLink } from "./broker-link.ts";

const pollMs = 50;

/** Resolves with the reason if the connection fails. */
export async function tryBroker(broker: Broker, clock: Clock): Promise<Fault | undefined> {
  const opened = Promise.withResolvers<void>();
  const link = createLink({
    broker: { ...broker, clientId: `${broker.clientId}-test` },
    clock,
    log: silentLog,
    onOpen: opened.resolve,
  });
  const endMs = performance.now() + mqttConnectMsMax;
  try {
    while (!link.isOpen() && link.fault() === undefined && performance.now() < endMs)
      await Promise.race([opened.promise, Bun.sleep(pollMs)]);
    if (link.isOpen()) return undefined;
    return link.fault() ?? faultOf("broker-absent", { subject: broker.host, port: String(broker.port) });
  } finally {
    await link.close();
  }
}
