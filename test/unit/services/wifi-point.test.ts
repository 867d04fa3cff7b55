/**
 * The page by which a phone sets up the Wi-Fi, over HTTP as a phone asks for it.
 *
 * Covers: src/services/wifi-point.ts, src/web/wifi-page.ts, src/web/wifi-texts.ts
 */
import { afterAll, expect, test } from "bun:test";
import { silentLog } from "../../../src/core/log.ts";
import type { WifiReport, WifiRequest } from "../../../src/core/wifi-shapes.ts";
import { servePointPage } from "../../../src/services/wifi-point.ts";
import { wifiTexts } from "../../../src/web/wifi-texts.ts";

const hex = (text: string) => Buffer.from(text).toString("hex");
const home = { id: hex("Home"), name: "Home", signal: -40, security: "password" } as const;
const cafe = { id: hex("<Café>"), name: "<Café>", signal: -50, security: "open" } as const;
const office = { id: hex("Office"), name: "Office", signal: -60, security: "other" } as const;
const point = { name: "Tapdeck-AB12", password: "abcd2345", address: "127.0.0.1" };
const all: WifiReport = { state: "point", point, networks: [home, cafe, office], known: [] };

const serving = new DisposableStack();
afterAll(() => serving.dispose());

function serve(report: WifiReport = all) {
  const joined: WifiRequest[] = [];
  let scans = 0;
  const page = servePointPage({
    address: "127.0.0.1",
    port: 0,
    log: silentLog,
    report: () => report,
    async join(request) {
      joined.push(request);
    },
    async scan() {
      scans++;
    },
  });
  serving.defer(page.close);
  const origin = `http://127.0.0.1:${page.port}`;
  const send = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    fetch(origin + path, { method: "POST", body: new URLSearchParams(fields), headers, redirect: "manual" });
  const submit = async (fields: Readonly<Record<string, string>>) =>
    (await send("/join", { name: "", password: "", ...fields })).text();
  return { origin, joined, scans: () => scans, send, submit };
}

test("a phone that asks for another site is led to the page, whatever it asks for", async () => {
  const { origin } = serve();
  for (const [path, host] of [
    ["/generate_204", "connectivitycheck.gstatic.com"],
    ["/hotspot-detect.html", "captive.apple.com"],
    ["/", "tapdeck.local"],
  ] as const) {
    const answer = await fetch(origin + path, { headers: { host }, redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([302, `${origin}/`]);
  }
  const other = await fetch(`${origin}/favicon.ico`, { redirect: "manual" });
  expect(other.status).toBe(302);
});

test("the form lists the networks, and those that cannot be joined cannot be chosen", async () => {
  const { origin } = serve();
  const page = await (await fetch(origin)).text();
  expect(page).toContain(`value="${home.id}" checked>Home<`);
  expect(page).toContain(`value="${cafe.id}">&lt;Café&gt;<small>without a password</small>`);
  expect(page).toContain(`value="${office.id}" disabled>Office<small>cannot be used</small>`);
  expect(page).not.toContain("<script");
});

test("a chosen network is joined with its password, and an open one without", async () => {
  const { joined, submit } = serve();
  expect(await submit({ network: home.id, password: "correct horse" })).toContain("Trying “Home”");
  expect(await submit({ network: cafe.id, password: "is ignored" })).toContain("Trying “&lt;Café&gt;”");
  expect(joined).toEqual([
    { id: home.id, password: "correct horse" },
    { id: cafe.id, password: "" },
  ]);
});

test("a hidden network is joined by its name", async () => {
  const { joined, submit } = serve();
  await submit({ network: "other", name: "Säkert", password: "correct horse" });
  await submit({ network: "other", name: "Open and hidden" });
  expect(joined).toEqual([
    { id: hex("Säkert"), password: "correct horse" },
    { id: hex("Open and hidden"), password: "" },
  ]);
});

test("a wrong form says what is wrong, keeps the name, and joins nothing", async () => {
  const { joined, submit } = serve();
  const rule = "A Wi-Fi password has 8 to 63 characters.";
  expect(await submit({ network: home.id, password: "short" })).toContain(`<p role="alert">${rule}</p>`);
  expect(await submit({ network: home.id })).toContain(rule);
  expect(await submit({ network: home.id, password: "x".repeat(64) })).toContain(rule);
  expect(await submit({ network: home.id, password: "two\nlines of it" })).toContain(rule);
  const nameRule = "Enter the name of the network, at most 32 characters.";
  expect(await submit({ network: "other" })).toContain(nameRule);
  expect(await submit({ network: "other", name: "ü".repeat(17) })).toContain(nameRule);
  expect(await submit({ network: hex("Never seen"), password: "correct horse" })).toContain(nameRule);
  expect(await submit({ network: "other", name: '"><b>', password: "short" })).toContain(
    'value="&quot;&gt;&lt;b&gt;"',
  );
  expect(joined).toEqual([]);
});

test("the reason why a network did not work stands above the form, in the language of the phone", async () => {
  const { origin } = serve({ ...all, network: "Home", fault: "wrong-password" });
  const said = async (language: string) =>
    (await (await fetch(origin, { headers: { "accept-language": language } })).text()).match(
      /role="alert">([^<]*)/,
    )?.[1];
  expect(await said("en-GB,en;q=0.9")).toBe("The password of “Home” is wrong.");
  expect(await said("de-AT,de;q=0.9,en;q=0.8")).toBe("Das Passwort von “Home” ist falsch.");
  expect(await said("xx, ja;q=0.5, fr;q=0.7")).toBe("Le mot de passe de “Home” est faux.");
  expect(await said("de;q=0, ja")).toBe("“Home”のパスワードが違います。");
  expect(await said("constructor, *")).toBe("The password of “Home” is wrong.");
});

test("each language has a text for each fault, with the name of the network in it", () => {
  for (const code of ["en", "de", "fr", "es", "pt", "ja"]) {
    const { code: found, texts } = wifiTexts(code);
    expect(found).toBe(code);
    for (const said of [texts.trying, ...Object.values(texts.faults)]) expect(said).toContain("{network}");
  }
});

test("without a network in reach, a name can be typed and the search repeated", async () => {
  const { origin, send, scans } = serve({ ...all, networks: [] });
  const page = await (await fetch(origin)).text();
  expect(page).toContain("No network was found here.");
  expect(page).toContain('value="other" checked');
  expect(await (await send("/search", {})).text()).toContain("Searching");
  expect(scans()).toBe(1);
});

test("a page of another site sets up nothing, and neither does a huge form", async () => {
  const { joined, send, scans } = serve();
  const fields = { network: home.id, name: "", password: "correct horse" };
  expect((await send("/join", fields, { origin: "http://evil.example" })).status).toBe(403);
  expect((await send("/search", {}, { origin: "http://evil.example" })).status).toBe(403);
  expect((await send("/join", { ...fields, name: "x".repeat(5000) })).status).toBe(413);
  expect((await send("/elsewhere", fields)).status).toBe(404);
  expect([joined, scans()]).toEqual([[], 0]);
});
