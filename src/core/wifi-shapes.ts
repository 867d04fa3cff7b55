/** The shapes of the Wi-Fi that the service needs. Only root's scripts on the image connect. */
import * as v from "valibot";
import { wifiKeyDigits, wifiPasswordBytesMax, wifiPasswordBytesMin } from "./console-limits.ts";
import { integer, type ValueOf } from "./shapes.ts";

/** The reason why a network does not work. */
export const wifiFaults = ["wrong-password", "not-found", "refused", "no-address"] as const;
export type WifiFault = (typeof wifiFaults)[number];

/** The name of a network as the hex digits of its bytes, which need not be UTF-8 (IEEE 802.11, 9.4.2.2). */
const wifiId = v.pipe(
  v.string(),
  v.regex(/^(?:[0-9a-f]{2}){1,32}$/, "must be the hex digits of a name of 1 to 32 bytes"),
);

/** A network in reach, the strongest radio of its name. */
const wifiNetwork = v.object({
  id: wifiId,
  name: v.string(),
  /** The signal in dBm: about -30 beside the router, and -90 at the edge of its range. */
  signal: integer,
  /** `other` needs a user name, or uses WEP, and cannot be joined. */
  security: v.picklist(["open", "password", "other"]),
});
export type WifiNetwork = ValueOf<typeof wifiNetwork>;

/** A network that was set up on the device, without its password. */
const knownWifi = v.object({ id: wifiId, name: v.string() });

/** `point`: the device has an access point of its own, by which a phone sets up the Wi-Fi. */
export const wifiState = v.object({
  state: v.picklist(["none", "away", "joining", "joined", "point"]),
  /** The network that was tried last. */
  network: v.exactOptional(v.string()),
  fault: v.exactOptional(v.picklist(wifiFaults)),
  point: v.exactOptional(v.object({ name: v.string(), password: v.string(), address: v.string() })),
});
export type WifiState = ValueOf<typeof wifiState>;

/** `networks` are those of the last search, the strongest first; `known` are those that were set up on the device, the best first. */
export const wifiReport = v.object({
  ...wifiState.entries,
  networks: v.array(wifiNetwork),
  known: v.array(knownWifi),
});
export type WifiReport = ValueOf<typeof wifiReport>;

/** True for a password of WPA, or for the key that is derived from it, as 64 hex digits. */
export function isWifiPassword(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  if (/\p{Cc}/u.test(text)) return false;
  return (bytes >= wifiPasswordBytesMin && bytes <= wifiPasswordBytesMax) || /^[0-9a-fA-F]{64}$/.test(text);
}

/** A network to join; an open one has no password. */
export const wifiRequest = v.object({
  id: wifiId,
  password: v.optional(v.pipe(v.string(), v.maxLength(wifiKeyDigits)), ""),
});
export const wifiChoice = v.object({ id: wifiId });
export type WifiRequest = v.InferOutput<typeof wifiRequest>;
