/** The TLS certificate at the start, and after it has changed. */
import { watchFolder } from "../config/watch-files.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { lastingAddresses } from "../system/addresses.ts";
import { certificateIn, fingerprintOf } from "../system/certificate.ts";

type ShownTls = NonNullable<Awaited<ReturnType<typeof tlsOf>>>;

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

// The time of a debounce, because an owner copies the certificate and its key one after the other.
const certificateGatherMs = 500;
// The interval of a check for new addresses, because a board often starts before it has an address.
const addressesMs = 10_000;

interface FollowerParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Shows another certificate from now on. */
  readonly show: (tls: ShownTls) => void;
}

/** Shows the owner's certificate after a change in the folder, and a new certificate of the device for its new addresses. */
export function followCertificate(
  folder: string,
  { port, cert: first }: ShownTls,
  { clock, log, show }: FollowerParts,
) {
  let cert = first;
  let timer: Disposable | undefined;
  const look = async () => {
    const now = await tlsOf(port, folder, log);
    if (now === undefined || now.cert === cert) return;
    cert = now.cert;
    show(now);
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
    /** The fingerprint as browsers show it: `AB:CD:...`. */
    fingerprint: () => fingerprintOf(cert),
    [Symbol.dispose]() {
      following[Symbol.dispose]();
      watching[Symbol.dispose]();
      timer?.[Symbol.dispose]();
    },
  };
}
