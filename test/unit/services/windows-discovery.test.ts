/** WS-Discovery on real sockets of this machine: a PC of the network is answered, another one is not, and floods have an end. */
import { expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { wsdAnswersMax } from "../../../src/core/console-limits.ts";
import { silentLog } from "../../../src/core/log.ts";
import { announceToWindows, isInNetwork } from "../../../src/services/windows-discovery.ts";
import { freePort } from "../../helpers/free-port.ts";

const own = { address: "127.0.0.1", netmask: "255.0.0.0", mac: "02:00:00:00:00:01" };
const far = { ...own, address: "192.0.2.7", netmask: "255.255.255.0" };
const question = (action: string, body = "") =>
  `<s:Envelope><s:Header><a:Action>http://schemas.xmlsoap.org/ws/${action}</a:Action><a:MessageID>urn:uuid:1</a:MessageID></s:Header><s:Body>${body}</s:Body></s:Envelope>`;
const probe = question("2005/04/discovery/Probe");
const resolve = (address: string) =>
  question(
    "2005/04/discovery/Resolve",
    `<d:Resolve><a:EndpointReference><a:Address>${address}</a:Address></a:EndpointReference></d:Resolve>`,
  );

/** A device on the loopback interface, and a PC that hears its multicast messages and its answers. */
async function onLoopback(addresses = [own]) {
  const [port, httpPort] = [freePort(), freePort()];
  const heard: string[] = [];
  const waiting: (() => void)[] = [];
  const pc = createSocket({ type: "udp4", reuseAddr: true });
  pc.on("message", (bytes) => {
    heard.push(bytes.toString());
    for (const wake of waiting.splice(0)) wake();
  });
  await new Promise<void>((done) => pc.bind(port, "0.0.0.0", done));
  pc.addMembership("239.255.255.250", own.address);
  const device = await announceToWindows({
    name: "deck",
    log: silentLog,
    port,
    httpPort,
    addresses: () => addresses,
    lookMs: 10,
  });
  // Both sockets are at one port, so a third socket asks, and gets the answers.
  const asking = createSocket("udp4");
  asking.on("message", (bytes) => {
    heard.push(bytes.toString());
    for (const wake of waiting.splice(0)) wake();
  });
  await new Promise<void>((done) => asking.bind(0, "127.0.0.1", done));
  asking.setMulticastInterface(own.address);
  let hasEnded = false;
  return {
    httpPort,
    heard,
    ask: (text: string) => asking.send(text, port, "239.255.255.250"),
    async hears(holds: (text: string) => boolean): Promise<string> {
      for (;;) {
        const found = heard.find(holds);
        if (found !== undefined) return found;
        await new Promise<void>((wake) => waiting.push(wake));
      }
    },
    /** Once: a test may end the device before. */
    async end() {
      if (!hasEnded) await device[Symbol.asyncDispose]();
      hasEnded = true;
    },
    async [Symbol.asyncDispose]() {
      await this.end();
      for (const socket of [pc, asking]) socket.close();
    },
  };
}

test("a PC hears of the device, finds its name by its URL, and hears of its end", async () => {
  await using net = await onLoopback();
  await net.hears((text) => text.includes("<d:Hello>"));
  net.ask(probe);
  const match = await net.hears((text) => text.includes("ProbeMatch>"));
  const [, uuid = ""] = /urn:uuid:([0-9a-f-]{36})<\/a:Address>/.exec(match) ?? [];
  expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
  net.ask(resolve(`urn:uuid:${uuid}`));
  const [, url = ""] =
    /<d:XAddrs>(.*)<\/d:XAddrs>/.exec(await net.hears((text) => text.includes("ResolveMatch>"))) ?? [];
  expect(url).toBe(`http://127.0.0.1:${net.httpPort}/${uuid}`);
  const get = (address: string, body = question("2004/09/transfer/Get")) =>
    fetch(address, { method: "POST", body });
  expect(await (await get(url)).text()).toContain("<c:Computer>deck/Workgroup:WORKGROUP</c:Computer>");
  expect((await get(url.replace(uuid, "other"))).status).toBe(404);
  expect((await get(url, probe)).status).toBe(400);
  expect((await get(url, "x".repeat(5000))).status).toBe(413);
  expect((await fetch(url)).status).toBe(404);
  await net.end();
  await net.hears((text) => text.includes("<d:Bye>"));
  await expect(fetch(url)).rejects.toThrow();
});

test("an address of another network gets no answer, and neither does a question for another device", async () => {
  await using net = await onLoopback([far, own]);
  expect(isInNetwork("192.0.2.200", far)).toBe(true);
  expect(isInNetwork("::ffff:192.0.2.200", far)).toBe(true);
  for (const other of ["198.51.100.1", "fe80::1", "", "1.2.3"]) expect(isInNetwork(other, far)).toBe(false);
  net.ask(resolve("urn:uuid:00000000-0000-4000-a000-000000000000"));
  net.ask(question("2004/09/transfer/Get"));
  net.ask("noise");
  net.ask(probe);
  await net.hears((text) => text.includes("ProbeMatch>"));
  expect(net.heard.filter((text) => text.includes("ResolveMatch>") || text.includes("GetResponse"))).toEqual(
    [],
  );
});

test("a stranger's question is not answered at all", async () => {
  await using net = await onLoopback([far]);
  net.ask(probe);
  const url = `http://127.0.0.1:${net.httpPort}/`;
  await expect(fetch(url, { method: "POST", body: question("2004/09/transfer/Get") })).rejects.toThrow();
  expect(net.heard.filter((text) => text.includes("ProbeMatch"))).toEqual([]);
});

test("an interface that got its address later gave the device another identity", async () => {
  const identities = new Set<string>();
  const cable = { ...far, mac: "00:00:00:00:00:01" };
  for (const addresses of [[own], [cable, own]]) {
    await using net = await onLoopback(addresses);
    net.ask(probe);
    const match = await net.hears((text) => text.includes("ProbeMatch>"));
    identities.add(/urn:uuid:([0-9a-f-]{36})<\/a:Address>/.exec(match)?.[1] ?? "");
  }
  expect(identities.size).toBe(1);
});

test("an interface that came into another network, or came back, did not say hello there, nor bye", async () => {
  const addresses = [own];
  await using net = await onLoopback(addresses);
  const greets = (address: string) =>
    net.hears((text) => text.includes("<d:Hello>") && text.includes(`http://${address}:`));
  await greets("127.0.0.1");
  addresses.splice(0, 1, { ...own, address: "127.0.0.2" });
  await greets("127.0.0.2");
  net.heard.length = 0;
  addresses.splice(0, 1, own);
  await greets("127.0.0.1");
  await net.end();
  await net.hears((text) => text.includes("<d:Bye>"));
});

test("a flood of questions has few answers", async () => {
  await using net = await onLoopback();
  for (let count = 0; count < 10 * wsdAnswersMax; count++) net.ask(probe);
  // All are received before a request that comes later is answered.
  await net.hears((text) => text.includes("ProbeMatch>"));
  await fetch(`http://127.0.0.1:${net.httpPort}/`).then((answer) => answer.text());
  const answers = net.heard.filter((text) => text.includes("ProbeMatch>")).length;
  expect(answers).toBeGreaterThan(0);
  expect(answers).toBeLessThanOrEqual(2 * wsdAnswersMax);
});
