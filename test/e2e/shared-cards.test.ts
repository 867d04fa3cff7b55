/** Shared cards from the command that makes them to a tap, on the compiled binary and over HTTPS. */
import { expect, test } from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startCardsServer } from "../helpers/cards-server.ts";
import { eventually, printed, run } from "../helpers/processes.ts";
import { makePlace, noReaders, program, startTapdeck } from "../helpers/tapdeck.ts";

const mapping = (uid: string, override: string) =>
  `[[mapping]]\ntype = "uid"\npattern = "${uid}"\noverride = "${override}"\n`;

test("a published folder reaches a device, whose own mappings come first, and stays without the server", async () => {
  await using place = await makePlace();
  using server = await startCardsServer();
  const at = (name: string) => join(place.folder, name);
  await mkdir(at("cards/mappings"), { recursive: true });
  await mkdir(at("mappings"));
  await writeFile(at("ca.pem"), server.certificatePem);
  await writeFile(at("mappings/own.toml"), mapping("04bb", "SNES/Own.sfc"));
  await writeFile(
    at("cards/mappings/club.toml"),
    `${mapping("04aa", "SNES/Club.sfc")}${mapping("04bb", "SNES/Club.sfc")}`,
  );
  await writeFile(
    at("cards/launchers.toml"),
    '[[launchers]]\nid = "club-player"\ncommand = ["/bin/sh", "-c", "exec sleep 600", "{path}"]\n',
  );
  for (const name of ["Club", "Own"]) await place.file(`SNES/${name}.sfc`);
  const key = await printed([program, "cards", "key", at("cards.key")]);
  const publish = async () => {
    await printed([program, "cards", "publish", at("cards"), at("cards.key"), at("all.cards")]);
    server.offer(await Bun.file(at("all.cards")).text());
  };
  await publish();
  await place.config(
    `${noReaders}[cards]\nurl = "${server.url}"\nkey = "${key}"\nca_file = "${at("ca.pem")}"\n`,
  );
  {
    await using service = await startTapdeck(place);
    await eventually(async () => (await service.client.call("mappings.shared"))?.checked !== undefined);
    await plays(service, "04aa", "Club");
    await plays(service, "04bb", "Own");
    const status = await printed([program, "cards", "status", `--data=${place.folder}`]);
    expect(status).toMatch(/^in use +serial \d+: launchers\.toml, mappings\/club\.toml$/m);
    const serialOf = async () =>
      JSON.parse(
        await printed([
          program,
          "cards",
          "publish",
          at("cards"),
          at("cards.key"),
          at("next.cards"),
          "--json",
        ]),
      ).serial;
    // A correction within the second of the bundle that it corrects has a larger number.
    const before = await serialOf();
    expect(await serialOf()).toBeGreaterThan(before);
  }
  // From now on the server sends a bundle that another key has signed, and the device starts with the kept one.
  await printed([program, "cards", "key", at("other.key")]);
  await printed([program, "cards", "publish", at("cards"), at("other.key"), at("all.cards")]);
  server.offer(await Bun.file(at("all.cards")).text());
  await writeFile(at("shared-cards.etag"), "");
  await using service = await startTapdeck(place);
  await plays(service, "04aa", "Club");
  const wrong = await run([
    program,
    "cards",
    "publish",
    at("cards/mappings"),
    at("cards.key"),
    at("all.cards"),
  ]);
  expect([wrong.code, wrong.error]).toEqual([1, 'tapdeck: "club.toml" has no place in it']);
  const misused = await run([program, "cards", "publish", at("cards")]);
  expect([misused.code, misused.error]).toEqual([
    64,
    "tapdeck: use it as: tapdeck cards [status] | key FILE | publish FOLDER KEY FILE (tapdeck --help)",
  ]);
});

async function plays(
  { client, heard }: Awaited<ReturnType<typeof startTapdeck>>,
  uid: string,
  name: string,
): Promise<void> {
  await client.call("tokens.scan", { uid, text: "" });
  const started = await heard.next("media.started");
  expect([started.mediaName, started.launcherId]).toEqual([name, "club-player"]);
}
