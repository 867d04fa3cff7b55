/** What this browser was given when it was paired: kept by the browser for this address of the device, and by nobody else. */

import type { Identity } from "../../client/client.ts";
import { readCodeHash, readPairingHash } from "../../core/pairing-link.ts";

const key = "tapdeck.client";

/** Takes the secret of a pairing link out of the address, before anything else could see it, and keeps it. */
export function takeFromAddress(): boolean {
  const found = readPairingHash(location.hash);
  if (found === undefined) return false;
  history.replaceState(null, "", location.pathname);
  keep(found);
  return true;
}

/** Takes the digits of a link that the device's screen shows out of the address. */
export function takeCodeFromAddress(): string | undefined {
  const code = readCodeHash(location.hash);
  if (code !== undefined) history.replaceState(null, "", location.pathname);
  return code;
}

export function keep(identity: Identity): void {
  localStorage.setItem(key, JSON.stringify(identity));
}

export function kept(): Identity | undefined {
  const value: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
  if (typeof value !== "object" || value === null || !("id" in value) || !("secret" in value))
    return undefined;
  const { id, secret } = value;
  return typeof id === "string" && typeof secret === "string" ? { id, secret } : undefined;
}

export function forget(): void {
  localStorage.removeItem(key);
}
