/**
 * The client certificate of this device for its servers, and the renewed one that replaces it. A renewal has the key and the
 * name of the present certificate, and is signed by an authority that the device trusts. It may therefore come from
 * anybody. It is stored in the data folder, because the service cannot write the files that the settings may name.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../core/errors.ts";

/** The path of the renewal in the data folder. */
export function renewalPathIn(dataFolder: string): string {
  return join(dataFolder, "client-renewed.pem");
}

interface Pair {
  /** The certificate in PEM. */
  readonly cert: string;
  readonly key: string;
}

/** The stored renewal if it renews this certificate and ends later; otherwise the certificate itself. Both are PEM. */
export async function newestCertificate({ cert, key }: Pair, renewalPath: string): Promise<string> {
  const renewal = certificateOf((await ifThere(readFile(renewalPath, "utf8"))) ?? "");
  const named = certificateOf(cert);
  if (renewal === undefined || named === undefined) return cert;
  const isLater = Date.parse(renewal.validTo) > Date.parse(named.validTo);
  return isLater && hasKey(renewal, key) && renewal.subject === named.subject ? renewal.toString() : cert;
}

/** The reason why a text is no renewal of the present certificate by an authority of `ca`; undefined if it is one. */
export function renewalFault(
  text: string,
  { cert, key, ca }: Pair & { readonly ca: string },
  nowMs: number,
): string | undefined {
  const renewal = certificateOf(text);
  const present = certificateOf(cert);
  if (renewal === undefined || present === undefined) return "it is no certificate in PEM";
  if (!hasKey(renewal, key)) return "it is for another key";
  if (renewal.subject !== present.subject) return "it is for another name";
  if (renewal.ca) return "it is an authority";
  const isBy = (authority: X509Certificate) =>
    authority.ca && authority.subject === renewal.issuer && renewal.verify(authority.publicKey);
  if (!certificatesOf(ca).some(isBy)) return "no authority of mqtt.ca signed it";
  return Date.parse(renewal.validFrom) > nowMs ? "it is not valid yet" : undefined;
}

/**
 * The end of the certificate in a text. Undefined if the text has none, and for a bundle of authorities, because some of
 * these may have ended.
 */
export function endOfCertificate(pem: string): number | undefined {
  const first = certificateOf(pem);
  const hasMore = pem.split("-----BEGIN CERTIFICATE-----").length > 2;
  return first === undefined || (first.ca && hasMore) ? undefined : Date.parse(first.validTo);
}

/** The first certificate of a text; undefined if it has none. */
function certificateOf(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    // The caller reports that there is no certificate.
    return undefined;
  }
}

function certificatesOf(text: string): readonly X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => certificateOf(block) ?? []);
}

function hasKey(certificate: X509Certificate, key: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // A key that cannot be read is not the key of the certificate. `checkTlsFiles` names its fault.
    return false;
  }
}
