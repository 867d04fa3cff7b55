/** Messages of WS-Discovery: what Windows asks, what it is answered, and that nothing else is answered. */
import { expect, test } from "bun:test";
import { wsdMessageBytesMax } from "../../../src/core/console-limits.ts";
import {
  wsdBye,
  wsdHello,
  wsdMatches,
  wsdMetadata,
  wsdRequestIn,
} from "../../../src/services/wsd-messages.ts";
import { seededRandom } from "../../emulators/emulated-line.ts";

const id = "urn:uuid:0a6dc791-2be6-4991-9af1-454778a1917a";
const uuid = "30ecd598-1c5f-439f-aa94-7ad3cb092d93";
const host = { uuid, name: 'a "deck" <&>', instance: 7 };

/** As Windows 10 writes it: prefixes of its own, and a type of another namespace. */
function asked(action: string, body: string): Uint8Array {
  return new TextEncoder().encode(
    `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:wsd="http://schemas.xmlsoap.org/ws/2005/04/discovery"><soap:Header><wsa:To>urn:schemas-xmlsoap-org:ws:2005:04:discovery</wsa:To><wsa:Action>http://schemas.xmlsoap.org/ws/${action}</wsa:Action><wsa:MessageID>${id}</wsa:MessageID><wsa:ReplyTo><wsa:Address>urn:other</wsa:Address></wsa:ReplyTo></soap:Header><soap:Body>${body}</soap:Body></soap:Envelope>`,
  );
}
const probe = asked(
  "2005/04/discovery/Probe",
  '<wsd:Probe><wsd:Types xmlns:p="x">p:Device</wsd:Types></wsd:Probe>',
);
const resolve = asked(
  "2005/04/discovery/Resolve",
  `<wsd:Resolve><wsa:EndpointReference><wsa:Address>urn:uuid:${uuid}</wsa:Address></wsa:EndpointReference></wsd:Resolve>`,
);

test("the three questions of Windows are understood", () => {
  expect(wsdRequestIn(probe)).toEqual({ kind: "probe", id, address: "" });
  expect(wsdRequestIn(resolve)).toEqual({ kind: "resolve", id, address: `urn:uuid:${uuid}` });
  expect(wsdRequestIn(asked("2004/09/transfer/Get", ""))).toEqual({ kind: "get", id, address: "" });
});

test("a search for all devices is for this one, and one for printers is not", () => {
  const types = (text: string) =>
    wsdRequestIn(asked("2005/04/discovery/Probe", `<wsd:Probe>${text}</wsd:Probe>`))?.kind;
  expect(types("")).toBe("probe");
  expect(types("<wsd:Types/>")).toBe("probe");
  expect(types("<wsd:Types>w:PrintDeviceType p:Computer</wsd:Types>")).toBe("probe");
  expect(types("<wsd:Types>w:PrintDeviceType</wsd:Types>")).toBeUndefined();
});

test("answers of others, and messages without a proper id, are no questions", () => {
  expect(wsdRequestIn(asked("2005/04/discovery/ProbeMatches", ""))).toBeUndefined();
  expect(wsdRequestIn(asked("2005/04/discovery/Hello", ""))).toBeUndefined();
  const text = new TextDecoder().decode(probe);
  for (const other of ["", "a b", `${id}&amp;`, "x".repeat(101)])
    expect(wsdRequestIn(new TextEncoder().encode(text.replace(id, other)))).toBeUndefined();
  expect(wsdRequestIn(new TextEncoder().encode(text + " ".repeat(wsdMessageBytesMax)))).toBeUndefined();
});

test("a question that is cut off anywhere, noise and random bytes give no error, and take no time", () => {
  for (let cut = 0; cut < resolve.length; cut++) wsdRequestIn(resolve.subarray(0, cut));
  for (const worst of ["<", "<a:", "<Action ", "<EndpointReference ", "<Types "])
    wsdRequestIn(new TextEncoder().encode(worst.repeat(Math.floor(wsdMessageBytesMax / worst.length))));
  const random = seededRandom(1);
  for (let round = 0; round < 2000; round++) {
    const bytes = Uint8Array.from(resolve);
    for (let change = 0; change < 8; change++)
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    const found = wsdRequestIn(bytes);
    if (found !== undefined) expect(found.id).toMatch(/^[\w:.-]{1,100}$/);
  }
});

test("the answers name the question, the device, and its URL once it is asked for", () => {
  const place = { url: "http://192.168.1.5:5357/x", relatesTo: id, number: 3 };
  const matches = wsdMatches("probe", host, place);
  for (const part of [
    "/ProbeMatches<",
    `<a:RelatesTo>${id}<`,
    `urn:uuid:${uuid}<`,
    'InstanceId="7" MessageNumber="3"',
  ])
    expect(matches).toContain(part);
  expect(matches).not.toContain("XAddrs");
  expect(wsdMatches("resolve", host, place)).toContain(`<d:XAddrs>${place.url}</d:XAddrs>`);
  expect(wsdHello(host, place)).toContain("<d:Hello>");
  expect(wsdBye(host, place)).not.toContain("XAddrs");
});

test("the metadata have the name of the computer, whatever its characters", () => {
  expect(wsdMetadata(host, id)).toContain(
    "<c:Computer>a &quot;deck&quot; &lt;&amp;>/Workgroup:WORKGROUP</c:Computer>",
  );
});
