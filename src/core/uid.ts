/** A UID as mappings compare it: lower case, without spaces and colons (contract, Mapping object). */
export function normalizeUid(uid: string): string {
  return uid.replace(/[\s:]/g, "").toLowerCase();
}
