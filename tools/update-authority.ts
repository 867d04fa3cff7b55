/**
 * Makes the keys that sign updates, renews them, and revokes one:
 *
 *   bun tools/update-authority.ts FOLDER                  an authority and its first certificate
 *   bun tools/update-authority.ts FOLDER --renew          another certificate, which signs from now on
 *   bun tools/update-authority.ts FOLDER --revoke FILE    images with the new keyring.pem refuse this certificate
 *
 * Put FOLDER/keyring.pem into overlay/etc/rauc before an image is made. Keep FOLDER on a computer that nobody else uses;
 * signing needs only sign.pem and sign.key of it.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeAuthority, renewCertificate, revokeCertificate } from "./image/authority.ts";

const { values, positionals } = parseArgs({
  options: { renew: { type: "boolean" }, revoke: { type: "string" } },
  allowPositionals: true,
});
const [folder] = positionals;
try {
  if (folder === "") {
    process.stderr.write("say where the keys are: make update-authority FOLDER=keys\n");
    process.exitCode = 64;
  } else if (
    folder === undefined ||
    positionals.length > 1 ||
    (values.renew && values.revoke !== undefined)
  ) {
    process.stderr.write("name a folder, and --renew or --revoke FILE if it has an authority\n");
    process.exitCode = 64;
  } else if (values.renew) {
    const { certificate } = await renewCertificate(folder);
    process.stdout.write(`${certificate} signs from now on; earlier certificates are in ${folder}/issued\n`);
  } else if (values.revoke !== undefined) {
    await revokeCertificate(folder, resolve(values.revoke));
    process.stdout.write(`images with the new ${folder}/keyring.pem refuse ${values.revoke}\n`);
  } else {
    const { keyring } = await makeAuthority(folder);
    process.stdout.write(`made ${folder}: put ${keyring} into overlay/etc/rauc before an image is made\n`);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
