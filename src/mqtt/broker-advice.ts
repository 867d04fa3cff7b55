/** Sentences with advice on what a broker, its certificate or the network refuses. */
import { codeOf } from "../core/errors.ts";
import type { Broker } from "./broker.ts";

// MQTT 5, 3.2.2.2 and 3.14.2.1. A code of MQTT 3.1.1 comes from brokers that do not know version 5.
const reasons: ReadonlyMap<number, string> = new Map([
  [1, "the broker does not know MQTT 5: it needs at least mosquitto 1.6"],
  [4, "the broker refuses the name or password: check mqtt.user and mqtt.password_file"],
  [5, "the broker refuses this device: check mqtt.user, mqtt.password_file and its access list"],
  [132, "the broker does not know MQTT 5: it needs at least mosquitto 1.6"],
  [133, "the broker refuses the name of this device: set another mqtt.id"],
  [134, "the broker refuses the name or password: check mqtt.user and mqtt.password_file"],
  [135, "the broker refuses this device: check mqtt.user, mqtt.password_file and its access list"],
  [137, "the broker is busy"],
  [138, "the broker has banned this device"],
  [139, "the broker is shutting down"],
  [
    142,
    "the broker ended the connection, because another device has the same name: give each its own mqtt.id",
  ],
]);

const notAuthorized = 135;

export function adviceOnCode(code: number): string | undefined {
  return reasons.get(code);
}

export function isRefusal(error: Error): boolean {
  return "code" in error && error.code === notAuthorized;
}

export function adviceOn(error: Error, broker: Broker): string {
  const code = codeOf(error);
  const known = "code" in error && typeof error.code === "number" ? adviceOnCode(error.code) : undefined;
  if (known !== undefined) return known;
  const { host, port } = broker;
  if (/ALTNAME/.test(code))
    return `the certificate of the broker is for another host than ${host}: check mqtt.url`;
  if (/EXPIRED|NOT_YET_VALID/.test(code))
    return "the certificate of the broker is not valid now: check the clock of this device, or renew the certificate";
  if (/ALERT|ERR_SSL|ECONNRESET|EPROTO/.test(code) && broker.isTls)
    return `the broker ended the TLS handshake (${code}): check mqtt.certificate, mqtt.key and the port`;
  if (/CERT|ISSUER|SIGNATURE|VERIFY/.test(code))
    return `the certificate of the broker is not trusted (${code}): let mqtt.ca name the authority that signed it`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "DNS_ENOTFOUND")
    return `no broker answers, because the name ${host} is not known: check mqtt.url and the network`;
  if (
    ["ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"].includes(code) ||
    /timeout/.test(error.message)
  )
    return `no broker answers at ${host} port ${port}: check mqtt.url, and whether the broker runs`;
  return `no connection to the broker: ${error.message}`;
}

export function silent({ isTls }: Broker): string {
  const tls = isTls
    ? "mqtt.certificate and mqtt.key, and whether the port is that for TLS"
    : "whether the port is one without TLS";
  return `the broker closed the connection without an answer: check ${tls}`;
}
