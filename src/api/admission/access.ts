/**
 * Which callers come in, and as what: by the address of the peer, and by Host and Origin. No header but `Authorization`
 * (admit.ts) raises what a caller may do. What each method requires stands with the method.
 */
import { hostname } from "node:os";
import { addressBytes, isUnspecified } from "../../core/ip-address.ts";
import type { Grant } from "../../core/rights.ts";

/** Where an admitted caller comes from. Quotas depend on it; what the caller may do is its grant (core/rights.ts). */
export type Access = "device" | "remote";

export interface AccessRules {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** A service that runs as root serves every user of the device. */
  readonly allowAnonymousLocal: boolean;
  /** The grant of a caller over TLS without an identity. */
  readonly anonymous: Grant;
  /** Clients of version 1 of the secure layer may come in, and with them the pages of their apps. */
  readonly allowV1Clients: boolean;
}

/** The addresses of this device's interfaces now. */
export type OwnAddresses = () => readonly string[];

/** The origins of the known phone app's own pages, inside of a phone. */
const appOrigins: readonly string[] = [
  "capacitor://localhost",
  "ionic://localhost",
  "http://localhost",
  "https://localhost",
];

/** The headers that a browser sends, and a page cannot change. */
export interface Caller {
  readonly host: string | null;
  readonly origin: string | null;
  readonly isEmbedded: boolean;
}

/**
 * Reads who asks. Embedded is what a page of another site takes into itself: an image, a script, a frame, a prefetch. It comes
 * without an Origin (Fetch Metadata Request Headers, W3C; Fetch Standard, 3.2). Links that are followed are not, nor
 * what names its Origin, which says more.
 */
export function callerOf(headers: Headers): Caller {
  const site = headers.get("sec-fetch-site");
  const isForeign = site === "cross-site" || site === "same-site";
  const mode = headers.get("sec-fetch-mode");
  const dest = headers.get("sec-fetch-dest") ?? "document";
  const isFollowed = mode === "navigate" && dest === "document" && !isPrefetch(headers);
  const origin = headers.get("origin");
  const isExplained = origin !== null && (mode === "cors" || mode === "websocket");
  return { host: headers.get("host"), origin, isEmbedded: isForeign && !isFollowed && !isExplained };
}

/** A browser asks for what its user may want later. */
export function isPrefetch(headers: Headers): boolean {
  return headers.has("sec-purpose") || headers.has("purpose") || headers.get("x-moz") === "prefetch";
}

/**
 * True for a request that a browser may have made. All of them call themselves Mozilla, send Sec-Fetch-Site to addresses
 * that they trust (TLS and loopback), or ask for HTML; a browser inside of an app may do the last alone. A Referer, a cookie
 * or a wish for TLS gives away the others. Sec-Fetch-Mode proves nothing: Node's fetch sends it.
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
 * May an event stream be opened? Browsers say where a request comes from only to addresses that they trust: TLS and
 * loopback. To others of this device a foreign image looks like a listener of its own page, but for the Referer, which a
 * page can leave out and not forge. Sec-Fetch-Site `none` is refused: a stream is no page that a person opens, and
 * Chromium says `none` of what the speculation rules of a foreign page prefetch, and of a redirect by a foreign server.
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

export type Admission =
  | { readonly kind: "device" }
  | { readonly kind: "remote" }
  /** A page of the known phone app, which may use version 1 of the secure layer only. */
  | { readonly kind: "v1-app" }
  | { readonly kind: "refused"; readonly why: string };

export function admit(
  caller: Caller,
  isDevice: boolean,
  rules: AccessRules,
  own: OwnAddresses = () => [],
): Admission {
  const { host, origin, isEmbedded } = caller;
  if (isEmbedded)
    return { kind: "refused", why: "pages of other sites may not take anything from here into themselves" };
  if (host === null || !isHostAllowed(host, rules)) {
    return {
      kind: "refused",
      why: "this name is not one of this device: use its address, or add it to api.allowed_hosts",
    };
  }
  if (origin !== null && !isOriginAllowed(origin, { host, isDevice, own }, rules)) {
    // On the device itself a page of that origin is any page, and would have all rights.
    if (rules.allowV1Clients && !isDevice && appOrigins.includes(origin)) return { kind: "v1-app" };
    return {
      kind: "refused",
      why: "pages of this origin may not use this device: add it to api.allowed_origins",
    };
  }
  return { kind: isDevice ? "device" : "remote" };
}

/**
 * True for loopback, and for the addresses that this device has now. Not for link-local ones: a neighbour on one interface
 * may take the address that another interface has. And an IPv4 address counts inside of IPv6 where the kernel maps it,
 * nowhere else: anybody on the network can announce a prefix with 127.0.0.1 in it (6to4, NAT64).
 */
export function isDeviceAddress(address: string, own: OwnAddresses): boolean {
  const plain = plainAddress(address);
  if (plain === "::1" || /^127\.\d+\.\d+\.\d+$/.test(plain)) return true;
  return !/^fe[89ab]/.test(plain) && own().some((one) => plainAddress(one) === plain);
}

/** IPv4 addresses that come mapped into IPv6 are IPv4 addresses. */
export function plainAddress(address: string): string {
  return address
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, "")
    .replace(/%.*$/, "");
}

/** An IP literal but the unspecified ones, localhost, this device's name, its .local name, or one that the owner allowed. */
export function isHostAllowed(host: string, { allowedHosts }: Pick<AccessRules, "allowedHosts">): boolean {
  const name = nameOf(host);
  if (name === undefined) return false;
  const device = hostname().toLowerCase();
  const names = [
    "localhost",
    device,
    `${device}.local`,
    ...allowedHosts.map((allowed) => allowed.toLowerCase()),
  ];
  return isIpLiteral(name) || names.includes(name);
}

interface Page {
  readonly host: string;
  readonly isDevice: boolean;
  readonly own: OwnAddresses;
}

function isOriginAllowed(origin: string, { host, isDevice, own }: Page, rules: AccessRules): boolean {
  if (rules.allowedOrigins.includes(origin)) return true;
  const match = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase());
  const authority = match?.[1];
  if (authority === undefined) return false;
  const name = nameOf(authority);
  // A page of another host's address has no rights here, should this device ever take that address.
  const isOthers =
    isDevice && name !== undefined && isIpLiteral(name) && !isDeviceAddress(name.replace(/[[\]]/g, ""), own);
  if (authority === host.toLowerCase()) return !isOthers;
  return (
    isDevice &&
    name !== undefined &&
    (name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name))
  );
}

/** The name of a Host header without its port; undefined where it is not of that form. */
function nameOf(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/.exec(host.toLowerCase())?.[1];
}

/** As RFC 3986, 3.2.2 writes them: IPv6 in brackets, IPv4 as four decimal numbers without leading zeros. */
function isIpLiteral(name: string): boolean {
  const isBracketed = name.startsWith("[");
  if (!isBracketed && !/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){3}$/.test(name)) return false;
  const bytes = addressBytes(isBracketed ? name.slice(1, -1) : name);
  return bytes?.length === (isBracketed ? 16 : 4) && !isUnspecified(bytes);
}
