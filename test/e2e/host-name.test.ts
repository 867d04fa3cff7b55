/** A device whose host name has a domain, as on many PCs. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { printed } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const named = (name: string) => [
  ...["unshare", "--uts", "--map-root-user", "sh", "-c"],
  ...['hostname "$0" && exec "$@"', name],
];
const canName = Bun.which("unshare") !== null && Bun.spawnSync([...named("deck"), "true"]).exitCode === 0;

test.skipIf(!canName)("a device named deck.example.org refused deck.local", async () => {
  await using place = await makePlace(noReaders);
  await using _service = await startTapdeck(place, [...named("deck.example.org"), program]);
  const statusAt = async (name: string) => {
    const headers = { host: `${name}:${place.port}` };
    return (await fetch(`http://127.0.0.1:${place.port}/ping`, { headers })).status;
  };
  const names = ["deck", "deck.local", "deck.example.org", "example.org", "other.local"];
  expect(await Promise.all(names.map(statusAt))).toEqual([200, 200, 200, 403, 403]);
});

test.skipIf(!canName)("pairing links and certificates named deck.example.org.local", async () => {
  const source = join(import.meta.dir, "../../src/system/addresses.ts");
  const ask = `import { ownNames, reachableHosts } from ${JSON.stringify(source)};
    console.log(JSON.stringify({ names: ownNames(), hosts: await reachableHosts([]) }));`;
  const { names, hosts } = JSON.parse(
    await printed([...named("deck.example.org"), process.execPath, "-e", ask]),
  );
  expect(names).toEqual(["deck", "deck.example.org", "deck.local", "localhost"]);
  // Without a network there are no hosts.
  expect([[], ["deck.local"]]).toContainEqual(hosts.filter((host: string) => host.endsWith(".local")));
});
