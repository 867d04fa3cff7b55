/** Bundles of updates and the authority that signs them, judged by RAUC itself with the settings of the image. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Authority,
  authorityIn,
  makeAuthority,
  renewCertificate,
  revokeCertificate,
} from "../../tools/image/authority.ts";
import { root } from "../../tools/image/meta.ts";
import { makeRaucBundle } from "../../tools/image/rauc-bundle.ts";
import { run } from "../../tools/image/run.ts";
import { run as outcome } from "../helpers/processes.ts";

let folder: string;
let authority: Authority;
const at = (path: string) => join(folder, path);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-bundle-test-"));
  await mkdir(at("slot/overlays"), { recursive: true });
  await writeFile(at("slot/Image"), "a kernel");
  await writeFile(at("slot/overlays/one.dtbo"), "an overlay");
  await writeFile(at("slot/manifest.json"), "of the version before");
  await mkdir(at("root/etc"), { recursive: true });
  await writeFile(at("root/etc/tapdeck-release"), "Tapdeck 0.3.0\n");
  await writeFile(at("root/program"), crypto.getRandomValues(new Uint8Array(60_000)));
  await run(["mksquashfs", at("root"), at("root.img"), "-quiet", "-no-progress"]);
  authority = await makeAuthority(at("authority"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("a bundle has the root file system, the boot files with their manifest, and the hook", async () => {
  await bundle("one", "0.2.0");
  expect(await judge("one", authority.keyring)).toContain("RAUC_MF_VERSION='0.2.0'");
  expect(await judge("one", authority.keyring)).toContain("RAUC_MF_COMPATIBLE='tapdeck-qemu'");
  await run(["unsquashfs", "-q", "-n", "-d", at("inside"), at("one")]);
  expect((await readdir(at("inside"))).toSorted()).toEqual([
    ...["boot", "hook", "manifest.raucm", "root.img", "slot.json"],
  ]);
  expect((await stat(at("inside/hook"))).mode & 0o777).toBe(0o755);
  expect(await readFile(at("inside/root.img"))).toEqual(await readFile(at("root.img")));
  expect((await readdir(at("inside/boot"), { recursive: true })).toSorted()).toEqual([
    ...["Image", "overlays", "overlays/one.dtbo"],
  ]);
  const manifest = JSON.parse(await readFile(at("inside/slot.json"), "utf8"));
  expect(manifest).toMatchObject({ version: "0.2.0", board: "qemu" });
  expect(manifest.parts.map(({ name }: { readonly name: string }) => name)).toEqual([
    ...["root", "boot/Image", "boot/overlays/one.dtbo"],
  ]);
});

test("another authority's bundle is refused", async () => {
  const other = await makeAuthority(at("other"));
  await bundle("foreign", "0.2.0", other);
  expect(await judge("foreign", other.keyring)).toContain("RAUC_MF_VERSION");
  expect(await judge("foreign", authority.keyring)).toContain("signature verification failed");
});

test("a renewed certificate is accepted; a revoked one is not, although it signed before", async () => {
  await bundle("before", "0.2.0");
  const lost = at("authority/lost.pem");
  await run(["cp", authority.certificate, lost]);
  await renewCertificate(at("authority"));
  await bundle("after", "0.3.0");
  expect(await judge("before", authority.keyring)).toContain("RAUC_MF_VERSION='0.2.0'");
  expect(await judge("after", authority.keyring)).toContain("RAUC_MF_VERSION='0.3.0'");
  await revokeCertificate(at("authority"), lost);
  expect(await judge("before", authority.keyring)).toContain("certificate revoked");
  // With a revocation list of today, signatures that are older than the list are also accepted.
  expect(await judge("after", authority.keyring)).toContain("RAUC_MF_VERSION='0.3.0'");
});

test("the certificate that signs now is not revoked, and a revoked one signs nothing", async () => {
  const keys = at("keys");
  const { certificate } = await makeAuthority(keys);
  const make = ["make", "--no-print-directory", "-C", root, "update-authority", `FOLDER=${keys}`];
  const { error } = await outcome([...make, `REVOKE=${certificate}`]);
  expect(error).toContain(
    `${certificate} signs now, so renew first: make update-authority FOLDER=${keys} RENEW=1`,
  );
  await run(["cp", "-r", keys, at("copy")]);
  await renewCertificate(keys);
  await revokeCertificate(keys, at("copy/sign.pem"));
  expect((await bundleBy(keys)).code).toBe(0);
  await run(["cp", join(keys, "keyring.pem"), at("copy")]);
  expect(await bundleBy(at("copy"))).toMatchObject({
    code: 1,
    error: `${at("copy/sign.pem")}: certificate revoked; renew it: make update-authority FOLDER=${at("copy")} RENEW=1`,
  });
  // The computer that signs may have no other files.
  await rm(at("copy/keyring.pem"));
  expect((await bundleBy(at("copy"))).code).toBe(0);
});

test("a revocation that was cut off before its list was written could not be repeated", async () => {
  const keys = at("cut");
  const { certificate, keyring } = await makeAuthority(keys);
  await bundle("signed", "0.2.0", authorityIn(keys));
  const lost = at("cut/lost.pem");
  await run(["cp", certificate, lost]);
  await renewCertificate(keys);
  await run(["openssl", "ca", "-config", "ca.cnf", "-revoke", lost], { cwd: keys });
  expect(await judge("signed", keyring)).toContain("RAUC_MF_VERSION");
  await revokeCertificate(keys, lost);
  expect(await judge("signed", keyring)).toContain("certificate revoked");
});

test("an authority without openssl left an empty key, and could not be made after openssl was installed", async () => {
  const keys = at("begun");
  const without = Bun.spawn([process.execPath, join(root, "tools/update-authority.ts"), keys], {
    env: { PATH: "/none" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  expect(await new Response(without.stderr).text()).toContain("openssl");
  expect(await without.exited).toBe(1);
  await makeAuthority(keys);
  expect((await bundleBy(keys)).code).toBe(0);
});

test("an authority that was cut off before its keyring is completed by a renewal", async () => {
  const keys = at("incomplete");
  await makeAuthority(keys);
  for (const name of ["sign.pem", "sign.key", "keyring.pem"]) await rm(join(keys, name));
  await renewCertificate(keys);
  await bundle("completed", "0.2.0", authorityIn(keys));
  expect(await judge("completed", join(keys, "keyring.pem"))).toContain("RAUC_MF_VERSION");
});

/** Runs commands in a folder with a small disk of its own. */
const onSmallDisk = (place: string, commands: string) =>
  outcome([
    ...["env", `tool=${process.execPath} ${join(root, "tools/update-authority.ts")}`],
    ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
    ...[`mount -t tmpfs -o size=400k tmpfs "$0" && cd "$0"\n${commands}`, place],
  ]);
