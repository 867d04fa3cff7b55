/** The faults of a connection to a broker: refusals by the broker, its certificate or the network. */
import { codeOf } from "../core/errors.ts";
import { type Fault, faultOf } from "../core/faults.ts";
import type { Broker } from "./broker.ts";

// MQTT 5, 3.2.2.2 and 3.14.2.1. A code of MQTT 3.1.1 comes from brokers that do not know version 5.
const refusals = new Map([
  [1, "broker-version"],
  [4, "broker-password"],
  [5, "broker-refuses"],
  [132, "broker-version"],
  [133, "broker-refuses-name"],
  [134, "broker-password"],
  [135, "broker-refuses"],
  [137, "broker-busy"],
  [138, "broker-ban"],
  [139, "broker-stopping"],
  [142, "broker-same-name"],
] as const);

const notAuthorized = 135;

/** The fault by the reason code of the broker. */
export function refusalOf(reason: number, { host: subject }: Broker): Fault {
  const known = [...refusals].find(([one]) => one === reason);
  return known === undefined
    ? faultOf("broker-ended", { subject, reason: String(reason) })
    : faultOf(known[1], { subject });
}

export function isRefusal(error: Error): boolean {
  return "code" in error && error.code === notAuthorized;
}

/** Names the fault that this error of a connection means. `wasOpen` is true if the connection was open before. */
export function connectionFault(error: Error, broker: Broker, wasOpen: boolean): Fault {
  const why = codeOf(error);
  const { host: subject, port } = broker;
  // mosquitto resets the connection if only one of the two speaks TLS.
  if (["ECONNRESET", "EPIPE"].includes(why))
    return wasOpen ? faultOf("broker-lost", { subject }) : silenceOf(broker);
  if ("code" in error && [...refusals.keys()].some((reason) => reason === error.code))
    return refusalOf(Number(error.code), broker);
  if (/ALTNAME/.test(why)) return faultOf("broker-certificate-host", { subject });
  if (/EXPIRED|NOT_YET_VALID/.test(why)) return faultOf("broker-certificate-time", { subject });
  if (/ALERT|ERR_SSL|EPROTO/.test(why) && broker.isTls) return faultOf("broker-handshake", { subject, why });
  if (/CERT|ISSUER|SIGNATURE|VERIFY/.test(why))
    return faultOf("broker-certificate-untrusted", { subject, why });
  if (["ENOTFOUND", "EAI_AGAIN", "DNS_ENOTFOUND"].includes(why))
    return faultOf("broker-unknown", { subject });
  if (
    ["ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"].includes(why) ||
    /timeout/.test(error.message)
  )
    return faultOf("broker-absent", { subject, port: String(port) });
  // Only errors of the parser have no code: it has refused the bytes that it read, such as the alert of a port with TLS.
  if (why === "" && !wasOpen) return faultOf("broker-not-mqtt", { subject, port: String(port) });
  return faultOf("broker-unreachable", { subject, why: error.message });
}

/** The fault of a broker that closed the connection without an answer. */
export function silenceOf({ isTls, host: subject }: Broker): Fault {
  return faultOf(isTls ? "broker-silent-tls" : "broker-silent", { subject });
}
