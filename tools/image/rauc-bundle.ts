/**
 * Makes the file of an update: a RAUC bundle of the format verity (RAUC's manual, "Bundle Formats"), which is a squashfs with a
 * tree of hashes and a CMS signature over its root hash.
 *
 *   root.img   the root file system of a slot
 *   boot.tar   the files of its folder on the boot partition, with `next.json`: the manifest that the slot gets at the end
 *   hook       runs the hook of the system that installs (overlay/usr/lib/tapdeck/rauc-hook)
 */
import { chmod, cp, link, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { manifestName } from "../../src/update/update-bundle.ts";
import type { Authority } from "./authority.ts";
import { root as checkout } from "./meta.ts";
import { run } from "./run.ts";

export interface BundleInput {
  readonly version: string;
  readonly board: string;
  /** The root file system's image. */
  readonly root: string;
  /** A folder like slot-a/ of the boot partition. */
  readonly boot: string;
}

/** Makes and signs it, and returns its size in bytes. The folder of `path` needs room for it twice. */
export async function makeRaucBundle(
  path: string,
  { version, board, root, boot }: BundleInput,
  { certificate, key }: Pick<Authority, "certificate" | "key">,
): Promise<number> {
  const work = await mkdtemp(join(tmpdir(), "tapdeck-bundle-"));
  try {
    const content = join(work, "content");
    const slot = join(work, "slot");
    await mkdir(content);
    await cp(boot, slot, { recursive: true });
    await rm(join(slot, manifestName), { force: true });
    const script = join(checkout, "buildroot/board/common/slot-manifest");
    const manifest = await run([script, board, root, slot], { environment: { UPDATE_VERSION: version } });
    await writeFile(join(slot, nextManifestName), manifest);
    await run(["tar", "-c", "-f", join(content, "boot.tar"), ...tarWords, "-C", slot, "."]);
    await link(root, join(content, "root.img")).catch(() => cp(root, join(content, "root.img")));
    await writeFile(join(content, "hook"), '#!/bin/sh\nexec /usr/lib/tapdeck/rauc-hook "$@"\n');
    await chmod(join(content, "hook"), 0o755);
    await writeFile(join(content, "manifest.raucm"), manifestOf(version, board));
    await mkdir(dirname(path), { recursive: true });
    // RAUC replaces no file.
    await rm(path, { force: true });
    await run([
      ...["rauc", `--cert=${certificate}`, `--key=${key}`, "bundle"],
      ...["--mksquashfs-args=-quiet -no-progress -comp zstd -Xcompression-level 9", content, path],
    ]);
    return (await stat(path)).size;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The name of a slot's manifest until RAUC activates the slot. */
const nextManifestName = "next.json";
const tarWords = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--format=ustar"] as const;

/** The manifest of RAUC (its manual, "Manifest"). The boot files come last: they are few, and a cut is mostly before them. */
function manifestOf(version: string, board: string): string {
  return `[update]
compatible=tapdeck-${board}
version=${version}
[bundle]
format=verity
[hooks]
filename=hook
hooks=install-check;
[image.rootfs]
filename=root.img
hooks=post-install;
[image.boot]
filename=boot.tar
hooks=install;
`;
}
