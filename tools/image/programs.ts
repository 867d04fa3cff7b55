/** Programs of Debian's packages in the image's tree: BusyBox with its links, and other programs with their libraries. */
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { readFacts } from "./facts.ts";
import { run } from "./run.ts";

export const libraryFolder = "usr/lib/aarch64-linux-gnu";

/** Joins the four folders of programs, so each program has the paths of both Debian and Buildroot. */
export async function makeFolders(target: string): Promise<void> {
  for (const folder of ["usr/bin", libraryFolder, "etc"])
    await mkdir(join(target, folder), { recursive: true });
  await symlink("bin", join(target, "usr/sbin"));
  for (const name of ["bin", "sbin", "lib"]) await symlink(`usr/${name}`, join(target, name));
}

/** Copies the BusyBox at `path` to `folder`, with a link for each applet. Programs that exist already stay. */
export async function putBusyBox(path: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const program = join(folder, "busybox");
  await cp(path, program);
  const emulator = process.arch === "arm64" ? [] : ["qemu-aarch64-static"];
  const names = (await run([...emulator, program, "--list"])).split("\n");
  const there = new Set(await readdir(folder));
  for (const name of names.filter((one) => one !== "" && !there.has(one)))
    await symlink("busybox", join(folder, name));
}

/** Throws if the folder has a program that an image of Buildroot lacks, because a script could then depend on it. */
export async function checkPrograms(folder: string): Promise<void> {
  const { programs } = readFacts();
  const more = (await readdir(folder)).filter((name) => !programs.has(name));
  if (more.length > 0) throw new Error(`Buildroot's image has no ${more.join(", ")} (buildroot/facts)`);
}

/** Copies files of the packages to /usr/bin, and every library that they need. */
export async function putPrograms(tree: string, target: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await cp(join(tree, path), join(target, "usr/bin", basename(path)));
    await putLibrariesOf(join(tree, path), tree, target);
  }
}

/** Copies every library that an ELF file names, and the libraries that these name. */
export async function putLibrariesOf(file: string, tree: string, target: string): Promise<void> {
  const there = new Set(await readdir(join(target, libraryFolder)));
  const names = neededBy(await readFile(file)).filter((name) => !there.has(name));
  for (const name of names) {
    const found = await findLibrary(tree, name);
    // The name in the package is a link. Programs need the file only under the name by which they open it.
    await cp(found, join(target, libraryFolder, name), { dereference: true });
    if (name.startsWith("ld-linux")) await cp(found, join(target, "usr/lib", name), { dereference: true });
    await putLibrariesOf(found, tree, target);
  }
}

/** The last three are found by a RUNPATH, or by Debian's alternatives. */
const libraryFolders = [
  ...["lib/aarch64-linux-gnu", libraryFolder, "lib"],
  ...["pulseaudio", "blas", "lapack"].map((name) => join(libraryFolder, name)),
];

async function findLibrary(tree: string, name: string): Promise<string> {
  for (const folder of libraryFolders) {
    const path = join(tree, folder, name);
    if (await Bun.file(path).exists()) return path;
  }
  throw new Error(`no package has the library ${name}`);
}

const [dynamicNeeded, dynamicStringTable] = [1n, 5n]; // The tags of the ELF-64 object file format, "Dynamic section".
const [loadSegment, dynamicSegment] = [1, 2]; // The types of segments ("Program header table").

/**
 * The libraries that a 64-bit little-endian ELF file names (DT_NEEDED); none if it is static.
 *
 *   offset 0x20  program headers: their offset; 0x36 size of one, 0x38 how many, 16 bits each
 *   a header     0 type, 8 offset in the file, 16 address, 32 size in the file
 *   the dynamic segment: pairs of a tag and a value, 64 bits each
 */
export function neededBy(bytes: Uint8Array): readonly string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const number = (at: number) => Number(view.getBigUint64(at, true));
  const segments = Array.from({ length: view.getUint16(0x38, true) }, (_, index) => {
    const at = number(0x20) + index * view.getUint16(0x36, true);
    return {
      type: view.getUint32(at, true),
      offset: number(at + 8),
      address: number(at + 16),
      size: number(at + 32),
    };
  });
  const dynamic = segments.find(({ type }) => type === dynamicSegment);
  if (dynamic === undefined) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: view.getBigUint64(at, true), value: number(at + 8) };
  });
  const address = entries.find(({ tag }) => tag === dynamicStringTable)?.value ?? 0;
  const within = segments.find(
    (one) => one.type === loadSegment && one.address <= address && address < one.address + one.size,
  );
  const strings = address - (within?.address ?? 0) + (within?.offset ?? 0);
  return entries
    .filter(({ tag }) => tag === dynamicNeeded)
    .map(({ value }) => {
      const from = strings + value;
      return new TextDecoder().decode(bytes.subarray(from, bytes.indexOf(0, from)));
    });
}
