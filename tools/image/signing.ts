/** Bundles of updates: keys, signing, and the file itself (src/update/update-bundle.ts documents its format). */
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type BundlePart,
  headBytes,
  type Manifest,
  manifestName,
  readManifest,
  signedBytes,
  writeHead,
} from "../../src/update/update-bundle.ts";

export interface Key {
  readonly publicHex: string;
  /** 64 bytes: libsodium's secret key, whose second half is the public one. */
  readonly secret: Uint8Array;
}

/** A new pair: the secret key in a file that only its owner may read, and that must not exist yet. */
export async function makeKey(path: string): Promise<Key> {
  const sodium = await loadSodium();
  const pair = sodium.crypto_sign_keypair();
  await writeFile(path, `${hexOf(pair.privateKey)}\n`, { flag: "wx", mode: 0o600 });
  return { publicHex: hexOf(pair.publicKey), secret: pair.privateKey };
}

export async function readKey(path: string): Promise<Key> {
  const text = (await readFile(path, "utf8")).trim();
  if (!/^[0-9a-f]{128}$/.test(text)) throw new Error(`${path} is no key made by --new-key`);
  return { publicHex: text.slice(64), secret: new Uint8Array(Buffer.from(text, "hex")) };
}

export async function ensureKey(path: string): Promise<Key> {
  return (await Bun.file(path).exists()) ? readKey(path) : makeKey(path);
}

export interface BundleInput {
  readonly version: string;
  readonly board: string;
  /** The root file system's image. */
  readonly root: string;
  /** A folder like slot-a/ of the boot partition. */
  readonly boot: string;
}

/** Writes the bundle, root file system last: small parts are refused first. Throws if a board would refuse it. */
export async function makeBundle(path: string, { version, board, root, boot }: BundleInput, key: Key) {
  const names = (await readdir(boot, { recursive: true })).sort();
  const files: { readonly name: string; readonly path: string }[] = [];
  for (const name of names)
    if (name !== manifestName && (await stat(join(boot, name))).isFile())
      files.push({ name: `boot/${name}`, path: join(boot, name) });
  files.push({ name: "root", path: root });
  const parts: BundlePart[] = await Promise.all(
    files.map(async (file) => ({
      name: file.name,
      bytes: (await stat(file.path)).size,
      sha256: await sha256Of(file.path),
    })),
  );
  const manifest = new TextEncoder().encode(
    `${JSON.stringify({ version, board, parts } satisfies Manifest)}\n`,
  );
  const readBack = readManifest(manifest);
  if (typeof readBack === "string") throw new Error(`no board would take this: ${readBack}`);
  const sodium = await loadSodium();
  const signature = sodium.crypto_sign_detached(signedBytes(manifest), key.secret);
  const output = Bun.file(path).writer();
  output.write(writeHead({ manifestBytes: manifest.length, signature }));
  output.write(manifest);
  for (const file of files) {
    for await (const chunk of Bun.file(file.path).stream()) {
      output.write(chunk);
      await output.flush();
    }
  }
  await output.end();
  return { bytes: headBytes + manifest.length + parts.reduce((sum, part) => sum + part.bytes, 0), parts };
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}

async function loadSodium() {
  const { default: sodium } = await import("libsodium-wrappers");
  await sodium.ready;
  return sodium;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
