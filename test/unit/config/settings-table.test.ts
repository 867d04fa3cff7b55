import { expect, test } from "bun:test";
import { tableOf } from "../../../src/config/checks.ts";
import { configOf, parseToml } from "../../../src/config/read-config.ts";
import { settingsTable, template } from "../../../src/config/settings-table.ts";
import { defaultConfig } from "../../helpers/defaults.ts";

const defaults = { ...defaultConfig, systems: { ...defaultConfig.systems, rootFolders: ["/data/media"] } };
const uncommented = template().replace(/^#(?=\S)/gm, "");

test("the template states exactly the defaults", () => {
  expect(configOf(template(), "config.toml", "/data")).toEqual(defaults);
});

test("the template with every default line uncommented states exactly the defaults", () => {
  expect(configOf(uncommented, "config.toml", "/data")).toEqual(defaults);
});

test("the template has a default line for every key that there is", () => {
  const keys = (tables: unknown) =>
    Object.entries(tableOf(tables, "")).map(([name, one]) => [
      name,
      Object.keys(tableOf(one, "")).toSorted(),
    ]);
  expect(keys(parseToml(uncommented))).toEqual(keys(settingsTable));
});

test("the template's examples of launchers are right", () => {
  const example = template().slice(template().indexOf("# [[launchers]]")).replace(/^# /gm, "");
  expect(configOf(example, "config.toml", "/data").launchers).toEqual([
    {
      id: "snes9x",
      systems: ["SNES"],
      extensions: [".sfc", ".smc"],
      command: ["snes9x", "-fullscreen", "{path}"],
      folder: "/srv/games",
      environment: { SDL_VIDEODRIVER: "kmsdrm" },
      stop: { graceMs: 5000, signal: "INT" },
    },
    {
      id: "nes",
      systems: ["NES"],
      extensions: [],
      command: ["retroarch", "--fullscreen", "{path}"],
      kind: "retroarch",
      core: "nestopia",
    },
  ]);
});

test("every default line has a sentence above it", () => {
  const lines = template().split("\n");
  const bare = lines.filter((line, at) => /^#\S/.test(line) && !/^# .*\.$/.test(lines[at - 1] ?? ""));
  expect(bare).toEqual([]);
});
