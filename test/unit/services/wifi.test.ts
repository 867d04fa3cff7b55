/** The Wi-Fi: the reports of root's scripts, and the words that request them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../src/core/log.ts";
import { followWifi, networksIn, type Wifi, wifiStateIn } from "../../../src/services/wifi.ts";
import { freePort } from "../../helpers/free-port.ts";
import { eventually } from "../../helpers/processes.ts";

const hex = (text: string) => Buffer.from(text).toString("hex");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tapdeck-wifi-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the state is what the script reports, and none without a report", () => {
  expect(wifiStateIn("")).toEqual({ state: "none" });
  expect(wifiStateIn("state=joined\n")).toEqual({ state: "joined" });
  expect(wifiStateIn(`state=joining\nnetwork=${hex("Söhne = 1")}\n`)).toEqual({
    state: "joining",
    network: "Söhne = 1",
  });
  const point = { name: "Tapdeck-AB12", password: "abcd2345", address: "10.77.7.1" };
  expect(
    wifiStateIn(
      `state=point\nname=${point.name}\npassword=${point.password}\naddress=${point.address}\nfault=wrong-password\nnetwork=${hex("Home")}\n`,
    ),
  ).toEqual({ state: "point", point, fault: "wrong-password", network: "Home" });
});

test("a report that is cut off or from another version is none", () => {
  for (const text of [
    "state=flying\n",
    "state=point\nname=Tapdeck-AB12\n",
    "state=away\nfault=rain\n",
    "stat",
  ])
    expect(wifiStateIn(text)).toEqual({ state: "none" });
});

const heading = "bssid / frequency / signal level / flags / ssid\n";
const radio = (signal: number, flags: string, name: string, address = "02:00:00:00:01:00") =>
  `${address}\t2412\t${signal}\t${flags}\t${name}\n`;

test("the networks are those of the scan, the strongest radio of each name first", () => {
  const text = [
    heading,
    radio(-80, "[WPA2-PSK-CCMP][ESS]", "Home"),
    radio(-40, "[WPA2-PSK-CCMP][ESS]", "Home", "02:00:00:00:02:00"),
    radio(-35, "[ESS]", "Guests"),
    radio(-60, "[WPA2-PSK+SAE-CCMP][SAE-H2E][ESS]", "Three"),
    radio(-61, "[WPA3-SAE-CCMP][ESS]", "Four"),
    radio(-62, "[WPA2-EAP-CCMP][ESS]", "Office"),
    radio(-63, "[WEP][ESS]", "Old"),
    radio(-64, "[OWE-CCMP][ESS]", "Airport"),
  ].join("");
  expect(networksIn(text).map(({ name, signal, security }) => [name, signal, security])).toEqual([
    ["Guests", -35, "open"],
    ["Home", -40, "password"],
    ["Three", -60, "password"],
    ["Four", -61, "password"],
    ["Office", -62, "other"],
    ["Old", -63, "other"],
    ["Airport", -64, "other"],
  ]);
});

test("a name with quotes, backslashes or other bytes than UTF-8 keeps its bytes", () => {
  const names = [
    [String.raw`Home & \"S\xc3\xb6hne\"`, 'Home & "Söhne"', hex('Home & "Söhne"')],
    [String.raw`back\\slash`, "back\\slash", hex("back\\slash")],
    [String.raw`\\x41`, "\\x41", hex("\\x41")],
    [String.raw`caf\xe9`, "caf\ufffd", "636166e9"],
    [String.raw`tab\tend\n`, "tab\tend\n", hex("tab\tend\n")],
  ] as const;
  for (const [escaped, name, id] of names)
    expect(networksIn(heading + radio(-50, "[ESS]", escaped))).toEqual([
      { id, name, signal: -50, security: "open" },
    ]);
});

test("hidden networks, headings and torn lines are no networks", () => {
  const text = `${heading}${radio(-50, "[ESS]", "")}${radio(-50, "[ESS]", String.raw`\x00\x00\x00`)}02:00:00\nFAIL\n${radio(-50, "[ESS]", "x".repeat(33))}`;
  expect(networksIn(text)).toEqual([]);
});

test("a block of flats has no more networks than fit", () => {
  const text = Array.from({ length: 300 }, (_, at) => radio(-30 - (at % 60), "[ESS]", `flat ${at}`)).join("");
  expect(networksIn(heading + text)).toHaveLength(50);
});

/** A folder of reports, the pipe of the root script, and the words that were written into it. */
async function follow() {
  const reports = await mkdtemp(join(folder, "reports-"));
  const pipePath = join(folder, `pipe-${Math.random()}`);
  await Bun.$`mkfifo ${pipePath}`;
  const pipe = openSync(pipePath, constants.O_RDWR | constants.O_NONBLOCK);
  let changes = 0;
  const link = join(reports, "link");
  const wifi: Wifi = followWifi({
    folder: reports,
    pipe,
    log: silentLog,
    onChanged() {
      changes++;
    },
    pagePort: freePort(),
    link,
  });
  const report = async (name: string, text: string) => {
    await writeFile(join(reports, `.${name}`), text);
    await rename(join(reports, `.${name}`), join(reports, name));
  };
  const asked = () => {
    const bytes = Buffer.alloc(4096);
    return bytes.toString("utf8", 0, readSync(pipe, bytes));
  };
  return {
    wifi,
    link,
    report,
    asked,
    changes: () => changes,
    [Symbol.dispose]() {
      wifi.close();
      closeSync(pipe);
    },
  };
}

