/**
 * Takes a renewed client certificate from the broker. The renewed certificate has the key and the name of the present
 * one, and an authority of `mqtt.ca` signed it, so it does not matter who published it. Before it is kept, the broker
 * must let the device in with it.
 */
import { rename, rm, writeFile } from "node:fs/promises";
import type { Clock } from "../core/clock.ts";
import { faultSentence } from "../core/faults.ts";
import { fileFault } from "../core/file-faults.ts";
import { mqttFileBytesMax } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import { endOfCertificate, renewalFault } from "../system/client-certificate.ts";
import { type Broker, readBrokerFiles } from "./broker.ts";
import { tryBroker } from "./broker-trial.ts";

interface RenewalParts {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  /** The new certificate is used from the next connection on. */
  readonly onTaken: () => void;
}

/** True if a renewal can be checked: the device shows a certificate, and knows the authority. */
export function canRenew({ files }: Broker): boolean {
  return files.certificate !== "" && files.key !== "" && files.ca !== "";
}

export function createRenewal({ broker, clock, log, onTaken }: RenewalParts) {
  let offered: string | undefined;
  let isRunning = false;
  let refused = "";
  const refuse = (text: string, why: string) => {
    // The broker delivers a retained message again after each connection.
    if (text !== refused) log.warn("mqtt", "the renewed certificate is not used", { why });
    refused = text;
  };
  const take = async (text: string) => {
    const { certificate: cert, key, ca } = await readBrokerFiles(broker, log);
    if (cert === undefined || key === undefined || ca === undefined) return;
    const present = { cert: cert.toString(), key: key.toString(), ca: ca.toString() };
    const why = renewalFault(text, present, clock.now());
    if (why !== undefined) return refuse(text, why);
    const endMs = endOfCertificate(text) ?? 0;
    // The device already has this certificate, or a later one.
    if (endMs <= (endOfCertificate(present.cert) ?? 0)) return;
    const candidate = `${broker.renewalPath}.new`;
    await writeFile(candidate, text, { flush: true, mode: 0o600 });
    const fault = await tryBroker({ ...broker, files: { ...broker.files, certificate: candidate } }, clock);
    if (fault !== undefined) {
      await rm(candidate, { force: true });
      return refuse(text, faultSentence(fault));
    }
    await rename(candidate, broker.renewalPath);
    log.info("mqtt", "a renewed certificate counts from the next connection on", {
      ends: new Date(endMs).toISOString(),
    });
    onTaken();
  };
  // If several arrive during a trial, the last one is used.
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    for (let text = offered; text !== undefined; text = offered) {
      offered = undefined;
      const given = text;
      await take(given).catch((error) => refuse(given, fileFault(error)));
    }
    isRunning = false;
  };
  return {
    /** A message that the broker delivers. An empty payload removes the retained message, and changes nothing. */
    offer(payload: Uint8Array): void {
      if (payload.length === 0 || payload.length > mqttFileBytesMax) return;
      offered = new TextDecoder().decode(payload);
      void run();
    },
  };
}
