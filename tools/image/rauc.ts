/**
 * RAUC for the stand-in image, compiled from the source of Debian's package. The program in Debian's package needs D-Bus for an
 * installation; Buildroot also compiles RAUC without it.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unpackSource } from "./debs.ts";
import { root } from "./meta.ts";
import { libraryFolder } from "./programs.ts";
import { run } from "./run.ts";

const folder = join(root, "build/image/rauc");
const program = join(folder, "rauc");
/** RAUC is compiled without a D-Bus service, downloads of its own, and partition tables. */
const without = ["service", "network", "streaming", "json", "gpt"].map((name) => `--disable-${name}`);

/**
 * Compiles RAUC with the headers and libraries of the unpacked packages. Returns the path of the program, which is kept until
 * `make clean`.
 */
export async function compileRauc(tree: string): Promise<string> {
  const made = join(folder, ".made");
  const wanted = `${tree} ${without.join(" ")}\n`;
  if ((await readFile(made, "utf8").catch(() => "")) === wanted) return program;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const source = await unpackSource("rauc", folder);
  await run(
    [
      ...["./configure", "--quiet", "--host=aarch64-linux-gnu", ...without],
      ...[`CC=aarch64-linux-gnu-gcc --sysroot=${tree}`, "CFLAGS=-O2", "LDFLAGS=-s"],
    ],
    {
      cwd: source,
      environment: {
        PKG_CONFIG_LIBDIR: [`${tree}/${libraryFolder}/pkgconfig`, `${tree}/usr/share/pkgconfig`].join(":"),
        PKG_CONFIG_SYSROOT_DIR: tree,
      },
    },
  );
  await run(["make", "--silent", "-j2", "rauc"], { cwd: source });
  await rename(join(source, "rauc"), program);
  await rm(source, { recursive: true });
  await writeFile(made, wanted);
  return program;
}
