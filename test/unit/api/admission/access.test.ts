/** The kind of a caller, by the address and the headers of a request. */
import { expect, test } from "bun:test";
import { hostname } from "node:os";
import {
  isBrowser,
  isDeviceAddress,
  isPrefetch,
  judgeAccess,
  mayListen,
  plainAddress,
  requestSource,
} from "../../../../src/api/admission/access.ts";
import { ownAddresses } from "../../../../src/system/addresses.ts";

const rules = {
  allowedHosts: ["cards.home"],
  allowedOrigins: ["https://cards.example"],
  allowAnonymousLocal: false,
  anonymous: "play" as const,
  allowV1Clients: false,
};
const device = hostname().toLowerCase();

const addresses: readonly (readonly [address: string, isDevice: boolean])[] = [
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.1.2.3", false],
  ["::ffff:10.1.2.3", false],
  ["fe80::1%eth0", false],
  ["128.0.0.1", false],
  ["127.0.0.1.evil.example", false],
  ["", false],
];

for (const [address, isDevice] of addresses) {
  test(`the address "${address}" is ${isDevice ? "" : "not "}this device`, () => {
    expect(isDeviceAddress(address, () => [])).toBe(isDevice);
  });
}

test("every address that this device has is this device", () => {
  const own = ownAddresses().filter((address) => !address.startsWith("fe80:"));
  expect(own.length).toBeGreaterThan(0);
  for (const address of own)
    expect([address, isDeviceAddress(address, ownAddresses)]).toEqual([address, true]);
});

test("the words that others may put into an address make them no part of this device", () => {
  const own = () => ["fe80::5054:ff:fe12:3456", "192.168.1.20"];
  // Another interface's link-local address, and 127.0.0.1 and our own address by 6to4 and NAT64.
  const foreign = [
    "fe80::5054:ff:fe12:3456",
    "fe80::5054:ff:fe12:3456%wlan0",
    "2002:7f00:1::1",
    "64:ff9b::7f00:1",
  ];
  for (const address of [...foreign, "::7f00:1", "64:ff9b::c0a8:114"])
    expect([address, isDeviceAddress(address, own)]).toEqual([address, false]);
  expect(isDeviceAddress("::ffff:192.168.1.20", own)).toBe(true);
});

test("a page of another host's address has no rights on the device, should the device take that address", () => {
  const own = () => ["192.168.1.20"];
  const kindOf = (authority: string) =>
    judgeAccess({ host: authority, origin: `http://${authority}`, isEmbedded: false }, true, rules, own).kind;
  expect(kindOf("8.8.8.8:7497")).toBe("refused");
  expect(kindOf("[2001:db8::1]:7497")).toBe("refused");
  for (const mine of ["192.168.1.20:7497", "127.0.0.1:7497", "[::1]:7497", "localhost:7497"])
    expect([mine, kindOf(mine)]).toEqual([mine, "device"]);
});

test("pages of the known phone app come in where its clients may, and never as pages of the device", () => {
  const kindOf = (isDevice: boolean, allowV1Clients: boolean) =>
    judgeAccess({ host: "192.168.1.20:7497", origin: "capacitor://localhost", isEmbedded: false }, isDevice, {
      ...rules,
      allowV1Clients,
    }).kind;
  expect(kindOf(false, false)).toBe("refused");
  expect(kindOf(false, true)).toBe("v1-app");
  expect(kindOf(true, true)).toBe("refused");
});

test("an address is compared without its zone and its mapping", () => {
  expect([plainAddress("::FFFF:10.0.0.1"), plainAddress("FE80::1%eth0")]).toEqual(["10.0.0.1", "fe80::1"]);
});

