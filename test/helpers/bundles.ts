/** Small bundles for tests, signed with a key of the test's own. */
import { createHash } from "node:crypto";
import sodium from "libsodium-wrappers";
import type { BundleSource } from "../../src/update/disk.ts";
import { signedBytes, writeHead } from "../../src/update/update-bundle.ts";

export interface TestKeys {
  readonly publicKey: Uint8Array;
  readonly privateKey: Uint8Array;
}

export async function makeKeys(): Promise<TestKeys> {
  await sodium.ready;
  return sodium.crypto_sign_keypair();
}

export interface Contents {
  readonly boot: readonly (readonly [name: string, bytes: Uint8Array])[];
  readonly root: Uint8Array;
}

/** The content of a version: every file names it, so that no two versions share a file. */
export function contentsOf(version: string, rootBytes: number): Contents {
  const text = (name: string) => new TextEncoder().encode(`${name} of version ${version} to its end`);
  const root = new Uint8Array(rootBytes);
  for (let at = 0; at < rootBytes; at++) root[at] = version.charCodeAt(at % version.length) + at;
  const names = ["Image", "cmdline-a.txt", "cmdline-b.txt", "initrd", "overlays/one.dtbo"];
  return { boot: names.map((name) => [name, text(name)] as const), root };
}

export interface Bundle {
  readonly bytes: Uint8Array;
  readonly manifestText: string;
}

export function bundleOf(version: string, keys: TestKeys, rootBytes: number, board = "test"): Bundle {
  const { boot, root } = contentsOf(version, rootBytes);
  const named = [...boot.map(([name, bytes]) => [`boot/${name}`, bytes] as const), ["root", root] as const];
  const parts = named.map(([name, bytes]) => ({
    name,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  }));
  return signBundle(
    { version, board, parts },
    named.map(([, bytes]) => bytes),
    keys,
  );
}

/** Signs any manifest. */
export function signBundle(
  manifest: unknown,
  parts: readonly Uint8Array[],
  { privateKey }: TestKeys,
): Bundle {
  const manifestText = JSON.stringify(manifest);
  const text = new TextEncoder().encode(manifestText);
  const signature = sodium.crypto_sign_detached(signedBytes(text), privateKey);
  const head = writeHead({ manifestBytes: text.length, signature });
  return { bytes: new Uint8Array(Buffer.concat([head, text, ...parts])), manifestText };
}

export function sourceOf(bytes: Uint8Array): BundleSource {
  return {
    bytes: bytes.length,
    read: async (offset, length) => bytes.slice(offset, offset + length),
  };
}
