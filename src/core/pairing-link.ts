/**
 * The link that lets a phone in: `http://<host>:<port>/#pair=<64 characters>`. They are base64url (RFC 4648, 5) of the
 * client's id, a UUID, and its secret: 16 and 32 bytes. A browser keeps what stands behind `#` to itself, and the page
 * takes it out of its address at once. Short, so that the code stays coarse and the link fits the smallest card.
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
const anyLink = /(https?:\/\/[^\s/]+\/?#pair=)[A-Za-z0-9_-]+/gi;

/** Undefined where the id is no UUID or the secret is not 64 hex characters: another kind of client. */
export function pairingLink(base: string, { id, secret }: PairingLink): string | undefined {
  const bytes = fromHex(id.replaceAll("-", "") + secret);
  if (bytes?.length !== idBytes + secretBytes) return undefined;
  const text = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  return `${base}/${mark}${text}`;
}

/** Reads `location.hash`; undefined where it is none of ours. */
export function readPairingHash(hash: string): PairingLink | undefined {
  const text = hash.startsWith(mark) ? hash.slice(mark.length) : "";
  if (!/^[A-Za-z0-9_-]{64}$/.test(text)) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  const id = toHex(bytes.subarray(0, idBytes)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { id, secret: toHex(bytes.subarray(idBytes)) };
}

const codeMark = "#code=";

/** The link to the device's page that types the six digits by itself. */
export function codeLink(base: string, code: string): string {
  return `${base}/${codeMark}${code}`;
}

/** Reads `location.hash`; undefined where it holds no six digits. */
export function readCodeHash(hash: string): string | undefined {
  return new RegExp(`^${codeMark}(\\d{6})$`).exec(hash)?.[1];
}

/** True for a text that lets somebody in, with its secret or without. */
export function isPairingLink(text: string): boolean {
  return /^https?:\/\/[^\s/]+\/?#pair=/i.test(text.trim());
}

/** The text with the secrets of pairing links left out: `http://tapdeck.local:7497/#pair=*`. */
export function withoutPairingSecrets(text: string): string {
  // Most texts are none, and this stands on a tap's way.
  return text.includes(mark) ? text.replace(anyLink, "$1*") : text;
}

/** A card that lets a phone in, without what lets it in: its memory holds that, too. */
export function withoutSecrets<T extends { readonly text: string; readonly data: string }>(seen: T): T {
  const text = withoutPairingSecrets(seen.text);
  return text === seen.text ? seen : { ...seen, text, data: "" };
}
