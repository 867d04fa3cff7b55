/**
 * The custom integration of Home Assistant as files; `make test-home-assistant` runs it.
 */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { scriptOf } from "../../src/core/media.ts";
import { printed } from "../helpers/processes.ts";

const folder = join(import.meta.dir, "../../packaging/home-assistant/custom_components/tapdeck");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const translations = readdirSync(join(folder, "translations"));

/** The keys of nested objects, with dots between them. */
function keysOf(value: object, before = ""): readonly string[] {
  return Object.entries(value).flatMap(([key, one]) =>
    typeof one === "object" ? keysOf(one, `${before}${key}.`) : [`${before}${key}`],
  );
}

test("each language of the page has each text, with the same placeholders", () => {
  const wanted: object = JSON.parse(read("strings.json"));
  expect(translations.toSorted()).toEqual(["de", "en", "es", "fr", "ja", "pt"].map((code) => `${code}.json`));
  for (const name of translations) {
    const found: object = JSON.parse(read(`translations/${name}`));
    expect(keysOf(found)).toEqual(keysOf(wanted));
    const placeholders = (text: string) => text.match(/\{\w+\}/g)?.toSorted();
    expect(placeholders(JSON.stringify(found))).toEqual(placeholders(JSON.stringify(wanted)));
  }
  expect(JSON.parse(read("translations/en.json"))).toEqual(wanted);
});

test("each fault and each end of the flow has a text", () => {
  const source = read("config_flow.py");
  const { config } = JSON.parse(read("strings.json"));
  const faults = [...source.matchAll(/(?:CONF_CODE|"base"): "(\w+)"/g)].map(([, name = ""]) => name);
  expect([...new Set(faults)].toSorted()).toEqual(Object.keys(config.error).toSorted());
  expect(faults.length).toBeGreaterThan(3);
  for (const [, step = ""] of source.matchAll(/step_id="(\w+)"/g))
    expect(Object.keys(config.step)).toContain(step);
});

test("the manifest has the version of this program and of its client, and the announced type", () => {
  const manifest = JSON.parse(read("manifest.json"));
  const client = readFileSync(join(import.meta.dir, "../../packaging/python/pyproject.toml"), "utf8");
  expect(manifest.version).toBe(version);
  expect(client).toContain(`version = "${version}"`);
  expect(manifest.requirements).toEqual([`tapdeck-client==${version}`]);
  const announced = readFileSync(
    join(import.meta.dir, "../../overlay/etc/avahi/services/tapdeck.service"),
    "utf8",
  );
  expect(announced).toContain(`<type>${manifest.zeroconf[0].replace(".local.", "")}</type>`);
});

test("a path becomes the same script as on the page", async () => {
  const paths = ["SNES/Game.sfc", "SNES/What?.sfc", "A^B||C|D[[E[F.mp3", "Audio/^^??", ""];
  const program =
    "import json, sys, const; print(json.dumps([const.script_of(path) for path in json.load(sys.stdin)]))";
  const shell = 'cd "$0" && printf %s "$1" | PYTHONDONTWRITEBYTECODE=1 python3 -c "$2"';
  const made = await printed(["sh", "-c", shell, folder, JSON.stringify(paths), program]);
  expect(JSON.parse(made)).toEqual(paths.map(scriptOf));
});
