/** The places that settings, launchers and variables name, by the reach of players. */
import { expect, test } from "bun:test";
import { createNamedPlaces, namedPlaces } from "../../../src/config/named-places.ts";
import type { Setting } from "../../../src/config/setting.ts";
import { settingsTable } from "../../../src/config/settings-table.ts";
import { configOfTable } from "../../../src/config/shape.ts";

const namedBy = (table: object, environment: Readonly<Record<string, string>> = {}) =>
  namedPlaces(configOfTable(table, ["/data/media"]), environment, "/data");
const nothing = { hidden: [], kept: [], open: ["/data/media"] };

test("each setting that names a place has a reach, and the places of its value get it", () => {
  expect(namedBy({})).toEqual(nothing);
  expect(namedBy({ mqtt: { key: "key.pem", ca: "/ca.pem", url: "/no/path", user: "/none" } })).toEqual({
    ...nothing,
    hidden: ["/ca.pem", "/data/key.pem"].toReversed(),
  });
  const connect = ["file:/run/card?a=/b", "pn532-uart:/dev/ttyUSB0", "acr122u-usb:1-1.4", "simulated:"];
  expect(namedBy({ readers: { connect } })).toEqual({ ...nothing, kept: ["/run/card", "/dev/ttyUSB0"] });
  const systems = {
    root_folders: ["/games"],
    folders: { SNES: ["/snes", "/more"] },
    removable_folders: ["/usb"],
  };
  expect(namedBy({ systems, retroarch: { saves: "/saves" } })).toEqual({
    ...nothing,
    open: ["/games", "/snes", "/more", "/usb", "/saves"],
  });
});

test("a setting whose name or sentence is that of a file or a folder states the reach of players", () => {
  const all = Object.entries(settingsTable).flatMap(([section, settings]) =>
    Object.entries<Setting<unknown, string>>(settings).map(([key, one]) => ({
      key: `${section}.${key}`,
      ...one,
    })),
  );
  const isPlace = (key: string, docs: string) =>
    /_file$|folders?$/.test(key) || /\bfull path\b|^The folders? /.test(docs);
  const named = all.filter(({ key, docs }) => isPlace(key, docs.join(" ")));
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter(({ players }) => players === undefined).map(({ key }) => key)).toEqual([]);
});

test("a variable of the service is hidden unless it is for players", () => {
  const environment = {
    TAPDECK_MACHINE: "/run/machine",
    TAPDECK_LATER: "/a:/b",
    TAPDECK_SITE: "hall",
    HOME: "/home",
    TAPDECK_SCREEN: "/dev/tty1",
    TAPDECK_REMOVABLE: "/media/usb",
    TAPDECK_SAVES: "/saves",
  };
  expect(namedBy({}, environment)).toEqual({
    hidden: ["/run/machine", "/a", "/b"],
    kept: [],
    open: ["/data/media", "/dev/tty1", "/media/usb", "/saves"],
  });
});

test("the program of a launcher is kept, and all files of a command that is not confined", () => {
  const launcher = (id: string, more: object) => ({
    id,
    command: ["/opt/sh", "/srv/play.sh", "{path}"],
    ...more,
  });
  expect(namedBy({ launchers: [launcher("held", { cwd: "/srv" })] })).toEqual({
    ...nothing,
    kept: ["/opt/sh"],
    open: ["/data/media", "/srv"],
  });
  expect(namedBy({ launchers: [launcher("free", { confined: false })] })).toEqual({
    ...nothing,
    kept: ["/opt/sh", "/srv/play.sh"],
  });
  const core = [{ id: "own", kind: "retroarch", core: "/srv/core.so" }];
  expect(namedBy({ launchers: core })).toEqual({ ...nothing, kept: ["/srv/core.so"] });
});

test("the places are found again after a change of the settings, and only then", () => {
  let config = configOfTable({}, ["/data/media"]);
  const places = createNamedPlaces(() => config, {}, "/data");
  const first = places();
  expect(places()).toBe(first);
  config = configOfTable({ mqtt: { key: "key.pem" } }, ["/data/media"]);
  expect(places()).toEqual({ ...nothing, hidden: ["/data/key.pem"] });
});