test("a new report is seen, with the networks that are known", async () => {
  using followed = await follow();
  const { wifi, report } = followed;
  expect(wifi.report()).toEqual({ state: "none", networks: [], known: [] });
  await report("wifi-known", `${hex("Home")}\n${hex("Café")}\n`);
  await report("wifi", `state=away\nfault=not-found\n`);
  const known = [
    { id: hex("Home"), name: "Home" },
    { id: hex("Café"), name: "Café" },
  ];
  await eventually(() =>
    expect(wifi.report()).toEqual({ state: "away", fault: "not-found", networks: [], known }),
  );
  expect(wifi.state()).toEqual({ state: "away", fault: "not-found" });
  expect(followed.changes()).toBeGreaterThan(0);
});

test("a network that went away, or came by itself, was still reported as the script had left it", async () => {
  using followed = await follow();
  const { wifi, report, link } = followed;
  const network = hex("Home");
  await mkdir(link);
  await writeFile(join(link, "operstate"), "up\n");
  await report("wifi", `state=joined\nnetwork=${network}\n`);
  await eventually(() => expect(wifi.state()).toEqual({ state: "joined", network: "Home" }));
  await writeFile(join(link, "operstate"), "dormant\n");
  expect(wifi.state()).toEqual({ state: "away", network: "Home" });
  await report("wifi", `state=away\nnetwork=${network}\nfault=not-found\n`);
  await eventually(() =>
    expect(wifi.state()).toEqual({ state: "away", network: "Home", fault: "not-found" }),
  );
  await writeFile(join(link, "operstate"), "up\n");
  expect(wifi.state()).toEqual({ state: "joined", network: "Home" });
  // The fault belongs to another network, which was tried meanwhile.
  await report("wifi", `state=joined\nnetwork=${network}\nfault=wrong-password\n`);
  await eventually(() =>
    expect(wifi.state()).toEqual({ state: "joined", network: "Home", fault: "wrong-password" }),
  );
});

test("an access point that opens was a joined network for a moment, because its own link was up", async () => {
  using followed = await follow();
  const { wifi, report, link } = followed;
  await mkdir(link, { recursive: true });
  await writeFile(join(link, "operstate"), "up\n");
  await report("wifi", "state=away\n");
  await eventually(() => expect(wifi.state()).toEqual({ state: "joined" }));
  await report("wifi", "state=away\nopening=yes\n");
  await eventually(() => expect(wifi.state()).toEqual({ state: "away" }));
  expect(wifi.report()).toEqual({ state: "away", networks: [], known: [] });
});

test("the script is asked by words of small letters and hex digits alone", async () => {
  using followed = await follow();
  const { wifi, report, asked } = followed;
  await report("wifi-known", `${hex("Home")}\n`);
  await eventually(() => expect(wifi.report().known).toHaveLength(1));
  await wifi.join({ id: hex("a; reboot"), password: "$(rm -rf /) ok" });
  expect(asked()).toBe(`wifi join ${hex("a; reboot")} ${hex("$(rm -rf /) ok")}\n`);
  await wifi.join({ id: hex("Open"), password: "" });
  expect(asked()).toBe(`wifi join ${hex("Open")} -\n`);
  await wifi.prefer({ id: hex("Home") });
  await wifi.forget({ id: hex("Home") });
  await wifi.scan();
  await wifi.open();
  expect(asked()).toBe(`wifi prefer ${hex("Home")}\nwifi forget ${hex("Home")}\nwifi scan\nwifi open\n`);
});

test("a network that was never set up here cannot be forgotten or preferred", async () => {
  using followed = await follow();
  const gone = { code: "not-found", message: "no such network was set up here: `wifi` has the known ones" };
  await expect(followed.wifi.forget({ id: hex("Home") })).rejects.toMatchObject(gone);
  await expect(followed.wifi.prefer({ id: hex("Home") })).rejects.toMatchObject(gone);
});

test("a machine that is not the image says where its Wi-Fi is set up", async () => {
  const wifi = followWifi({ folder: "", pipe: 0, log: silentLog, onChanged: () => {} });
  expect(wifi.report()).toEqual({ state: "none", networks: [], known: [] });
  await expect(wifi.scan()).rejects.toThrow(
    "only Tapdeck's own image sets up Wi-Fi: use the settings of this system",
  );
  wifi.close();
});

test("the page of the access point is served as long as it is open", async () => {
  using followed = await follow();
  const { wifi, report } = followed;
  const point = (state: string) =>
    `state=${state}\nname=Tapdeck-AB12\npassword=abcd2345\naddress=127.0.0.1\n`;
  await report("wifi", point("point"));
  await eventually(() => expect(wifi.page()).toBeDefined());
  const origin = `http://127.0.0.1:${wifi.page()?.port}`;
  expect(await (await fetch(origin)).text()).toContain("Set up Wi-Fi");
  await report("wifi", "state=joined\n");
  await eventually(() => expect(wifi.page()).toBeUndefined());
  await expect(fetch(origin)).rejects.toThrow();
});
