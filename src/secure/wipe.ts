/** Forgets secret bytes. Copies that libsodium's own memory and the runtime keep for a while are out of reach. */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0);
}
