/**
 * The messages of WS-Discovery (2005/04) and of the Devices Profile for Web Services (2006/02) that Windows needs to
 * list a computer. All are SOAP 1.2 envelopes, over UDP or HTTP.
 *
 *   Probe     asks for devices of a type        ProbeMatches      the address of this one, as a UUID
 *   Resolve   asks for the URL of an address    ResolveMatches    the URL
 *   Get       asks that URL for the metadata    GetResponse       the name of the computer, which has shares
 *   Hello, Bye                                  sent when the share begins and ends
 */
import { wsdMessageBytesMax } from "../core/console-limits.ts";

export interface WsdRequest {
  readonly kind: "probe" | "resolve" | "get";
  /** The answer repeats the id. */
  readonly id: string;
  /** The address that a Resolve asks for. */
  readonly address: string;
}

export interface WsdHost {
  readonly uuid: string;
  /** The name by which PCs reach it. */
  readonly name: string;
  /** A number that is higher after each start (WS-Discovery, appendix I). */
  readonly instance: number;
}

const discovery = "http://schemas.xmlsoap.org/ws/2005/04/discovery";
const addressing = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
const transfer = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
const profile = "http://schemas.xmlsoap.org/ws/2006/02/devprof";
const everybody = "urn:schemas-xmlsoap-org:ws:2005:04:discovery";
const anonymous = `${addressing}/role/anonymous`;

const kinds: Readonly<Record<string, WsdRequest["kind"]>> = {
  [`${discovery}/Probe`]: "probe",
  [`${discovery}/Resolve`]: "resolve",
  [`${transfer}/Get`]: "get",
};

/** Reads a request. Returns undefined if this device has no answer, for example to a Probe for printers. */
export function wsdRequestIn(bytes: Uint8Array): WsdRequest | undefined {
  if (bytes.length > wsdMessageBytesMax) return undefined;
  const text = new TextDecoder().decode(bytes);
  const kind = kinds[textOf(text, "Action")];
  const id = textOf(text, "MessageID");
  // The id is sent back. A UUID has fewer characters.
  if (kind === undefined || !/^[\w:.-]{1,100}$/.test(id)) return undefined;
  if (kind === "probe" && !isForComputers(textOf(text, "Types"))) return undefined;
  return { kind, id, address: addressIn(text) };
}

/** A Probe without a type asks for all devices. */
function isForComputers(types: string): boolean {
  return types === "" || types.split(/\s+/).some((type) => /^(?:[\w.-]+:)?(?:Device|Computer)$/.test(type));
}

/** The address of the endpoint. The header of a message has other addresses. */
function addressIn(text: string): string {
  const at = text.search(/<(?:[\w.-]{1,50}:)?EndpointReference[\s>]/);
  return at < 0 ? "" : textOf(text.slice(at), "Address");
}

/** Returns the text of the first element of this name, or an empty text. */
function textOf(text: string, name: string): string {
  const [, found = ""] =
    new RegExp(`<(?:[\\w.-]{1,50}:)?${name}(?:\\s[^<>]{0,500})?>([^<>]{0,500})<`).exec(text) ?? [];
  return found.trim();
}

export function wsdMatches(kind: "probe" | "resolve", host: WsdHost, place: WsdPlace): string {
  const [matches, match] =
    kind === "probe" ? ["ProbeMatches", "ProbeMatch"] : ["ResolveMatches", "ResolveMatch"];
  const body = `<d:${matches}><d:${match}>${deviceOf(host, kind === "resolve" ? place.url : undefined)}</d:${match}></d:${matches}>`;
  return envelope({ ...place, action: `${discovery}/${matches}`, to: anonymous, host, body });
}

/** The URL of the device, and the number of the message since the start. */
interface WsdPlace {
  readonly url: string;
  readonly relatesTo?: string;
  readonly number: number;
}

export function wsdHello(host: WsdHost, place: WsdPlace): string {
  const body = `<d:Hello>${deviceOf(host, place.url)}</d:Hello>`;
  return envelope({ ...place, action: `${discovery}/Hello`, to: everybody, host, body });
}

export function wsdBye(host: WsdHost, place: WsdPlace): string {
  const body = `<d:Bye>${endpointOf(host)}</d:Bye>`;
  return envelope({ ...place, action: `${discovery}/Bye`, to: everybody, host, body });
}

/** Makes the metadata. Windows shows the name of the computer in their last part. */
export function wsdMetadata(host: WsdHost, relatesTo: string): string {
  const section = (dialect: string, content: string) =>
    `<x:MetadataSection Dialect="${profile}/${dialect}">${content}</x:MetadataSection>`;
  const name = escaped(host.name);
  const body = [
    "<x:Metadata>",
    section(
      "ThisDevice",
      `<p:ThisDevice><p:FriendlyName>${name}</p:FriendlyName><p:FirmwareVersion>1</p:FirmwareVersion></p:ThisDevice>`,
    ),
    section(
      "ThisModel",
      "<p:ThisModel><p:Manufacturer>Tapdeck</p:Manufacturer><p:ModelName>Tapdeck</p:ModelName></p:ThisModel>",
    ),
    section(
      "Relationship",
      `<p:Relationship Type="${profile}/host"><p:Host>${endpointOf(host)}<p:Types>c:Computer</p:Types><p:ServiceId>urn:uuid:${host.uuid}</p:ServiceId><c:Computer>${name}/Workgroup:WORKGROUP</c:Computer></p:Host></p:Relationship>`,
    ),
    "</x:Metadata>",
  ].join("");
  return envelope({ action: `${transfer}/GetResponse`, to: anonymous, relatesTo, host, body });
}

function deviceOf(host: WsdHost, url: string | undefined): string {
  const place = url === undefined ? "" : `<d:XAddrs>${url}</d:XAddrs>`;
  return `${endpointOf(host)}<d:Types>p:Device c:Computer</d:Types>${place}<d:MetadataVersion>1</d:MetadataVersion>`;
}

function endpointOf({ uuid }: WsdHost): string {
  return `<a:EndpointReference><a:Address>urn:uuid:${uuid}</a:Address></a:EndpointReference>`;
}

interface Envelope {
  readonly action: string;
  readonly to: string;
  readonly relatesTo?: string;
  /** The number of a message of discovery. An answer with metadata has no number. */
  readonly number?: number;
  readonly host: WsdHost;
  readonly body: string;
}

function envelope({ action, to, relatesTo, number, host, body }: Envelope): string {
  const header = [
    `<a:To>${to}</a:To><a:Action>${action}</a:Action><a:MessageID>urn:uuid:${crypto.randomUUID()}</a:MessageID>`,
    relatesTo === undefined ? "" : `<a:RelatesTo>${escaped(relatesTo)}</a:RelatesTo>`,
    number === undefined ? "" : `<d:AppSequence InstanceId="${host.instance}" MessageNumber="${number}"/>`,
  ].join("");
  const names = {
    s: "http://www.w3.org/2003/05/soap-envelope",
    a: addressing,
    d: discovery,
    p: profile,
    x: "http://schemas.xmlsoap.org/ws/2004/09/mex",
    c: "http://schemas.microsoft.com/windows/pub/2005/07",
  };
  const spaces = Object.entries(names)
    .map(([short, name]) => ` xmlns:${short}="${name}"`)
    .join("");
  return `<?xml version="1.0" encoding="utf-8"?><s:Envelope${spaces}><s:Header>${header}</s:Header><s:Body>${body}</s:Body></s:Envelope>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
