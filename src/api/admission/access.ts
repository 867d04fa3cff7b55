/**
 * Decides which callers are admitted, and with which identity, by the address of the peer, and by Host and Origin. No
 * header except `Authorization` (admission.ts) raises the rights of a caller. Each method names the right that it
 * requires.
 */
import { deviceNames } from "../../core/host-names.ts";
import { addressBytes, isUnspecified } from "../../core/ip-address.ts";
import type { Grant } from "../../core/rights.ts";

/** The origin of an admitted caller, on which its quotas depend. Its rights are its grant (core/rights.ts). */
export type Access = "device" | "remote";

export interface AccessRules {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** A service that runs as root serves every user of the device. */
  readonly allowAnonymousLocal: boolean;
  /** The grant of a caller over TLS without an identity. */
  readonly anonymous: Grant;
  /** Admits clients of version 1 of the secure layer, and the pages of their apps. */
  readonly allowV1Clients: boolean;
}

/** The addresses that this device's interfaces have at present. */
export type OwnAddresses = () => readonly string[];

/** The origins of the known phone app's own pages, in the app's web view. */
const appOrigins: readonly string[] = [
  "capacitor://localhost",
  "ionic://localhost",
  "http://localhost",
  "https://localhost",
];

/**
 * Headers that a browser sets, and a page cannot change. `isEmbedded`: a page of another site embeds the answer as an image, a
 * script, a frame or a prefetch. Such a request has no Origin (Fetch Metadata Request Headers, W3C; Fetch Standard, 3.2). A
 * followed link is not embedded, nor is a request with an Origin.
 */
export function requestSource(headers: Headers) {
  const site = headers.get("sec-fetch-site");
  const isForeign = site === "cross-site" || site === "same-site";
  const mode = headers.get("sec-fetch-mode");
  const dest = headers.get("sec-fetch-dest") ?? "document";
  const isFollowed = mode === "navigate" && dest === "document" && !isPrefetch(headers);
  const origin = headers.get("origin");
  const isExplained = origin !== null && (mode === "cors" || mode === "websocket");
  return { host: headers.get("host"), origin, isEmbedded: isForeign && !isFollowed && !isExplained };
}

/** True for a request that a browser makes in advance, for a page that its user may open later. */
export function isPrefetch(headers: Headers): boolean {
  return headers.has("sec-purpose") || headers.has("purpose") || headers.get("x-moz") === "prefetch";
}

/**
 * True for a request that a browser may have made. Every browser calls itself Mozilla, sends Sec-Fetch-Site to addresses
 * that it trusts (TLS and loopback), or asks for HTML. A browser inside an app may only do the last of these. A Referer,
 * a cookie or Upgrade-Insecure-Requests also marks one. Sec-Fetch-Mode proves nothing, because Node's fetch sends it.
 */
export function isBrowser(headers: Headers): boolean {
  return (
    /mozilla\//i.test(headers.get("user-agent") ?? "") ||
    headers.has("referer") ||
    headers.has("cookie") ||
    headers.has("upgrade-insecure-requests") ||
    headers.has("sec-fetch-site") ||
    headers.has("sec-fetch-dest") ||
    (headers.get("accept") ?? "").includes("text/html")
  );
}

/**
 * Whether the request may open an event stream. Browsers send Sec-Fetch-Site only to addresses that they trust: TLS and
 * loopback. At other addresses only the Referer distinguishes a foreign image from a listener of the device's own page. A
 * page can omit it, but not forge it. Sec-Fetch-Site `none` is refused, because no person opens a stream. Chromium sends
 * `none` for prefetches by a foreign page's speculation rules, and for redirects by a foreign server.
 */
export function mayListen(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  const mode = headers.get("sec-fetch-mode");
  if (isPrefetch(headers) || mode === "navigate") return false;
  if (site !== null) return site === "same-origin" || (headers.has("origin") && mode === "cors");
  if (!isBrowser(headers) || headers.has("origin")) return true;
  const referer = headers.get("referer") ?? "";
  return URL.canParse(referer) && new URL(referer).host === headers.get("host")?.toLowerCase();
}

