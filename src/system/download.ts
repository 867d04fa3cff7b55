/**
 * Downloads of large files, which continue after a cut, a restart of the service and a power cut (RFC 9110, 14: ranges).
 * Beside the file `path` are `<path>.part`, which holds the bytes so far, and `<path>.source`, which states the source of
 * both.
 */
import { createHash } from "node:crypto";
import { lookup } from "node:dns/promises";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../core/clock.ts";
import { updateStallMsMax } from "../core/console-limits.ts";
import { codeOf, messageOf } from "../core/errors.ts";
import { webRedirectsMax } from "../core/limits.ts";
import { isRecord } from "../core/text.ts";
import { isOwnAddress } from "./addresses.ts";
import type { TlsFiles } from "./tls-files.ts";

export interface Download {
  /** An address of http or https. */
  readonly url: string;
  /** The address in the setting of the server that named `url`; absent if `url` itself is that setting. */
  readonly setting?: string;
  /** The size of the file, if it is known. */
  readonly bytes?: number;
  /** The SHA-256 of the file in 64 lower-case hex digits, if it is known. */
  readonly sha256?: string;
  /**
   * Headers that are sent to the server of `url` only, and not to one that it redirects to. The client certificate is
   * treated in the same way.
   */
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: TlsFiles;
}

export interface DownloadPlace {
  readonly path: string;
  readonly bytesMax: number;
  /** The space that the disk must have left after the download. */
  readonly freeBytesMin: number;
  readonly clock: Clock;
  readonly progress: (percent: number) => void;
}

/** No further try with the same request can succeed: the file is missing, its size or hash is wrong, or the disk is full. */
export class DownloadRefused extends Error {
  override readonly name = "DownloadRefused";
}

/**
 * Resolves when `path` holds the whole file, with the right size and hash. After an interruption the bytes so far stay,
 * and the next call for the same file continues from them. Throws `DownloadRefused`, after which no file stays, another
 * error with a sentence, or the signal's reason.
 */
export async function download(what: Download, place: DownloadPlace, signal: AbortSignal): Promise<void> {
  try {
    await fetchWhole(what, place, signal);
  } catch (error) {
    if (error instanceof DownloadRefused) await removeDownload(place.path);
    throw error;
  }
}

async function fetchWhole(what: Download, place: DownloadPlace, signal: AbortSignal): Promise<void> {
  const known = await readSource(place.path);
  if (isSame(known, what) && what.sha256 !== undefined && (await hashOf(place.path)) === what.sha256) return;
  for (let resumed = true; ; ) {
    resumed = await fetchRest(what, place, resumed, signal);
    const why = await faultOf(what, `${place.path}.part`);
    if (why === undefined) break;
    await removeDownload(place.path);
    // The kept beginning may belong to another file.
    if (!resumed) throw new DownloadRefused(`${what.url}: ${why}`);
    resumed = false;
  }
  await rename(`${place.path}.part`, place.path);
}

/** Removes the file, and the bytes of an unfinished download. */
export async function removeDownload(path: string): Promise<void> {
  for (const one of [path, `${path}.part`, `${path}.source`]) await rm(one, { force: true });
}

/** Appends the missing bytes. Returns whether a beginning existed. Without `mayResume` it starts at the first byte. */
async function fetchRest(
  what: Download,
  place: DownloadPlace,
  mayResume: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const part = `${place.path}.part`;
  const known = await readSource(place.path);
  const there = mayResume && isSame(known, what) ? await sizeOf(part) : 0;
  if (there > 0 && there === what.bytes) return true;
  const stalled = new AbortController();
  const range = there === 0 ? {} : { range: `bytes=${there}-`, ...ifRange(known, what.url) };
  using watch = stallWatch(place.clock, stalled);
  const either = AbortSignal.any([signal, stalled.signal]);
  try {
    const response = await requested(what, range, either);
    if (response.status === 416 && there > 0) return await fetchRest(what, place, false, signal);
    const from = startOf(response, there, what.url);
    await writeSource(place.path, what, response);
    await using file = await open(part, from === 0 ? "w" : "r+", 0o600);
    await append(file, from, response, { what, place, heard: watch.heard });
    await file.sync();
    return from > 0;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DownloadRefused) throw error;
    const why = stalled.signal.aborted
      ? `nothing came for ${updateStallMsMax / 1000} s`
      : codeOf(error) === "ENOSPC"
        ? "the disk is full"
        : messageOf(error);
    throw new Error(`${what.url}: ${why}`, { cause: error });
  }
}

/** The offset at which the body begins. */
function startOf(response: Response, there: number, url: string): number {
  const { status } = response;
  // The statuses 408 and 429 ask for another try, and so do the faults of servers (RFC 9110, 15.6).
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    throw new DownloadRefused(`${url}: the server answered ${status}`);
  if (status === 200) return 0;
  if (status !== 206) throw new Error(`the server answered ${status}`);
  const [, first] = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "") ?? [];
  if (there === 0 || Number(first) !== there)
    throw new Error("the server sent another part of the file than it was asked for");
  return there;
}

