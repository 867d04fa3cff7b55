/** Root's scripts of the share, without a board: in a root folder of their own, with stubs of Samba's programs. */
import { expect, test } from "bun:test";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../tools/image/run.ts";
import { makeScriptRoot } from "./script-root.ts";

const rootTest = test.skipIf(process.getuid?.() !== 0);

const stubs: Readonly<Record<string, string>> = {
  "usr/sbin/smbd": "true",
  // A server that ends at once.
  "usr/bin/tapdeck-share": "exit 1",
  "bin/start-stop-daemon": 'echo "$*" >>/run/started',
  "bin/id": "echo 33",
  ...Object.fromEntries(
    ["chown", "logger", "sleep", "usleep", "killall", "mount", "umount"].map((one) => [`bin/${one}`, "true"]),
  ),
};

async function makeShare() {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-share-scripts-"));
  const path = (one: string) => join(folder, one);
  await makeScriptRoot(folder, ["flock"], stubs);
  for (const one of ["proc", "run/faults", "data/tapdeck/media"]) await mkdir(path(one), { recursive: true });
  await writeFile(path("proc/mounts"), "");
  await writeFile(path("data/state/share"), "CFC43211BA8DC470832267827CAC1407\n");
  return {
    path,
    text: (one: string) => readFile(path(one), "utf8").catch(() => undefined),
    call: (script: string, ...words: readonly string[]) =>
      run(["chroot", folder, `/usr/lib/tapdeck/${script}`, ...words], {
        environment: { PATH: "/bin:/usr/bin:/usr/sbin" },
      }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

rootTest(
  "a share that had given up left its process number, and the next stop ended the process that got it",
  async () => {
    await using share = await makeShare();
    await writeFile(share.path("run/share.pid"), "1234567\n");
    await share.call("share-serve");
    expect(await share.text("run/tapdeck-machine/share")).toBe("state=off\nfault=failed\n");
    expect(await share.text("run/share.pid")).toBeUndefined();
  },
);

rootTest(
  "while the server of a device with a password started, the device seemed to have no share",
  async () => {
    await using share = await makeShare();
    await share.call("share", "start");
    expect(await share.text("run/started")).toContain("share-serve");
    expect(await share.text("run/tapdeck-machine/share")).toBe("state=starting\n");
    await rm(share.path("data/state/share"));
    await share.call("share", "start");
    expect(await share.text("run/tapdeck-machine/share")).toBe("state=off\n");
  },
);
