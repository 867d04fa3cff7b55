/**
 * The MQTT broker as an owner sets it over the API. The password and the authority go into files of the data folder, and are never
 * read back. `src/mqtt` is loaded only if the owner names a broker.
 */
import { X509Certificate } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BrokerService } from "../api/services.ts";
import type { Overrides } from "../config/overrides.ts";
import { saveFile, savingFault, targetOf } from "../config/save.ts";
import type { Settings } from "../config/settings.ts";
import type { Clock } from "../core/clock.ts";
import { coded, failed, ifThere, messageOf, ServiceError } from "../core/errors.ts";
import { type Fault, faultOf, faultSentence } from "../core/faults.ts";
import { createSerialQueue } from "../core/serial-queue.ts";
import type { Mqtt } from "./mqtt.ts";

interface BrokerParts {
  readonly settings: Settings;
  readonly overrides: Pick<Overrides, "fleet">;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly mqtt: () => Mqtt | undefined;
}

const passwordName = "mqtt-password";
const authorityName = "mqtt-ca.pem";

export function createBrokerService(parts: BrokerParts): BrokerService {
  const { settings, overrides, dataFolder, clock, mqtt } = parts;
  const inTurn = createSerialQueue();
  const isSetByImage = () => (overrides.fleet ?? []).some(({ section }) => section === "mqtt");
  /** The broker by these settings. Throws an error with a sentence if they are invalid. */
  const brokerWith = async (now: ReturnType<Settings["current"]>["mqtt"]) =>
    (await import("../mqtt/broker.ts")).brokerOf(now, "deck", dataFolder);

  return {
    facts() {
      const { url, user, passwordFile, ca, discovery, role, id } = settings.current().mqtt;
      const [fault] = mqtt()?.faults() ?? [];
      return {
        url,
        user,
        discovery,
        role,
        id,
        hasPassword: passwordFile !== "",
        hasCa: ca !== "",
        isSetByImage: isSetByImage(),
        connected: mqtt()?.status()?.connected ?? false,
        ...(fault === undefined ? {} : { fault, reason: faultSentence(fault) }),
      };
    },
    update: ({ password, ca, ...changes }) =>
      inTurn(async () => {
        if (isSetByImage())
          throw coded(
            "broker-by-image",
            new ServiceError(
              "conflict",
              "tapdeck.conf on the boot partition names the broker: change it there, or remove its lines",
            ),
          );
        const before = settings.current().mqtt;
        const {
          url = before.url,
          user = before.user,
          discovery = before.discovery,
          role = before.role,
          id = before.id,
        } = changes;
        // Without an account there is no password.
        const newPassword = user === "" ? "" : password;
        const next = {
          ...before,
          url: url.trim(),
          user,
          discovery,
          role,
          id,
          ...(newPassword === undefined ? {} : { passwordFile: newPassword === "" ? "" : passwordName }),
          ...(ca === undefined ? {} : { ca: ca === "" ? "" : authorityName }),
        };
        if (ca !== undefined && ca !== "") checkAuthority(ca);
        if (next.url !== "")
          await brokerWith(next).catch((error: unknown) => {
            throw failed(messageOf(error), error);
          });
        const files = [
          { path: join(dataFolder, passwordName), text: newPassword },
          { path: join(dataFolder, authorityName), text: ca },
        ];
        await withTexts(files, () =>
          settings.update({
            mqttUrl: next.url,
            mqttUser: next.user,
            mqttPasswordFile: next.passwordFile,
            mqttCa: next.ca,
            mqttDiscovery: next.discovery,
            mqttRole: next.role,
            mqttId: next.id,
          }),
        );
        // A new password alone does not change the settings.
        if (Bun.deepEquals(next, before)) mqtt()?.joinAgain();
      }),
    test: () =>
      inTurn(async () => {
        const now = settings.current().mqtt;
        if (now.url === "") throw coded("broker-none", failed("no broker is named yet"));
        let fault: Fault | undefined;
        try {
          const { tryBroker } = await import("../mqtt/broker-trial.ts");
          fault = await tryBroker(await brokerWith(now), clock);
        } catch (error) {
          fault = faultOf("mqtt-invalid", { why: messageOf(error) });
        }
        if (fault === undefined) return { connected: true };
        return { connected: false, fault, reason: faultSentence(fault) };
      }),
  };
}

function checkAuthority(pem: string): void {
  try {
    new X509Certificate(pem);
  } catch (error) {
    const sentence = "ca: it is no certificate in PEM: it begins with -----BEGIN CERTIFICATE-----";
    throw failed(sentence, error);
  }
}

interface KeptText {
  readonly path: string;
  /** Undefined leaves the file as it is, and an empty text removes it. */
  readonly text: string | undefined;
}

/**
 * Saves the texts around a change of the settings. The settings never name a file that is not there: a new text is saved
 * before the change, and an empty one is removed after it. If the change is refused, the former texts come back.
 */
async function withTexts(files: readonly KeptText[], change: () => Promise<void>): Promise<void> {
  const saved: { readonly path: string; readonly former: string | undefined }[] = [];
  try {
    for (const { path, text } of files) {
      if (text === undefined || text === "") continue;
      const former = await ifThere(readFile(path, "utf8"));
      await save(path, `${text}\n`);
      saved.push({ path, former });
    }
    await change();
  } catch (error) {
    // The first error is the one to report.
    for (const { path, former } of saved)
      await (former === undefined ? rm(path, { force: true }) : save(path, former)).catch(() => {});
    throw error;
  }
  for (const { path, text } of files) if (text === "") await rm(path, { force: true });
}

async function save(path: string, text: string): Promise<void> {
  try {
    await saveFile(await targetOf(path), text, async () => true);
  } catch (error) {
    throw failed(`${path} could not be saved: ${savingFault(error)}`, error);
  }
}
