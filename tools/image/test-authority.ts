/**
 * The authority of this checkout, whose updates the images for tests accept: `bun tools/image/test-authority.ts` prints the path of
 * its keyring.pem. The first certificate is revoked, and its files are lost.pem and lost.key.
 */
import { existsSync } from "node:fs";
import { cp, rename } from "node:fs/promises";
import { join } from "node:path";
import {
  type Authority,
  authorityIn,
  makeAuthority,
  renewCertificate,
  revokeCertificate,
} from "./authority.ts";
import { root } from "./meta.ts";

export const testAuthorityFolder = join(root, "build/update-authority");

/** The authority, which is made at the first call. */
export async function testAuthority(): Promise<Authority> {
  const authority = authorityIn(testAuthorityFolder);
  if (existsSync(authority.keyring)) return authority;
  const folder = `${testAuthorityFolder}.new`;
  const { certificate, key } = await makeAuthority(folder);
  await cp(certificate, join(folder, "lost.pem"));
  await cp(key, join(folder, "lost.key"));
  await renewCertificate(folder);
  await revokeCertificate(folder, "lost.pem");
  await rename(folder, testAuthorityFolder);
  return authority;
}

if (import.meta.main) process.stdout.write(`${(await testAuthority()).keyring}\n`);
