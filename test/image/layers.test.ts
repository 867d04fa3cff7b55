/**
 * The layers of /data on a board with a damaged partition, with the mounts of this kernel. The rules of players apply to
 * the paths of /data (Linux, Documentation/userspace-api/landlock.rst, "OverlayFS mounts"), so no layer may be reached by
 * a second path.
 */
import { expect, test } from "bun:test";
import { chmod, copyFile, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../tools/image/meta.ts";
import { run } from "../../tools/image/run.ts";

const user = "900:900";
const names = ["data", "run", "dev", "proc", "bin", "usr/lib/tapdeck"];

/** Mounts /data on a board of its own from `device`, a word of the shell. Resolves with the paths of the secrets that the service's user finds. */
async function foundAfter(device: string): Promise<readonly string[]> {
  const board = await mkdtemp(join(tmpdir(), "tapdeck-layers-"));
  try {
    await chmod(board, 0o755);
    for (const name of names) await mkdir(join(board, name), { recursive: true });
    const busybox = Bun.which("busybox") ?? "";
    const libraries = (await run(["ldd", busybox]).catch(() => "")).match(/\/\S+(?= \()/g) ?? [];
    for (const path of [busybox, ...libraries]) {
      await mkdir(dirname(join(board, path)), { recursive: true });
      await copyFile(path, join(board, path));
    }
    await run(["chroot", board, busybox, "--install", "-s", "/bin"]);
    const script = "usr/lib/tapdeck/data-in-memory";
    await cp(join(root, "overlay", script), join(board, script));
    await writeFile(join(board, "usr/lib/tapdeck/fault"), "#!/bin/sh\n", { mode: 0o755 });
    const partition = join(board, "old.ext4");
    await mkdir(join(board, "old/tapdeck"), { recursive: true });
    await writeFile(join(board, "old/tapdeck/secret-of-before"), "x");
    await run(["chown", "-R", user, join(board, "old/tapdeck")]);
    await run(["mke2fs", "-q", "-t", "ext4", "-d", join(board, "old"), partition, "8M"]);
    await rm(join(board, "old"), { recursive: true });
    const steps = `set -e
mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"
device=$(losetup --find --show --read-only "$0/old.ext4"); trap 'losetup --detach "$device"' EXIT
chroot "$0" /usr/lib/tapdeck/data-in-memory ${device}
mkdir -p "$0/data/tapdeck"; touch "$0/data/tapdeck/secret"; chown -R ${user} "$0/data/tapdeck"
chroot --userspec=${user} "$0" /bin/find /data /run -name 'secret*' 2>/dev/null || true`;
    const found = await run(["unshare", "--mount", "sh", "-c", steps, board]);
    return found.trim().split("\n").sort();
  } finally {
    await rm(board, { recursive: true, force: true });
  }
}

const rootTest = test.skipIf(process.getuid?.() !== 0);

rootTest("with a readable partition, the service's user finds no file in the layers of /data", async () => {
  expect(await foundAfter('"$device"')).toEqual(["/data/tapdeck/secret", "/data/tapdeck/secret-of-before"]);
});

rootTest("with memory alone, the service's user finds no second path of /data", async () => {
  expect(await foundAfter('""')).toEqual(["/data/tapdeck/secret"]);
});
