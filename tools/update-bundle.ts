/**
 * Makes and signs the file that `tapdeck update` takes:
 *
 *   bun tools/update-bundle.ts --new-key FILE     a pair: the secret key in FILE, the public one printed
 *   bun tools/update-bundle.ts --key FILE --board NAME --root IMAGE --boot FOLDER --out FILE [--version V]
 *
 * IMAGE is the root file system, and FOLDER has the files of slot-a/ of the boot partition. Put the public key into
 * overlay/etc/tapdeck/update-keys before an image is made. Keep the secret key on a computer that nobody else uses.
 */
import { parseArgs } from "node:util";
import { readMeta } from "./image/meta.ts";
import { makeBundle, makeKey, readKey } from "./image/signing.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: { "new-key": text, key: text, board: text, root: text, boot: text, out: text, version: text },
});
const { key, board, root, boot, out, version = readMeta().version } = values;
try {
  if (values["new-key"] !== undefined) {
    const { publicHex } = await makeKey(values["new-key"]);
    process.stdout.write(`${publicHex} whose it is\n`);
  } else if (key && board && root && boot && out) {
    const made = await makeBundle(out, { version, board, root, boot }, await readKey(key));
    process.stdout.write(
      `${out}: version ${version} for ${board}, ${made.parts.length} parts, ${(made.bytes / 1e6).toFixed(1)} MB\n`,
    );
  } else {
    process.stderr.write("name --key, --board, --root, --boot and --out, or --new-key\n");
    process.exitCode = 64;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
