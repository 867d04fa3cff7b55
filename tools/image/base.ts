/** The system that Buildroot made. If the archive was built, it replaces Debian's packages (tools/image/base-archive.ts). */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./meta.ts";
import { run } from "./run.ts";

const archive = process.env.BASE_ARCHIVE ?? join(root, "../shared/image/base-qemu.tar.zst");

export interface Base {
  /** The system without the overlay, the service and the watchdog. */
  readonly system: string;
  readonly kernelImage: string;
}

/** Unpacks the archive. Returns nothing if there is none. */
export async function unpackBase(): Promise<Base | undefined> {
  if (!existsSync(archive)) return undefined;
  const folder = join(root, "build/image/base");
  await rm(folder, { recursive: true, force: true });
  await mkdir(`${folder}.partial`, { recursive: true });
  await run(["tar", "--extract", "--zstd", "--file", archive, "--directory", `${folder}.partial`]);
  await rename(`${folder}.partial`, folder);
  return { system: join(folder, "root"), kernelImage: join(folder, "boot/Image") };
}
