// Covers: src/config/read-config.ts.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { configOf } from "../../../src/config/read-config.ts";
import { makeDeck } from "../../helpers/launch-harness.ts";

test("new media folders and players are in use at the next launch", async () => {
  await using deck = await makeDeck();
  await deck.file("SNES/a.sfc");
  deck.set(configOf("", "config.toml", join(deck.folder, "elsewhere")));
  expect(await deck.run("SNES/a.sfc")).toContain("there is no file");
  const player = '[[launchers]]\nid = "p"\ncommand = ["true", "{path}"]\n';
  const folders = `systems.root_folders = [${JSON.stringify(deck.folder)}]\n`;
  deck.set(configOf(folders + player, "config.toml", deck.folder));
  expect(await deck.run("SNES/a.sfc")).toBe(true);
  expect(deck.told("launch.finished").at(-1)).toMatchObject({ success: true });
});
