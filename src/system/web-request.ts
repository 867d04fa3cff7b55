/**
 * Requests of scripts to servers that the owner listed, and to nothing else: a name is resolved once, its addresses are
 * judged, and the connection goes to the very address that was judged. Each redirect is judged like a request of its own.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { ServiceError } from "../core/errors.ts";
import { webAddressesMax, webRedirectsMax, webRequestMsMax } from "../core/limits.ts";
import { isOwnAddress, type Reach, reachOf } from "./addresses.ts";
import { exchange } from "./http-exchange.ts";

/** The addresses of a host name, in the order in which they are tried. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface WebClientParts {
  /** The patterns of the owner's list that match the whole address. */
  readonly listed: (url: string) => readonly string[];
  /** Ports that this service listens on. */
  readonly ownPorts: () => readonly number[];
  readonly resolve?: Resolve;
  readonly msMax?: number;
}

export interface Asked {
  readonly method: "GET" | "POST";
  readonly url: string;
  /** Only with POST. */
  readonly content?: { readonly type: string; readonly body: string };
}

export interface WebClient {
  /**
   * Resolves once a server has answered with a code from 200 to 299. Throws `ServiceError`: `forbidden` for what the
   * owner did not list, or `failed`; and the signal's reason where that aborts.
   */
  request(asked: Asked, signal: AbortSignal): Promise<void>;
}

const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export function createWebClient({
  listed,
  ownPorts,
  resolve = systemResolve,
  msMax = webRequestMsMax,
}: WebClientParts): WebClient {
  /** The addresses to connect to, in order. */
  const judged = async (url: URL): Promise<readonly string[]> => {
    const patterns = listed(url.href);
    const host = hostOf(url);
    if (patterns.length === 0) {
      throw new ServiceError(
        "forbidden",
        `cards may not call ${url.origin} like this: add a pattern for the whole address to script.allow_http in the config file`,
      );
    }
    const addresses = isIP(host) > 0 ? [host] : await resolve(host).catch((error) => unresolved(host, error));
    if (addresses.length === 0) unresolved(host, undefined);
    for (const address of addresses) judgeAddress({ url, host, address, patterns, ownPorts: ownPorts() });
    return addresses.slice(0, webAddressesMax);
  };
  const once = async (url: URL, asked: Asked, signal: AbortSignal) => {
    let fault: unknown;
    const addresses = await abortable(judged(url), signal);
    for (const address of addresses) {
      signal.throwIfAborted();
      try {
        return await exchange({ ...asked, url, address }, signal);
      } catch (error) {
        fault = error;
        // What began to answer has done what it was asked; only one that was never reached may be asked elsewhere.
        if (!(error instanceof ServiceError) || error.data?.connected !== false) throw error;
      }
    }
    throw fault;
  };
  const follow = async (first: Asked, signal: AbortSignal): Promise<void> => {
    let [asked, url] = [first, urlOf(first.url)];
    for (let redirects = 0; redirects <= webRedirectsMax; redirects++) {
      const { status, location } = await once(url, asked, signal);
      if (status >= 200 && status < 300) return;
      if (status < 300 || status >= 400 || location === undefined)
        throw new ServiceError("failed", `${url.host} answered with the code ${status}`);
      url = urlOf(location, url);
      // 307 and 308 keep the method (RFC 9110, 15.4.8 and 15.4.9); after the others everybody asks with GET.
      if (status !== 307 && status !== 308) asked = { method: "GET", url: url.href };
    }
    throw new ServiceError("failed", `${first.url} was redirected more than ${webRedirectsMax} times`);
  };
  return {
    async request(asked, signal) {
      const late = AbortSignal.timeout(msMax);
      try {
        await follow(asked, AbortSignal.any([signal, late]));
      } catch (error) {
        signal.throwIfAborted();
        if (!late.aborted) throw error;
        throw new ServiceError("failed", `${urlOf(asked.url).host} did not answer within ${msMax / 1000} s`);
      }
    },
  };
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.parse(text, base);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new ServiceError(
      "failed",
      `${text.slice(0, 200)} is no address: it begins with http:// or https://`,
    );
  if (url.username !== "" || url.password !== "")
    throw new ServiceError("failed", "an address may hold no user name and no password");
  return url;
}

/** Without the brackets of an IPv6 address and the dot that may end a name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function unresolved(host: string, cause: unknown): never {
  throw new ServiceError("failed", `there is no address for the name ${host}`, { cause });
}

interface Judged {
  readonly url: URL;
  readonly host: string;
  readonly address: string;
  /** The patterns that match the address of the page. */
  readonly patterns: readonly string[];
  readonly ownPorts: readonly number[];
}

const words: Readonly<Record<Exclude<Reach, "public">, string>> = {
  loopback: "this device itself",
  "link-local": "the devices on this cable",
  private: "the home network",
  special: "no server",
};

/**
 * Throws `forbidden` for an address that a pattern such as `.*` must not open by accident. A pattern opens it by naming
 * the host letter by letter: the address itself, `localhost`, or, for the home network, a name that only the home's own
 * router can give. Any other name could be made to lead here by whoever owns it. Our own ports want to be named too.
 */
function judgeAddress({ url, host, address, patterns, ownPorts }: Judged): void {
  const reach = reachOf(address);
  const names = patterns.map((pattern) => pattern.replaceAll("\\", "").toLowerCase());
  const isNamed = (name: string) => names.some((pattern) => holdsWord(pattern, name));
  const port = Number(url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port);
  if (ownPorts.includes(port) && isOwnAddress(address) && !isNamed(`${url.hostname}:${port}`))
    throw refusal(url, "Tapdeck itself");
  if (reach === "public") return;
  const isHome = reach === "private" && isHomeName(host);
  const isOwn = reach === "loopback" && host === "localhost";
  if ((isIP(host) > 0 || isHome || isOwn) && isNamed(url.hostname)) return;
  throw refusal(url, words[reach]);
}

/** Whether `name` stands in the pattern as a whole: `nas` does not in `my.nas` and not in `nas2`. */
function holdsWord(pattern: string, name: string): boolean {
  for (let at = pattern.indexOf(name); at >= 0; at = pattern.indexOf(name, at + 1)) {
    const [before = "", after = ""] = [pattern[at - 1], pattern[at + name.length]];
    if (!/[a-z0-9.-]/.test(before) && !/[a-z0-9-]/.test(after)) return true;
  }
  return false;
}

function refusal(url: URL, where: string): ServiceError {
  return new ServiceError(
    "forbidden",
    `${url.host} leads to ${where}, which a pattern of script.allow_http must name letter by letter`,
  );
}

/** RFC 6762 (.local), RFC 8375 (home.arpa), ICANN's reservation of .internal, and what routers hand out besides. */
function isHomeName(host: string): boolean {
  return !host.includes(".") || /\.(local|lan|home|home\.arpa|internal|fritz\.box)$/.test(host);
}

/** The name service cannot be stopped: its answer is no longer waited for. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