const hosts: readonly (readonly [host: string | null, isGood: boolean])[] = [
  ["127.0.0.1:7497", true],
  ["192.168.1.20", true],
  ["[::1]:7497", true],
  ["[fe80::1]", true],
  ["localhost:7497", true],
  [`${device}:7497`, true],
  [`${device}.local`, true],
  ["cards.home", true],
  ["CARDS.HOME:80", true],
  ["255.255.255.255", true],
  ["192.168.1.20:8", true],
  ["[::ffff:192.168.1.20]:7497", true],
  ["[2001:db8:0:1:2:3:4:5]", true],
  // The unspecified addresses, which Linux takes to loopback.
  ["0.0.0.0:7497", false],
  ["0.0.0.0", false],
  ["00.0.0.0", false],
  ["000.000.000.000:7497", false],
  ["0", false],
  ["0.0", false],
  ["0x0.0x0.0x0.0x0", false],
  ["[::]:7497", false],
  ["[::0]", false],
  ["[0::]", false],
  ["[0:0:0:0:0:0:0:0]:7497", false],
  ["[0000:0000:0000:0000:0000:0000:0000:0000]", false],
  ["[::0.0.0.0]", false],
  ["[::ffff:0.0.0.0]:7497", false],
  ["[::FFFF:0:0]", false],
  ["[0:0:0:0:0:ffff:0000:0000]", false],
  // These texts are no addresses.
  ["300.1.1.1", false],
  ["1.2.3.256", false],
  ["1.2.3", false],
  ["1.2.3.4.5", false],
  ["010.0.0.1", false],
  ["[1.2.3.4]", false],
  ["[:::1]", false],
  ["[1::2::3]", false],
  ["[12345::]", false],
  ["[1:2:3:4:5:6:7]", false],
  ["[1:2:3:4:5:6:7:8:9]", false],
  ["[::300.1.1.1]", false],
  ["[fe80::1%25eth0]", false],
  ["[]", false],
  ["127.0.0.1, 127.0.0.1", false],
  ["127.0.0.1:7497:7497", false],
  ["evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["localhost.evil.example", false],
  ["localhost@evil.example", false],
  ["", false],
  ["a b", false],
  [null, false],
];

for (const [host, isGood] of hosts) {
  test(`the Host ${JSON.stringify(host)} is ${isGood ? "" : "not "}one of this device`, () => {
    const { kind } = judgeAccess({ host, origin: null, isEmbedded: false }, true, rules);
    expect(kind).toBe(isGood ? "device" : "refused");
  });
}

const origins: readonly (readonly [origin: string, address: string, isGood: boolean])[] = [
  ["http://192.168.1.20:7497", "10.0.0.9", true],
  ["http://192.168.1.20", "10.0.0.9", false],
  ["https://cards.example", "10.0.0.9", true],
  ["http://cards.example", "10.0.0.9", false],
  ["http://localhost:3000", "127.0.0.1", true],
  ["http://127.0.0.1:3000", "127.0.0.1", true],
  ["http://[::1]:3000", "::1", true],
  ["http://localhost:3000", "10.0.0.9", false],
  ["https://evil.example", "127.0.0.1", false],
  ["https://localhost.evil.example", "127.0.0.1", false],
  ["null", "127.0.0.1", false],
  ["file://", "127.0.0.1", false],
  ["", "127.0.0.1", false],
];

for (const [origin, address, isGood] of origins) {
  test(`the Origin "${origin}" of a caller at ${address} is ${isGood ? "let in" : "refused"}`, () => {
    const { kind } = judgeAccess(
      { host: "192.168.1.20:7497", origin, isEmbedded: false },
      address !== "10.0.0.9",
      rules,
    );
    expect(kind !== "refused").toBe(isGood);
  });
}

test("if browsers do not say who asks, event streams are for their own pages, and for programs", () => {
  const own = { host: "device.local:7497", "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };
  const may = (headers: Record<string, string>) => mayListen(new Headers(headers));
  expect(may(own)).toBe(false);
  expect(may({ ...own, referer: "http://evil.example/" })).toBe(false);
  expect(may({ ...own, referer: "http://device.local:7497/" })).toBe(true);
  expect(may({ ...own, origin: "http://device.local:7497" })).toBe(true);
  expect(may({ host: own.host, "user-agent": "curl/8" })).toBe(true);
});

test("an owner who lists an unspecified address may be called by it", () => {
  const listed = { ...rules, allowedHosts: ["0.0.0.0"] };
  expect(judgeAccess({ host: "0.0.0.0:7497", origin: null, isEmbedded: false }, true, listed).kind).toBe(
    "device",
  );
});

test("a prefetch of a page, or a navigation that it causes, is no event stream, though the browser reports no initiator", () => {
  // Chromium 156 sends these headers for speculation rules, and for a redirect of an address that was typed.
  const typed = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const may = (headers: Record<string, string>) => mayListen(new Headers(headers));
  expect(may({ ...typed, "sec-purpose": "prefetch" })).toBe(false);
  expect(may({ ...typed, "sec-fetch-user": "?1" })).toBe(false);
  expect(may({ "sec-fetch-site": "none" })).toBe(false);
  expect(may({ "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" })).toBe(false);
  expect(may({ "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" })).toBe(true);
});

const browsers: readonly (readonly [what: string, headers: Record<string, string>, isOne: boolean])[] = [
  ["Chromium", { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0", accept: "*/*" }, true],
  ["a browser in an app", { "user-agent": "Shop/2.1", accept: "text/html,application/xhtml+xml" }, true],
  ["a browser without a name", { "sec-fetch-site": "cross-site" }, true],
  ["curl", { "user-agent": "curl/8.5.0", accept: "*/*" }, false],
  ["Node's fetch", { "user-agent": "node", accept: "*/*", "sec-fetch-mode": "cors" }, false],
  ["a program without a name", {}, false],
];

for (const [what, headers, isOne] of browsers) {
  test(`${what} is ${isOne ? "a browser" : "no browser"}`, () => {
    expect(isBrowser(new Headers(headers))).toBe(isOne);
  });
}

test("a page of another site takes nothing into itself, whatever it calls the element", () => {
  const isEmbedded = (mode: string, dest: string | undefined, more: Record<string, string> = {}) =>
    requestSource(
      new Headers({
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": mode,
        ...(dest === undefined ? {} : { "sec-fetch-dest": dest }),
        ...more,
      }),
    ).isEmbedded;
  // The destinations of navigations inside of a page, and of a request that is no navigation (Fetch Standard, 2.2.5).
  for (const dest of ["iframe", "frame", "fencedframe", "object", "embed", "empty", ""])
    expect([dest, isEmbedded("navigate", dest)]).toEqual([dest, true]);
  for (const dest of ["image", "script", "style", "font", "video", "report", "serviceworker", "webidentity"])
    expect([dest, isEmbedded("no-cors", dest)]).toEqual([dest, true]);
  // A WebSocket, and a CORS request, without an Origin.
  expect(isEmbedded("websocket", "empty")).toBe(true);
  expect(isEmbedded("cors", "empty")).toBe(true);
  expect(isEmbedded("navigate", "document", { "sec-purpose": "prefetch;prerender" })).toBe(true);
  expect(isEmbedded("navigate", "document")).toBe(false);
});

test("a request of a page is embedded unless its browser names that page and asks for the right to read", () => {
  const isEmbedded = (headers: Record<string, string>) => requestSource(new Headers(headers)).isEmbedded;
  const page = { origin: "https://cards.example", "sec-fetch-dest": "empty" };
  for (const site of ["cross-site", "same-site"]) {
    const from = { ...page, "sec-fetch-site": site };
    expect(isEmbedded({ ...from, "sec-fetch-mode": "cors" })).toBe(false);
    expect(isEmbedded({ ...from, "sec-fetch-mode": "websocket" })).toBe(false);
    expect(isEmbedded({ ...from, "sec-fetch-mode": "no-cors" })).toBe(true);
    expect(isEmbedded({ "sec-fetch-site": site, "sec-fetch-mode": "no-cors" })).toBe(true);
  }
  for (const site of ["same-origin", "none"])
    expect(isEmbedded({ "sec-fetch-site": site, "sec-fetch-mode": "no-cors" })).toBe(false);
  expect(isEmbedded({})).toBe(false);
});

test("each way in which browsers mark a prefetch is known", () => {
  const marks = [{ "sec-purpose": "prefetch" }, { purpose: "prefetch" }, { "x-moz": "prefetch" }];
  for (const headers of marks) expect([headers, isPrefetch(new Headers(headers))]).toEqual([headers, true]);
  expect(isPrefetch(new Headers({ "x-moz": "other" }))).toBe(false);
  expect(isPrefetch(new Headers())).toBe(false);
});

test("a page of another site opens an event stream only with its Origin, in a request that may be refused", () => {
  const may = (headers: Record<string, string>) => mayListen(new Headers(headers));
  const page = { "sec-fetch-site": "cross-site", origin: "https://cards.example" };
  expect(may({ ...page, "sec-fetch-mode": "cors" })).toBe(true);
  expect(may({ ...page, "sec-fetch-mode": "no-cors" })).toBe(false);
  expect(may({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" })).toBe(false);
});
