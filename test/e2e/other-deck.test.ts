/** `tapdeck join` and `--host`: a computer of the network administers a deck that it has joined. */
import { afterAll, expect, test } from "bun:test";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deviceForAll, port } from "../helpers/device.ts";
import { canMakeNetworks } from "../helpers/namespaces.ts";
import { noReaders, program, sleeper } from "../helpers/tapdeck.ts";

const remoteTest = test.skipIf(!canMakeNetworks);
const device = deviceForAll(noReaders + sleeper(".sfc"));
const laptop = await mkdtemp(join(tmpdir(), "tapdeck-laptop-"));
afterAll(() => rm(laptop, { recursive: true }));

/** Runs a command on the neighbour, which has no service. */
async function onLaptop(...words: readonly string[]) {
  const child = Bun.spawn([...device.network.onNeighbour([program, ...words, `--data=${laptop}`])], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return (await child.exited) === 0 ? out.trimEnd() : `${child.exitCode} ${err.trimEnd()}`;
}

remoteTest(
  "a computer joins a deck by its link, administers it, and is refused after its revocation",
  async () => {
    const host = `${device.network.deviceAddress}:${port}`;
    expect(await onLaptop("--host", host, "status")).toStartWith(
      `64 tapdeck: this computer has not joined ${host}: tapdeck join ${host} CODE`,
    );
    expect(await onLaptop("join", host)).toStartWith("64 tapdeck: name the six digits");
    expect(await onLaptop("join", host, "000000")).toMatch(/^1 tapdeck: .*pairing/);
    const { out } = await device.run(
      "pair",
      "Laptop",
      "--role",
      "owner",
      "--host",
      device.network.deviceAddress,
    );
    const link = /http:\S+#pair=\S+/.exec(out)?.[0] ?? "";
    expect(await onLaptop("join", link)).toBe(
      `joined ${host}, with the right own: tapdeck --host ${host} status`,
    );
    const [name = ""] = await readdir(join(laptop, "decks"));
    expect((await stat(join(laptop, "decks", name))).mode & 0o777).toBe(0o600);
    expect(await onLaptop("--host", host, "status")).toMatch(/^service +\d/);
    expect(await onLaptop("settings", "set", "debugLogging", "true", "--host", host)).toContain(
      "debugLogging",
    );
    expect(await onLaptop("--host", host, "backup", "x.zip")).toStartWith(
      "64 tapdeck: tapdeck backup works on this machine only",
    );
    await device.run("pair", "--revoke", "Laptop");
    expect(await onLaptop("--host", host, "status")).toStartWith(
      `69 tapdeck: ${host} does not know this computer any more: join it again`,
    );
    expect(await onLaptop("join", "no host", "123456")).toStartWith("64 tapdeck: no host is no host");
    expect(await onLaptop("join", "127.0.0.1:9", "123456")).toStartWith(
      "69 tapdeck: 127.0.0.1:9 does not answer",
    );
  },
  60_000,
);
