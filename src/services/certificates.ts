/**
 * The certificates that a person must renew, with their ends: those that the settings name, the owner's own, and that of
 * the broker. The device renews the certificate that it has made itself.
 */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Config } from "../config/shape.ts";
import { endOfCertificate, newestCertificate, renewalPathIn } from "../system/client-certificate.ts";
import type { CertificateEnd } from "./health-report.ts";

interface CertificateParts {
  readonly config: () => Pick<Config, "mqtt" | "fleet" | "cards">;
  readonly dataFolder: string;
  /** The end of the certificate that the broker showed last. */
  readonly broker: () => CertificateEnd | undefined;
}

/** Files that cannot be read are left out, because their users report them. */
export function createCertificateEnds({ config, dataFolder, broker }: CertificateParts) {
  const read = (file: string) => readFile(resolve(dataFolder, file), "utf8").catch(() => "");
  const single = async (of: string, file: string) => (file === "" ? [] : ended(of, await read(file)));
  const ofClient = async (of: string, file: string, keyFile: string) => {
    if (file === "" || keyFile === "") return [];
    const cert = await read(file);
    const key = await read(keyFile);
    return ended(of, await newestCertificate({ cert, key }, renewalPathIn(dataFolder)).catch(() => cert));
  };
  return async (): Promise<readonly CertificateEnd[]> => {
    const { mqtt, fleet, cards } = config();
    const ends = await Promise.all([
      single("tls/owner.pem", join("tls", "owner.pem")),
      ofClient("mqtt.certificate", mqtt.certificate, mqtt.key),
      single("mqtt.ca", mqtt.ca),
      ofClient("fleet.certificate_file", fleet.certificateFile, fleet.keyFile),
      single("fleet.ca_file", fleet.caFile),
      single("cards.ca_file", cards.caFile),
    ]);
    const shown = broker();
    return [...ends.flat(), ...(shown === undefined ? [] : [shown])];
  };
}

function ended(of: string, pem: string): readonly CertificateEnd[] {
  const endMs = endOfCertificate(pem);
  return endMs === undefined ? [] : [{ of, endMs }];
}