const canMount = Bun.which("unshare") !== null && (await onSmallDisk(tmpdir(), "exit")).code === 0;

test.skipIf(!canMount)(
  "a full disk left an empty certificate that signed from now on, and trusted revoked keys again",
  async () => {
    await mkdir(at("disk"));
    const { out } = await onSmallDisk(
      at("disk"),
      `$tool keys >/dev/null && cp keys/sign.pem first.pem
      $tool keys --renew >/dev/null && $tool keys --revoke first.pem >/dev/null && cp keys/sign.pem second.pem
      for left in 0 4 8 12 16; do
        for what in --renew "--revoke second.pem"; do
          dd if=/dev/zero of=filling bs=1k count=$(($(df --output=avail . | tail -n 1) - left)) 2>/dev/null
          $tool keys $what >/dev/null 2>&1 || true
          rm filling
          key=$(openssl pkey -pubout -in keys/sign.key)
          [ "$(openssl x509 -noout -pubkey -in keys/sign.pem)" = "$key" ] || echo "$left $what: another key"
        done
      done
      $tool keys --renew >/dev/null && $tool keys --revoke second.pem >/dev/null
      for one in first.pem second.pem; do
        openssl verify -crl_check -CAfile keys/keyring.pem $one 2>&1 | grep "certificate revoked"
      done
      openssl verify -crl_check -CAfile keys/keyring.pem keys/sign.pem`,
    );
    const revoked = expect.stringContaining("certificate revoked");
    expect(out.split("\n")).toEqual([revoked, revoked, "keys/sign.pem: OK"]);
  },
  60_000,
);

