/**
 * Makes the files of a release from images that Buildroot has made:
 *
 *   bun tools/release/main.ts --builds FOLDER --authority FOLDER --url ADDRESS --out FOLDER BOARD...
 *
 * FOLDER/BOARD of the builds is an output folder of Buildroot after `make` and `make legal-info`. ADDRESS is the address
 * from which the files will be downloaded. The same images give the same files, apart from signatures and the salt in a
 * bundle (docs/IMAGE.md, "Release").
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ifThere } from "../../src/core/errors.ts";
import { authorityIn, checkSigner } from "../image/authority.ts";
import { root as checkout } from "../image/meta.ts";
import { makeRaucBundle, versionOfRoot } from "../image/rauc-bundle.ts";
import { run } from "../image/run.ts";
import { mapCard } from "./block-map.ts";
import { imagerListOf, type ListedImage } from "./imager-list.ts";
import { sbomOf } from "./sbom.ts";

interface Release {
  readonly authority: string;
  readonly url: string;
  /** The folder for the files. */
  readonly out: string;
}

const text = { type: "string" } as const;
const { values, positionals } = parseArgs({
  options: { builds: text, authority: text, url: text, out: text },
  allowPositionals: true,
});
const { builds, authority, url, out } = values;
try {
  if (builds && authority && url && out && positionals.length > 0) {
    await release(builds, [...new Set(positionals)].toSorted(), { authority, url, out: resolve(out) });
  } else {
    process.stderr.write(
      "say which keys sign and where the files will be: make release AUTHORITY=keys URL=ADDRESS\n",
    );
    process.exitCode = 64;
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** An earlier release in the folder stays until the new one is complete. */
async function release(
  builds: string,
  boards: readonly string[],
  { authority, url, out }: Release,
): Promise<void> {
  await checkSigner(authority);
  await refuseOthers(out);
  const fresh = `${out}.new`;
  const work: Release = { authority, url: url.replace(/\/+$/, ""), out: fresh };
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const images: ListedImage[] = [];
    for (const board of boards) images.push(await releaseBoard(join(builds, board), board, work));
    const [version, ...others] = new Set(images.map((image) => image.version));
    if (others.length > 0)
      throw new Error(`the boards have different versions: ${[version, ...others].join(", ")}`);
    const list = imagerListOf(images, `${work.url}/tapdeck.svg`);
    if (list !== undefined) {
      await copyFile(join(checkout, "src/web/page/icon.svg"), join(fresh, "tapdeck.svg"));
      await writeFile(join(fresh, `tapdeck-${version}.rpi-imager-manifest`), list);
    }
    await sign(work);
    await rm(out, { recursive: true, force: true });
    await rename(fresh, out);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  for (const name of (await readdir(out)).toSorted())
    process.stdout.write(`${join(out, name)}: ${((await stat(join(out, name))).size / 1e6).toFixed(1)} MB\n`);
}

/** Throws a sentence if the folder has a file that is no part of an earlier release, because the new one takes its place. */
async function refuseOthers(out: string): Promise<void> {
  const names = (await ifThere(readdir(out))) ?? [];
  const other = names.find((name) => !/^(tapdeck[-.]|SHA256SUMS)/.test(name));
  if (other !== undefined)
    throw new Error(
      `a release replaces its whole folder, and ${out} has ${other}: name a folder for it alone`,
    );
}

async function releaseBoard(build: string, board: string, work: Release): Promise<ListedImage> {
  const [image, root] = [join(build, "images/tapdeck.img"), join(build, "images/rootfs.squashfs")];
  const manifest = join(build, "legal-info/manifest.csv");
  const missing = [image, root, manifest].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new Error(`there is no ${missing}: make image BOARD=${board}, then make -C ${build} legal-info`);
  const version = await versionOfRoot(root);
  await checkRoot(root, board, work.authority);
  const time = await timeOf(root);
  const name = `tapdeck-${version}-${board}`;
  const packed = join(work.out, `${name}.img.xz`);
  const map = await mapCard(image, (await stat(root)).size);
  if (map.rootSha256 !== (await sha256Of(root)))
    throw new Error(`slot A of ${image} does not have ${root}: make the image of ${board} again`);
  await writeFile(join(work.out, `${name}.img.bmap`), map.text);
  await pack(image, packed);
  const slot = join(build, "images/boot/slot-a");
  await makeRaucBundle(
    join(work.out, `${name}.raucb`),
    { version, board, root, boot: slot, time },
    authorityIn(work.authority),
  );
  const lock = await readFile(join(checkout, "package-lock.json"), "utf8");
  const sbom = sbomOf({ board, version, time, manifest: await readFile(manifest, "utf8"), lock });
  await writeFile(join(work.out, `${name}.cdx.json`), sbom);
  return {
    board,
    version,
    time,
    bytes: map.bytes,
    sha256: map.sha256,
    url: `${work.url}/${name}.img.xz`,
    blockMapUrl: `${work.url}/${name}.img.bmap`,
    packedBytes: (await stat(packed)).size,
    packedSha256: await sha256Of(packed),
  };
}

/** Throws a sentence if the root file system is another board's, or would refuse the updates of this release. */
async function checkRoot(root: string, board: string, authority: string): Promise<void> {
  const contentOf = (path: string) => run(["unsquashfs", "-cat", root, path]).catch(() => ""); // The errors below report missing files.
  const found = (await contentOf("etc/tapdeck/board")).trim();
  if (found !== board) throw new Error(`${root} is of the board ${found}, not of ${board}`);
  const work = await mkdtemp(join(tmpdir(), "tapdeck-release-"));
  try {
    const keyring = join(work, "keyring.pem");
    await writeFile(keyring, await contentOf("etc/rauc/keyring.pem"));
    await run(["openssl", "verify", "-crl_check", "-CAfile", keyring, authorityIn(authority).certificate]);
  } catch (error) {
    throw new Error(
      `${root} would refuse updates by ${authority}: copy keyring.pem to overlay/etc/rauc/, then make the image of ${board} again`,
      { cause: error },
    );
  } finally {
    await rm(work, { recursive: true });
  }
}

/**
 * The time in seconds: `SOURCE_DATE_EPOCH`, or otherwise the time at which the root file system was made (offset 8 of a
 * squashfs, 4 bytes, little-endian).
 */
async function timeOf(root: string): Promise<number> {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given) {
    if (!/^\d{1,10}$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH is no number of seconds: ${given}`);
    return Number(given);
  }
  const file = await open(root);
  try {
    return (await file.read(Buffer.alloc(4), 0, 4, 8)).buffer.readUInt32LE(0);
  } finally {
    await file.close();
  }
}

/** Packs with one thread and without options of the environment, so the bytes depend only on the version of xz. */
async function pack(image: string, packed: string): Promise<void> {
  const child = Bun.spawn(["xz", "--threads=1", "-6", "--check=crc64", "--stdout", "--keep", image], {
    env: { ...process.env, XZ_DEFAULTS: "", XZ_OPT: "" },
    stdio: ["ignore", Bun.file(packed), "pipe"],
  });
  const complained = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`xz ended with ${child.exitCode}\n${complained}`);
}

/** Writes SHA256SUMS as `sha256sum` does, and a detached signature of it with the certificate that signs updates. */
async function sign({ out, authority }: Release): Promise<void> {
  const names = (await readdir(out)).toSorted();
  const lines = await Promise.all(names.map(async (name) => `${await sha256Of(join(out, name))}  ${name}\n`));
  const sums = join(out, "SHA256SUMS");
  await writeFile(sums, lines.join(""));
  const { certificate, key } = authorityIn(authority);
  await run([
    ...["openssl", "cms", "-sign", "-binary", "-md", "sha256", "-signer", certificate, "-inkey", key],
    ...["-in", sums, "-outform", "PEM", "-out", `${sums}.p7s`],
  ]);
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}
