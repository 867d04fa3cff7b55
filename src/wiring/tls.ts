/** The TLS certificate, at the start and when it changes. */
import type { ApiServer } from "../api/server.ts";
import { watchFolder } from "../config/watch-files.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { lastingAddresses } from "../system/addresses.ts";
import { certificateIn, fingerprintOf } from "../system/certificate.ts";

/** The port and certificate for TLS; undefined if TLS is off, or there is no certificate. */
export async function tlsOf(port: number, folder: string, log: Log) {
  if (port === 0) return undefined;
  try {
    const { certificatePem, keyPem } = await certificateIn(folder, Date.now(), log);
    return { port, cert: certificatePem, key: keyPem };
  } catch (error) {
    log.error("tls", "no certificate, and so no TLS", { error: messageOf(error) });
    return undefined;
  }
}

// An owner copies the certificate and its key one after the other: debounce.
const certificateGatherMs = 500;
// A board is often up before it has an address.
const addressesMs = 10_000;

export interface ShownCertificate extends Disposable {
  /** In the form of browsers: `AB:CD:...`. */
  fingerprint(): string;
}

/** Shows the owner's certificate after a change in the folder, and a new certificate of the device for its new addresses. */
export function followCertificate(
  folder: string,
  shown: { readonly port: number; readonly cert: string },
  { api, clock, log }: { readonly api: ApiServer; readonly clock: Clock; readonly log: Log },
): ShownCertificate {
  let { cert } = shown;
  let timer: Disposable | undefined;
  const look = async () => {
    const now = await tlsOf(shown.port, folder, log);
    if (now === undefined || now.cert === cert) return;
    cert = now.cert;
    api.showCertificate(now);
    log.info("tls", "another certificate is shown from now on", { fingerprint: fingerprintOf(cert) });
  };
  const watching = watchFolder(folder, () => {
    timer?.[Symbol.dispose]();
    timer = clock.after(certificateGatherMs, () => void look());
  });
  let addresses = lastingAddresses().join(" ");
  const lookAtAddresses = () => {
    const now = lastingAddresses().join(" ");
    if (now !== addresses) void look();
    addresses = now;
    following = clock.after(addressesMs, lookAtAddresses);
  };
  let following = clock.after(addressesMs, lookAtAddresses);
  return {
    fingerprint: () => fingerprintOf(cert),
    [Symbol.dispose]() {
      following[Symbol.dispose]();
      watching[Symbol.dispose]();
      timer?.[Symbol.dispose]();
    },
  };
}