test("a bundle that cannot be made leaves the earlier one, and says what is missing", async () => {
  await bundle("kept", "0.2.0");
  const before = await readFile(at("kept"));
  const signer = { ...authority, key: at("away.key") };
  await expect(bundle("kept", "0.3.0", signer)).rejects.toThrow("rauc");
  expect(await readFile(at("kept"))).toEqual(before);
  expect((await readdir(folder)).filter((name) => name.startsWith("kept"))).toEqual(["kept"]);
  await mkdir(at("empty"));
  const keys = at("authority");
  const kernel = `there is no kernel ${at("empty/Image")}: SLOT=FOLDER names slot-a of the boot partition`;
  for (const [words, error] of [
    [["--boot", at("empty")], kernel],
    [
      ["--root", at("away")],
      `there is no root file system ${at("away")}: ROOT=FILE names the squashfs of the image`,
    ],
    [["--board", "pi9"], "there is no board pi9; the boards are zero2w, pi3, pi4, qemu"],
    [
      ["--authority", at("away")],
      `there is no ${at("away/sign.pem")}: make update-authority FOLDER=${at("away")} makes it`,
    ],
  ] as const)
    expect(await bundleBy(keys, ...words)).toEqual({ code: 1, out: "", error });
});

test("an authority that is not there is named with the words to type", async () => {
  const tool = (...words: readonly string[]) =>
    outcome([process.execPath, join(root, "tools/update-authority.ts"), ...words]);
  const none = `${at("none")} has no authority: make update-authority FOLDER=${at("none")} makes one`;
  expect(await tool("")).toEqual({
    code: 64,
    out: "",
    error: "say where the keys are: make update-authority FOLDER=keys",
  });
  expect(await tool(at("none"), "--revoke", at("x.pem"))).toEqual({ code: 1, out: "", error: none });
  expect(await tool(at("none"), "--renew")).toEqual({ code: 1, out: "", error: none });
  const away = await tool(at("authority"), "--revoke", at("away.pem"));
  expect(away).toEqual({ code: 1, out: "", error: `there is no certificate ${at("away.pem")}` });
});

test("a bundle had the version of the checkout, whatever was in its image", async () => {
  expect((await bundleBy(at("authority"))).out).toContain("version 0.3.0 for qemu");
  expect(await bundleBy(at("authority"), "--root", at("slot/Image"))).toEqual({
    code: 1,
    out: "",
    error: `${at("slot/Image")} is no root file system of Tapdeck: it has no version in etc/tapdeck-release`,
  });
});

test("secret keys are for their owner only, and an authority is never overwritten", async () => {
  for (const name of ["ca.key", "sign.key"])
    expect((await stat(at(`authority/${name}`))).mode & 0o777).toBe(0o600);
  expect((await stat(at("authority"))).mode & 0o777).toBe(0o700);
  const before = await readFile(at("authority/ca.key"), "utf8");
  await expect(makeAuthority(at("authority"))).rejects.toThrow("has an authority already");
  expect(await readFile(at("authority/ca.key"), "utf8")).toBe(before);
});

/** Runs the program of `make update-bundle`. If an option occurs twice, the later one is used. */
function bundleBy(keys: string, ...words: readonly string[]) {
  const input = ["--root", at("root.img"), "--boot", at("slot"), "--board", "qemu", "--out", at("made")];
  return outcome([
    process.execPath,
    join(root, "tools/update-bundle.ts"),
    ...["--authority", keys, ...input, ...words],
  ]);
}

function bundle(name: string, version: string, signer: Authority = authorityIn(at("authority"))) {
  const input = { version, board: "qemu", root: at("root.img"), boot: at("slot") };
  return makeRaucBundle(at(name), input, signer);
}

/** The output of `rauc info` with the image's settings and this keyring. */
async function judge(name: string, keyring: string): Promise<string> {
  const settings = await readFile(join(root, "overlay/etc/rauc/system.conf"), "utf8");
  const path = at("system.conf");
  const adapted = settings
    .replace("@BOARD@", "qemu")
    .replace("/etc/rauc/keyring.pem", keyring)
    .replace("/run/rauc.status", at("status"));
  await writeFile(path, adapted);
  const child = Bun.spawn(["rauc", "--conf", path, "info", "--output-format=shell", at(name)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return said + complained;
}
