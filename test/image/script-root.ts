import { copyFile, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

/**
 * Makes a root folder for `chroot`, in which the image's scripts run on BusyBox.
 * @param programs Programs of this machine that are copied there with their libraries, and replace BusyBox's applets.
 * @param stubs The text of a shell script for each path below the folder, which takes the place of a program.
 */
export async function makeScriptRoot(
  folder: string,
  programs: readonly string[],
  stubs: Readonly<Record<string, string>>,
): Promise<void> {
  const busybox = Bun.which("busybox") ?? "";
  for (const program of [busybox, ...programs.map((name) => Bun.which(name) ?? "")]) {
    const libraries = (await run(["ldd", program]).catch(() => "")).match(/\/\S+(?= \()/g) ?? [];
    for (const one of [program, ...libraries]) {
      await mkdir(dirname(join(folder, one)), { recursive: true });
      await copyFile(one, join(folder, one));
    }
  }
  for (const name of ["bin", "dev", "run", "data/state"])
    await mkdir(join(folder, name), { recursive: true });
  await run(["chroot", folder, busybox, "--install", "-s", "/bin"]);
  for (const name of programs) await rm(join(folder, "bin", name), { force: true });
  await cp(join(root, "overlay/usr/lib/tapdeck"), join(folder, "usr/lib/tapdeck"), { recursive: true });
  for (const [name, text] of Object.entries(stubs)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await rm(join(folder, name), { force: true });
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  await writeFile(join(folder, "dev/null"), "");
}
