/** RAUC's calls through the script of the image, and its complaints as sentences. A script that makes RAUC's calls stands in for it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRauc, type Installation, refusalIn } from "../../../src/update/rauc.ts";
import { root } from "../../../tools/image/meta.ts";
import { run } from "../../../tools/image/run.ts";

const script = join(root, "overlay/usr/lib/tapdeck/rauc-call");
let folder: string;
let asked: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-rauc-"));
  asked = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** RAUC with these lines of a shell; `call` is the script of the image. */
async function raucOf(lines: string) {
  const path = join(folder, "rauc");
  await writeFile(path, `#!/bin/bash\nset -eu\ncall() { bash ${script} "$@"; }\n${lines}\n`);
  await chmod(path, 0o755);
  return createRauc([path], join(folder, "calls"));
}

const installation: Installation = {
  path: "/data/x.raucb",
  facts: { version: "1.3.0", board: "test", rootBytes: 256 },
  running: "a",
  answer: async (words, bundle) => {
    asked.push([...words, bundle].join(" ").trim());
    if (words[1] === "a") throw new Error("slot a runs or is kept");
  },
  wrote: () => {},
};

test("each call reaches its answer, with the folder of the bundle, and RAUC goes on", async () => {
  const rauc = await raucOf(`
    echo "$*" >&2
    [ "$*" = "install --override-boot-slot=a /data/x.raucb" ]
    RAUC_BUNDLE_MOUNT_POINT=/run/rauc/bundle call
    call set-state b bad
    RAUC_BUNDLE_MOUNT_POINT=/run/rauc/bundle call slot-install
    call set-primary b`);
  await rauc.install(installation);
  expect(asked).toEqual([
    "pre-install   /run/rauc/bundle",
    "set-state b bad",
    "slot-install   /run/rauc/bundle",
    "set-primary b",
  ]);
  expect(await readdir(folder)).toEqual(["rauc"]);
});

test("a refused call ends the installation with its sentence", async () => {
  const rauc = await raucOf("call set-state a bad; call set-primary b");
  await expect(rauc.install(installation)).rejects.toThrow("slot a runs or is kept");
  expect(asked).toEqual(["set-state a bad"]);
});

test("a bundle that was replaced after its check is refused", async () => {
  const check = (version: string) => `RAUC_SYSTEM_COMPATIBLE=tapdeck-test RAUC_MF_COMPATIBLE=tapdeck-test \\
    RAUC_MF_VERSION=${version} call install-check`;
  await (await raucOf(check("1.3.0"))).install(installation);
  await expect((await raucOf(check("1.2.0"))).install(installation)).rejects.toThrow(
    "the file was replaced while it was installed",
  );
});

test("RAUC changes nothing without the command that started it", async () => {
  const child = Bun.spawn(["bash", script, "set-state", "b", "bad"], { stderr: "pipe" });
  expect(await new Response(child.stderr).text()).toBe(
    "tapdeck: RAUC changes nothing by itself: use tapdeck update\n",
  );
  expect(await child.exited).toBe(10);
});

test("a call whose update was killed is refused within seconds, and no other update begins before", async () => {
  await mkdir(join(folder, "calls"));
  const [calls, answers] = [join(folder, "calls/calls"), join(folder, "calls/answers")];
  await run(["mkfifo", calls, answers]);
  const child = Bun.spawn(["bash", script, "set-primary", "b"], {
    stderr: "pipe",
    env: {
      ...process.env,
      TAPDECK_UPDATE_CALLS: calls,
      TAPDECK_UPDATE_ANSWERS: answers,
      TAPDECK_UPDATE_PROCESS: "4194305",
    },
  });
  await writeFile(join(folder, "calls/pid"), `${child.pid}\n`);
  const rauc = await raucOf("call set-primary b");
  await expect(rauc.install(installation)).rejects.toThrow(
    `another update is being installed (process ${child.pid})`,
  );
  expect(await new Response(child.stderr).text()).toEndWith("tapdeck: the update was ended\n");
  expect(await child.exited).toBe(10);
  await rauc.install(installation);
  expect(asked).toEqual(["set-primary b"]);
});

test("the last call of a trial keeps the running slot, and fails with RAUC", async () => {
  const rauc = await raucOf(
    `[ "$*" = "status --override-boot-slot=b mark-good booted" ]; call set-state b good`,
  );
  await rauc.markGood("b", installation.answer);
  expect(asked).toEqual(["set-state b good"]);
  const broken = await raucOf("echo 'Failed to load system config' >&2; exit 1");
  await expect(broken.markGood("b", installation.answer)).rejects.toThrow("Failed to load system config");
});

test("the facts of a bundle come from RAUC, and others are refused", async () => {
  const facts = (compatible: string) => `echo "RAUC_MF_COMPATIBLE='${compatible}'"
    echo "RAUC_MF_VERSION='1.3.0'"; echo "RAUC_IMAGE_SIZE_0=256"`;
  expect(await (await raucOf(facts("tapdeck-pi4"))).read("x")).toEqual({
    version: "1.3.0",
    board: "pi4",
    rootBytes: 256,
  });
  await expect((await raucOf(facts("other-pi4"))).read("x")).rejects.toThrow("not an update of Tapdeck");
});

test.each([
  ["signature verification failed: Verify error: certificate revoked", "by a key that was revoked"],
  [
    "signature verification failed: Verify error: unable to get local issuer certificate",
    "the file was altered, or signed by a key that this system does not trust",
  ],
  ["Invalid bundle format: Signature data is no valid CMS", "the file was altered"],
  ["Invalid bundle format: Signature size (2386926078924696834) exceeds bundle size", "or it is cut short"],
  ["Bundle format 'plain' not allowed", "it is no bundle of the format verity"],
  [
    "Installation error: Bundle rejected: Hook returned: tapdeck: the file was replaced",
    "the file was replaced",
  ],
  [
    "Failed mounting bundle: no loop device\nfinished\nInstalling `x` failed",
    "RAUC did not install the file: Failed mounting bundle: no loop device",
  ],
  ["", "RAUC did not install the file: no reason"],
])("RAUC's complaint %p is a sentence", (complaint, sentence) => {
  expect(refusalIn(complaint).message).toContain(sentence);
});
