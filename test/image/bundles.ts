/**
 * Updates for the emulated board, signed with the key that the image of this checkout trusts, and the address from which
 * the board fetches them.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Authority, authorityIn } from "../../tools/image/authority.ts";
import { readMeta } from "../../tools/image/meta.ts";
import { makeRaucBundle } from "../../tools/image/rauc-bundle.ts";
import { run } from "../../tools/image/run.ts";
import { testAuthorityFolder } from "../../tools/image/test-authority.ts";
import { imageFolder } from "./board.ts";

export const version = readMeta().version;

export interface Updates extends AsyncDisposable {
  /** The address for the guest. */
  address(name: string): string;
  /** The path on this machine. */
  file(name: string): string;
  /** The size of the root file system in the bundle. */
  rootBytes(name: string): number;
  /**
   * The image's own system without its players, under another version. It has an additional script at its start, or no
   * service if it must fail.
   */
  make(name: string, version: string, failure?: Failure): Promise<void>;
  /** An update of `rootBytes` that never starts, because its kernel is invalid. */
  makeStartless(name: string, version: string, rootBytes: number, more?: Foreign): Promise<void>;
}

/** A difference of the system from the image's own. */
interface Failure {
  readonly script?: string;
  /** The service ends at once; the commands of the same program work. */
  readonly deadService?: true;
  /**
   * Sentences of the service, each with its replacement. Both have the same length, because they are replaced in the
   * compiled program.
   */
  readonly reworded?: ReadonlyMap<string, string>;
}

/** The possible faults of an update. */
interface Foreign {
  readonly board?: string;
  readonly signer?: Pick<Authority, "certificate" | "key">;
}

/** A signer that the image's keyring has revoked. */
export const lostSigner = {
  certificate: join(testAuthorityFolder, "lost.pem"),
  key: join(testAuthorityFolder, "lost.key"),
};

export async function serveUpdates(): Promise<Updates> {
  const folder = await mkdtemp(join(tmpdir(), "tapdeck-updates-"));
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname))),
  });
  const rootOf = (name: string) => join(folder, `${name}.squashfs`);
  const bundle = async (
    name: string,
    newVersion: string,
    boot: string,
    { board = "qemu", signer = authorityIn(testAuthorityFolder) }: Foreign = {},
  ) =>
    void (await makeRaucBundle(
      join(folder, name),
      { version: newVersion, board, root: rootOf(name), boot },
      signer,
    ));
  return {
    address: (name) => `http://10.0.2.2:${server.port}/${name}`,
    file: (name) => join(folder, name),
    rootBytes: (name) => Bun.file(rootOf(name)).size,
    async make(name, newVersion, failure) {
      await makeSystem(rootOf(name), folder, { version: newVersion, ...failure });
      await bundle(name, newVersion, join(imageFolder, "boot/slot-a"));
    },
    async makeStartless(name, newVersion, rootBytes, more) {
      const boot = join(folder, `${name}-boot`);
      for (const file of ["Image", "initrd"])
        if (existsSync(join(imageFolder, "boot/slot-a", file))) await Bun.write(join(boot, file), file);
      // The bytes are random, because a real file system is also compressed.
      await Bun.write(rootOf(name), randomBytes(rootBytes));
      await bundle(name, newVersion, boot, more);
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface System extends Failure {
  readonly version: string;
}

const program = "usr/bin/tapdeck";
const deadService = `#!/bin/sh
[ $# -gt 0 ] || exit 1
exec /${program}-command "$@"
`;

async function makeSystem(path: string, folder: string, system: System): Promise<void> {
  const left = ["etc/tapdeck-release"];
  const files = [`etc/tapdeck-release f 0644 0 0 echo Tapdeck ${system.version}`];
  if (system.script !== undefined) {
    // An update that hangs needs no service. Without the service the bundle is much smaller.
    left.push(program);
    await Bun.write(join(folder, "script"), system.script);
    files.push(`etc/init.d/S91hang f 0755 0 0 cat ${join(folder, "script")}`);
  }
  if (system.reworded !== undefined) {
    left.push(program);
    const reworded = join(folder, "reworded");
    await Bun.write(reworded, await withOtherWords(join(imageFolder, "root", program), system.reworded));
    files.push(`${program} f 0755 0 0 cat ${reworded}`);
  }
  if (system.deadService) {
    left.push(program);
    await Bun.write(join(folder, "service"), deadService);
    files.push(`${program} f 0755 0 0 cat ${join(folder, "service")}`);
    files.push(`${program}-command f 0755 0 0 cat ${join(imageFolder, "root", program)}`);
  }
  // Players do not matter here, and would be most of the bytes that the emulated board fetches, checks and writes.
  const players = join(imageFolder, "players.list");
  await run([
    ...["mksquashfs", join(imageFolder, "root"), path, "-all-root", "-noappend", "-no-progress"],
    ...["-comp", "zstd", "-Xcompression-level", "1", "-ef", players],
    ...files.flatMap((line) => ["-p", line]),
    // The words after this one are omitted.
    ...["-e", ...left],
  ]);
}

async function withOtherWords(path: string, words: ReadonlyMap<string, string>): Promise<Uint8Array> {
  const bytes = Buffer.from(await Bun.file(path).bytes());
  for (const [old, other] of words) {
    if (Buffer.byteLength(old) !== Buffer.byteLength(other)) throw new Error(`${other} has another length`);
    let at = bytes.indexOf(old);
    if (at < 0) throw new Error(`the program does not say ${old}`);
    for (; at >= 0; at = bytes.indexOf(old, at)) bytes.write(other, at);
  }
  return bytes;
}
