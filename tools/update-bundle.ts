/**
 * Makes and signs the file that `tapdeck update` takes:
 *
 *   bun tools/update-bundle.ts --authority FOLDER --board NAME --root IMAGE --boot FOLDER --out FILE
 *
 * IMAGE is the root file system, and FOLDER has the files of slot-a/ of the boot partition. The folder of the authority needs
 * sign.pem and sign.key only (tools/update-authority.ts).
 */
import { parseArgs } from "node:util";
import { boards } from "./defconfigs.ts";
import { authorityIn, checkSigner } from "./image/authority.ts";
import { makeRaucBundle, versionOfRoot } from "./image/rauc-bundle.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: { authority: text, board: text, root: text, boot: text, out: text },
});
const { authority, board, root, boot, out } = values;
try {
  if (authority === "") {
    process.stderr.write("say which keys sign: make update-bundle AUTHORITY=keys\n");
    process.exitCode = 64;
  } else if (authority && board && root && boot && out) {
    const names = Object.keys(boards).map((name) => name.replace("tapdeck_", ""));
    if (!names.includes(board))
      throw new Error(`there is no board ${board}; the boards are ${names.join(", ")}`);
    await checkSigner(authority);
    const version = await versionOfRoot(root);
    const bytes = await makeRaucBundle(out, { version, board, root, boot }, authorityIn(authority));
    process.stdout.write(`${out}: version ${version} for ${board}, ${(bytes / 1e6).toFixed(1)} MB\n`);
  } else {
    process.stderr.write("name --authority, --board, --root, --boot and --out\n");
    process.exitCode = 64;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