type AccessVerdict =
  | { readonly kind: "device" | "remote" }
  /** A page of the known phone app, which may use version 1 of the secure layer only. */
  | { readonly kind: "v1-app" }
  | { readonly kind: "refused"; readonly why: string };

export function judgeAccess(
  source: ReturnType<typeof requestSource>,
  isDevice: boolean,
  rules: AccessRules,
  own: OwnAddresses = () => [],
): AccessVerdict {
  const { host, origin, isEmbedded } = source;
  if (isEmbedded) return refused("pages of other sites may not take anything from here into themselves");
  if (host === null || !isHostAllowed(host, rules))
    return refused("this name is not one of this device: use its address, or add it to api.allowed_hosts");
  if (origin !== null && !isOriginAllowed(origin, { host, isDevice, own }, rules)) {
    // With this origin, a caller on the device would get all rights, and any page on the device can have the origin.
    if (rules.allowV1Clients && !isDevice && appOrigins.includes(origin)) return { kind: "v1-app" };
    return refused("pages of this origin may not use this device: add it to api.allowed_origins");
  }
  return { kind: isDevice ? "device" : "remote" };
}

function refused(why: string): AccessVerdict {
  return { kind: "refused", why };
}

/**
 * True for loopback, and for the addresses that this device has now. Link-local addresses do not count, because a neighbour
 * on one interface may take the address of another interface. IPv4 inside IPv6 counts only in the form that the kernel
 * maps. Anybody on the network can announce a 6to4 or NAT64 prefix with 127.0.0.1 in it.
 */
export function isDeviceAddress(address: string, own: OwnAddresses): boolean {
  const plain = plainAddress(address);
  return isLoopback(plain) || (!/^fe[89ab]/.test(plain) && own().some((one) => plainAddress(one) === plain));
}

export function isLoopback(address: string): boolean {
  const plain = plainAddress(address);
  return plain === "::1" || loopbackIpv4.test(plain);
}

const loopbackIpv4 = /^127\.\d+\.\d+\.\d+$/;

/** The address in lower case and without a zone; an IPv4 address that is mapped into IPv6 becomes plain IPv4. */
export function plainAddress(address: string): string {
  const [plain = ""] = address.toLowerCase().split("%", 1);
  return plain.replace(/^::ffff:(?=\d+\.)/, "");
}

/** A specified IP literal, localhost, this device's name or `.local` name, or a name that the owner allowed. */
function isHostAllowed(host: string, { allowedHosts }: AccessRules): boolean {
  const name = nameOf(host);
  if (name === undefined) return false;
  const names = ["localhost", ...deviceNames(), ...allowedHosts.map((allowed) => allowed.toLowerCase())];
  return isIpLiteral(name) || names.includes(name);
}

function isOriginAllowed(
  origin: string,
  { host, isDevice, own }: { host: string; isDevice: boolean; own: OwnAddresses },
  rules: AccessRules,
): boolean {
  if (rules.allowedOrigins.includes(origin)) return true;
  const authority = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase())?.[1];
  if (authority === undefined) return false;
  const name = nameOf(authority);
  // A page of another host's address stays refused even if this device takes that address later.
  const isOthers =
    isDevice && name !== undefined && isIpLiteral(name) && !isDeviceAddress(name.replace(/[[\]]/g, ""), own);
  if (authority === host.toLowerCase()) return !isOthers;
  return (
    isDevice && name !== undefined && (name === "localhost" || name === "[::1]" || loopbackIpv4.test(name))
  );
}

/** The name of a Host header without its port; undefined if the header is malformed. */
function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/.exec(host.toLowerCase())?.[1];
}

/** The forms of RFC 3986, 3.2.2: IPv6 in brackets, IPv4 as four decimal numbers without leading zeros. */
function isIpLiteral(name: string): boolean {
  const isBracketed = name.startsWith("[");
  if (!isBracketed && !/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){3}$/.test(name)) return false;
  const bytes = addressBytes(isBracketed ? name.slice(1, -1) : name);
  return bytes?.length === (isBracketed ? 16 : 4) && !isUnspecified(bytes);
}
