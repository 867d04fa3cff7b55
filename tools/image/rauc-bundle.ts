/**
 * Makes the file of an update: a RAUC bundle of the format verity (RAUC's manual, "Bundle Formats"), which is a squashfs with a
 * tree of hashes and a CMS signature over its root hash.
 *
 *   root.img    the root file system of a slot
 *   boot/       the files of its folder on the boot partition
 *   slot.json   the manifest that the slot gets at the end (src/update/slot-manifest.ts)
 *   hook        runs the hook of the system that installs (overlay/usr/lib/tapdeck/rauc-call)
 */
import { chmod, cp, link, mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bundleManifest, bundleRoot } from "../../src/update/rauc-calls.ts";
import { manifestName, readManifest } from "../../src/update/slot-manifest.ts";
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
  /** The time of all files in it, in seconds since 1970. The same input then gives the same content. */
  readonly time?: number;
}

/**
 * Makes and signs a bundle at `path`, and returns its size in bytes. The folder needs room for two bundles. An earlier
 * file of that path stays until the new one is complete.
 */
export async function makeRaucBundle(
  path: string,
  { version, board, root, boot, time }: BundleInput,
  { certificate, key }: Pick<Authority, "certificate" | "key">,
): Promise<number> {
  await requireRoot(root);
  if (!(await isFile(join(boot, "Image"))))
    throw new Error(
      `there is no kernel ${join(boot, "Image")}: SLOT=FOLDER names slot-a of the boot partition`,
    );
  const fresh = `${path}.new`;
  const work = await mkdtemp(join(tmpdir(), "tapdeck-bundle-"));
  try {
    const content = join(work, "content");
    const slot = join(content, "boot");
    await mkdir(content);
    await cp(boot, slot, { recursive: true });
    await rm(join(slot, manifestName), { force: true });
    const script = join(checkout, "buildroot/board/common/slot-manifest");
    const manifest = await run([script, board, root, slot], { environment: { UPDATE_VERSION: version } });
    const fault = readManifest(Buffer.from(manifest));
    if (typeof fault === "string") throw new Error(`no board would take this: ${fault}`);
    await writeFile(join(content, bundleManifest), manifest);
    await link(root, join(content, bundleRoot)).catch(() => cp(root, join(content, bundleRoot)));
    await writeFile(join(content, "hook"), '#!/bin/sh\nexec /usr/lib/tapdeck/rauc-call "$@"\n');
    await chmod(join(content, "hook"), 0o755);
    await writeFile(join(content, "manifest.raucm"), manifestOf(version, board));
    await mkdir(dirname(path), { recursive: true });
    // RAUC does not replace an existing file.
    await rm(fresh, { force: true });
    // The owner and the modes of the files do not depend on the user or the umask of the maker.
    const files = "-all-root -root-mode 755 -action chmod(u=rwX,go=rX)@true";
    const squashfs = `-quiet -no-progress ${files} -comp zstd -Xcompression-level 9`;
    await run(
      [
        ...["rauc", `--cert=${certificate}`, `--key=${key}`, "bundle"],
        ...[`--mksquashfs-args=${squashfs}`, content, fresh],
      ],
      { environment: time === undefined ? {} : { SOURCE_DATE_EPOCH: String(time) } },
    );
    await rename(fresh, path);
    return (await stat(path)).size;
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(fresh, { force: true });
  }
}

/** The version in the root file system of an image. */
export async function versionOfRoot(root: string): Promise<string> {
  await requireRoot(root);
  const said = await run(["unsquashfs", "-cat", root, "etc/tapdeck-release"]).catch(() => ""); // If this fails, the error below reports it.
  const [, version] = /^Tapdeck (\d+\.\d+\.\d+)\n$/.exec(said) ?? [];
  if (version === undefined)
    throw new Error(`${root} is no root file system of Tapdeck: it has no version in etc/tapdeck-release`);
  return version;
}

async function requireRoot(path: string): Promise<void> {
  if (!(await isFile(path)))
    throw new Error(`there is no root file system ${path}: ROOT=FILE names the squashfs of the image`);
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined); // The caller reports that the file is missing.
  return found?.isFile() === true && found.size > 0;
}

/** The manifest of RAUC (its manual, "Manifest"). The hook of the second image reads both back. */
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
filename=${bundleRoot}
[image.boot]
filename=${bundleManifest}
hooks=install;
`;
}
