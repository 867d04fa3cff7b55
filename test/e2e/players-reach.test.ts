/** All that a player reaches in the folders of the service, with the environment of the image, as a transcript. */
import { expect, test } from "bun:test";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../helpers/processes.ts";
import { makeServedPlace, reported, shellLauncher } from "../helpers/served-place.ts";
import { walked, walker } from "../helpers/walk.ts";

const transcript = join(import.meta.dir, "../transcripts/players/served.txt");

test("a player reaches what the transcript lists, and no more", async () => {
  await using served = await makeServedPlace();
  const { at, put, place } = served;
  const words = ["staff_key", "metrics_key", "ca_file", "certificate_file", "key_file", "token_file"];
  const variables: Record<string, string> = {};
  for (const word of words) {
    const name = `TAPDECK_${word.replace(/_key$/, "_key_file").toUpperCase()}`;
    variables[name] = await put(`run/tapdeck-fleet/${word}`, `${"5a".repeat(32)}\n`);
  }
  for (const path of [
    ...["data/tapdeck/.config/game/saves/1", "data/tapdeck/saves/1", "data/tapdeck/states/1"],
    ...["data/tapdeck/bios/bios.bin", "data/tapdeck/screenshots/1.png", "data/tapdeck/update.bundle"],
    ...[
      "data/tapdeck/tls/device-key.pem",
      "data/tapdeck/mappings/mine.toml",
      "data/tapdeck/folder-of-a-later-version/1",
    ],
    ...["data/config/retroarch/retroarch.cfg", "data/config/tapdeck/mappings/mine.toml", "data/beside/1"],
    ...["run/tapdeck/tmp/addon.node", "run/faults/media", "media/usb/stick/Film.mkv"],
  ])
    await put(path, "x");
  await mkdir(at("run/beside"));
  await place.file("NES/Game.nes");
  const roots = ["data", "run", "media"].map(at);
  await served.config(shellLauncher("walks", walker, ...roots));
  const file = await place.file("walk/Game.walks");
  await using service = await served.start(variables);
  await service.client.call("clients.new", { name: "a phone" });
  // The index of the stick is made a moment after the start.
  await eventually(async () =>
    expect((await readdir(at("data/tapdeck"))).join(" ")).toMatch(/stick-\w+\.db/),
  );
  const lines = walked(await reported(service, file), (path) =>
    path
      .slice(served.folder.length)
      .replace(/tapdeck-saves-\w+$/, "tapdeck-saves-*")
      .replace(/(tapdeck|media)\.db.*$/, "$1.db*")
      .replace(/stick-\w+\.db.*$/, "stick-*.db*")
      .replace(/audit.*\.jsonl$/, "audit.jsonl"),
  );
  const text = `# The files that a player reads and changes in the folders of the service; test/helpers/walk.ts explains the signs.\n${lines.map((line) => `= ${line}\n`).join("")}`;
  expect(text).toBe(await Bun.file(transcript).text());
});
