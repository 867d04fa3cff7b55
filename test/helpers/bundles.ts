/** Small bundles for tests, as RAUC mounts them, and an installation by calls in RAUC's order. */
import { createHash } from "node:crypto";
import { otherSlot } from "../../src/update/boot-control.ts";
import type { BootFiles } from "../../src/update/disk.ts";
import type { Machine } from "../../src/update/machine.ts";
import { answerRauc, bundleManifest, bundleRoot } from "../../src/update/rauc-calls.ts";
import type { InstallProgress } from "../../src/update/slot-content.ts";
import type { CuttableCard } from "../emulators/card-with-cuts.ts";

export interface Contents {
  readonly boot: readonly (readonly [name: string, bytes: Uint8Array])[];
  readonly root: Uint8Array;
}

/** The content of a version. Every file names the version, so no two versions share a file. */
export function contentsOf(version: string, rootBytes: number): Contents {
  const text = (name: string) => new TextEncoder().encode(`${name} of version ${version} to its end`);
  const root = new Uint8Array(rootBytes);
  for (let at = 0; at < rootBytes; at++) root[at] = version.charCodeAt(at % version.length) + at;
  const names = ["Image", "cmdline-a.txt", "cmdline-b.txt", "initrd", "overlays/one.dtbo"];
  return { boot: names.map((name) => [name, text(name)] as const), root };
}

export interface Bundle {
  readonly files: Pick<BootFiles, "read" | "chunks">;
  readonly root: Uint8Array;
  readonly manifestText: string;
}

export function bundleOf(version: string, rootBytes: number, board = "test"): Bundle {
  const { boot, root } = contentsOf(version, rootBytes);
  const named = [...boot.map(([name, bytes]) => [`boot/${name}`, bytes] as const), ["root", root] as const];
  const parts = named.map(([name, bytes]) => ({
    name,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  }));
  return bundleWith(JSON.stringify({ version, board, parts }), new Map(named));
}

/** A bundle with any manifest, and the bytes of its parts. */
export function bundleWith(manifestText: string, parts: ReadonlyMap<string, Uint8Array>): Bundle {
  const bytesAt = (path: string) => parts.get(path === bundleRoot ? "root" : path);
  return {
    manifestText,
    root: parts.get("root") ?? new Uint8Array(),
    files: {
      read: async (path) =>
        path === bundleManifest ? new TextEncoder().encode(manifestText) : bytesAt(path),
      async *chunks(path) {
        yield bytesAt(path) ?? new Uint8Array();
      },
    },
  };
}

/** The same bundle with a block that the kernel does not read, because its hash is wrong. */
export function damagedBundle(bundle: Bundle): Bundle {
  return {
    ...bundle,
    files: {
      ...bundle.files,
      async *chunks(path) {
        yield* bundle.files.chunks(path);
        if (path === bundleRoot) throw new Error("EIO: i/o error, read");
      },
    },
  };
}

/** Makes the calls of RAUC, and writes the root file system as RAUC does, without a sync. */
export async function installLikeRauc(
  machine: Machine,
  card: CuttableCard,
  { files, root }: Bundle,
  progress: InstallProgress = () => {},
): Promise<void> {
  const slot = otherSlot(machine.control.running);
  const call = (...words: readonly string[]) =>
    answerRauc(machine, { words, bundle: files, progress, checked: async () => {} });
  await call("pre-install");
  await call("set-state", slot, "bad");
  await card.writeRoot(slot, root);
  await call("slot-install");
  await call("set-primary", slot);
}
