/**
 * The link that pairs a phone: `http://<host>:<port>/#pair=<64 characters>`. The characters are base64url (RFC 4648, 5) of
 * the client's id, a UUID, and its secret: 16 and 32 bytes. A browser does not send the part after `#`, and the page removes
 * it from the address at once. The link is short, so it fits the smallest card, and its QR code has large modules.
 */
import { fromHex, toHex } from "./hex.ts";

interface PairingLink {
  readonly id: string;
  /** 64 hex characters. */
  readonly secret: string;
}

const idBytes = 16;
const secretBytes = 32;
const mark = "#pair=";
const anyLink = /(https?:\/\/[^\s/]+\/?)(?:(#pair=)[A-Za-z0-9_-]+|(#code=)\d{6}(?!\d))/gi;

/** Undefined if the id is no UUID or the secret is not 64 hex characters, as for clients of version 1. */
export function pairingLink(base: string, { id, secret }: PairingLink): string | undefined {
  const bytes = fromHex(id.replaceAll("-", "") + secret);
  if (bytes?.length !== idBytes + secretBytes) return undefined;
  const text = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  return `${base}/${mark}${text}`;
}

/** Reads `location.hash`; undefined if it is no pairing link. */
export function readPairingHash(hash: string): PairingLink | undefined {
  const text = hash.startsWith(mark) ? hash.slice(mark.length) : "";
  if (!/^[A-Za-z0-9_-]{64}$/.test(text)) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const id = toHex(bytes.subarray(0, idBytes)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { id, secret: toHex(bytes.subarray(idBytes)) };
}

const codeMark = "#code=";

/** The link to the device's page with the six digits. */
export function codeLink(base: string, code: string): string {
  return `${base}/${codeMark}${code}`;
}

/** Reads the digits of `location.hash`; undefined if there are none. */
export function readCodeHash(hash: string): string | undefined {
  return new RegExp(`^${codeMark}(\\d{6})$`).exec(hash)?.[1];
}

/** True for a link that pairs a phone, with its secret or code or redacted. */
export function isPairingLink(text: string): boolean {
  return /^https?:\/\/[^\s/]+\/?#(?:pair=|code=(?:\d{6}|\*)$)/i.test(text.trim());
}

/** Redacts the secrets and codes of links that pair phones: `http://tapdeck.local:7497/#pair=*`. */
export function withoutPairingSecrets(text: string): string {
  // A fast check, because every tap passes here and few texts are links.
  return text.includes("#") ? text.replace(anyLink, "$1$2$3*") : text;
}

interface Seen {
  readonly uid: string;
  readonly text: string;
  readonly data: string;
}

/**
 * The card without the secret of a link that pairs a phone. Apps send a scanned code as the text and as the UID. If the card
 * had such a link, its memory dump is also removed, because the dump holds the secret.
 */
export function withoutSecrets<T extends Seen>(seen: T): T {
  const text = withoutPairingSecrets(seen.text);
  const uid = withoutPairingSecrets(seen.uid);
  return text === seen.text && uid === seen.uid ? seen : { ...seen, uid, text, data: "" };
}