async function append(
  file: FileHandle,
  from: number,
  response: Response,
  {
    what,
    place,
    heard,
  }: { readonly what: Download; readonly place: DownloadPlace; readonly heard: () => void },
): Promise<void> {
  const stated = response.headers.get("content-length");
  const total = stated === null ? what.bytes : from + Number(stated);
  if (what.bytes !== undefined && total !== what.bytes)
    throw new DownloadRefused(`${what.url}: the server has ${total} bytes, and ${what.bytes} were announced`);
  const room = await roomFor(place, from);
  const most = Math.min(room, place.bytesMax);
  const tooLong = () => {
    const mib = Math.floor(most / 2 ** 20);
    const why =
      room < place.bytesMax
        ? `the disk has room for ${mib} MiB of this file: free some space, then try again`
        : `the file has more than the ${mib} MiB that an update may have`;
    return new DownloadRefused(`${what.url}: ${why}`);
  };
  if ((total ?? 0) > most) throw tooLong();
  let done = from;
  for await (const chunk of response.body ?? []) {
    heard();
    if (done + chunk.length > Math.min(most, total ?? most)) throw tooLong();
    await file.write(chunk, 0, chunk.length, done);
    done += chunk.length;
    if (total !== undefined && total > 0) place.progress(Math.floor((done / total) * 100));
  }
  if (total !== undefined && done !== total) throw new Error("the connection ended before the file did");
}

/** The largest size of the file for which the disk has room. */
async function roomFor({ path, freeBytesMin }: DownloadPlace, there: number): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path));
  return Math.max(0, bavail * bsize - freeBytesMin + there);
}

/** The response to a GET. Redirects are followed, but must neither leave TLS nor lead to this device. */
export async function requested(
  {
    url: first,
    setting = first,
    headers = {},
    tls = {},
  }: Pick<Download, "url" | "setting" | "headers" | "tls">,
  range: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  let url = new URL(first);
  for (let redirects = 0; redirects <= webRedirectsMax; redirects++) {
    const isOwn = url.origin === new URL(first).origin;
    const { ca, ...identity } = tls;
    const response = await fetch(await checkedTarget(url, new URL(setting)), {
      headers: { ...range, host: url.host, "accept-encoding": "identity", ...(isOwn ? headers : {}) },
      redirect: "manual",
      signal,
      tls: { ...(ca === undefined ? {} : { ca }), ...(isOwn ? identity : {}) },
    });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = URL.parse(location, url);
    if (next === null || !["https:", url.protocol].includes(next.protocol))
      throw new DownloadRefused(`${url.href} leads to ${location.slice(0, 200)}, which is no safe address`);
    url = next;
  }
  throw new DownloadRefused(`${first} was redirected more than ${webRedirectsMax} times`);
}

/**
 * Throws `DownloadRefused` for an address of this device, because its API takes a local caller for the owner. The host
 * that the setting names is not checked. Without TLS the result holds the checked address, so no second look-up of the
 * name leads to another address. With TLS the certificate proves the name.
 */
async function checkedTarget(url: URL, setting: URL): Promise<URL> {
  if (url.hostname === setting.hostname) return url;
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ""), { all: true });
  if (found.some(({ address }) => isOwnAddress(address)))
    throw new DownloadRefused(`${url.href} leads to this device itself, which the setting does not name`);
  const [first] = found;
  if (url.protocol === "https:" || first === undefined) return url;
  const target = new URL(url);
  target.hostname = first.family === 6 ? `[${first.address}]` : first.address;
  return target;
}

async function faultOf({ bytes, sha256 }: Download, path: string): Promise<string | undefined> {
  const size = await sizeOf(path);
  if (bytes !== undefined && size !== bytes) return `it has ${size} bytes, and ${bytes} were announced`;
  if (sha256 === undefined || (await hashOf(path)) === sha256) return undefined;
  return "it has another SHA-256 than was announced: the file was changed, or the download is damaged";
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
  return hash.digest("hex");
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** The download to which a whole or unfinished file belongs. */
interface Source {
  readonly url: string;
  readonly sha256: string;
  /** The validator for `If-Range`; empty if there is none. */
  readonly tag: string;
}

/**
 * True if the present bytes belong to the download. If the hash is known, any server of the file is accepted; otherwise
 * only the same version at the same address.
 */
function isSame(known: Source | undefined, { url, sha256 }: Download): boolean {
  if (known === undefined) return false;
  return sha256 === undefined ? known.url === url && known.tag !== "" : known.sha256 === sha256;
}

/** The tag belongs to one server, because another server has other tags. */
function ifRange(known: Source | undefined, url: string): Readonly<Record<string, string>> {
  return known === undefined || known.tag === "" || known.url !== url ? {} : { "if-range": known.tag };
}

async function readSource(path: string): Promise<Source | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(`${path}.source`, "utf8"));
    if (!isRecord(value)) return undefined;
    const { url, sha256, tag } = value;
    if (typeof url !== "string" || typeof sha256 !== "string" || typeof tag !== "string") return undefined;
    return { url, sha256, tag };
  } catch {
    return undefined; // The file is missing, or a power cut damaged it. The download starts from its beginning.
  }
}

async function writeSource(path: string, { url, sha256 = "" }: Download, { headers }: Response) {
  const tag = headers.get("etag") ?? "";
  // A weak tag does not identify bytes (RFC 9110, 13.1.5).
  const source: Source = { url, sha256, tag: tag.startsWith('"') && tag.length <= 256 ? tag : "" };
  await writeFile(`${path}.source`, JSON.stringify(source), { mode: 0o600 });
}

/** Aborts the download if `heard` is not called for a minute. */
function stallWatch(clock: Clock, stalled: AbortController) {
  const begin = () => clock.after(updateStallMsMax, () => stalled.abort());
  let timer = begin();
  return {
    heard() {
      timer[Symbol.dispose]();
      timer = begin();
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}
