/**
 * Requests of scripts, only to servers that the owner listed. A name is resolved once, its addresses are checked, and the
 * connection goes to the checked address. Each redirect is checked like a new request.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { failed, ServiceError } from "../core/errors.ts";
import { webAddressesMax, webRedirectsMax, webRequestMsMax } from "../core/limits.ts";
import { isOwnAddress, type Reach, reachOf } from "./addresses.ts";
import { dropBody, type HttpExchange, openBody, portOf, type WebBody } from "./http-exchange.ts";

/** The addresses of a host name, in the order in which the client tries them. */
export type Resolve = (host: string) => Promise<readonly string[]>;

interface WebClientParts {
  /** Returns the entries of the owner's list that match the URL. */
  readonly listed: (url: URL) => readonly string[];
  /** The remedy for a URL that is not listed, in the words that end a sentence. */
  readonly how: string;
  /** The name of one entry of the list. */
  readonly entry: string;
  /** Returns the ports on which this service listens. */
  readonly ownPorts: () => readonly number[];
  readonly resolve?: Resolve;
  readonly msMax?: number;
}

interface WebRequest extends Omit<HttpExchange, "url" | "address"> {
  readonly url: string;
}

export function createWebClient({
  listed,
  how,
  entry,
  ownPorts,
  resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  msMax = webRequestMsMax,
}: WebClientParts) {
  /** The addresses for the connection, in order. */
  const allowedAddresses = async (url: URL): Promise<readonly string[]> => {
    const patterns = listed(url);
    const host = hostOf(url);
    if (patterns.length === 0)
      throw new ServiceError("forbidden", `cards may not call ${url.origin} like this: ${how}`);
    const addresses = isIP(host) > 0 ? [host] : await resolve(host).catch((error) => unresolved(host, error));
    if (addresses.length === 0) unresolved(host, undefined);
    for (const address of addresses) checkAddress(url, address, patterns, ownPorts(), entry);
    return addresses.slice(0, webAddressesMax);
  };
  const once = async (url: URL, request: WebRequest, signal: AbortSignal) => {
    let fault: unknown;
    const addresses = await abortable(allowedAddresses(url), signal);
    for (const address of addresses) {
      signal.throwIfAborted();
      try {
        return await openBody({ ...request, url, address }, signal);
      } catch (error) {
        fault = error;
        // A server that accepted the connection may have carried out the request. The next address is tried only if the
        // first one was not reached.
        if (!(error instanceof ServiceError) || error.data?.connected !== false) throw error;
      }
    }
    throw fault;
  };
  const follow = async (first: WebRequest, signal: AbortSignal): Promise<WebBody> => {
    let request = first;
    let url = urlOf(first.url);
    for (let redirects = 0; redirects <= webRedirectsMax; redirects++) {
      const body = await once(url, request, signal);
      const { status } = body;
      if (status >= 200 && status < 300) return body;
      body.close();
      const location = body.fields.get("location");
      if (status < 300 || status >= 400 || location === undefined)
        throw failed(`${url.host} answered with the code ${status}`);
      url = urlOf(location, url);
      // The statuses 307 and 308 keep the method (RFC 9110, 15.4.8 and 15.4.9). For other statuses, clients follow with GET.
      const { content: _, ...rest } = request;
      if (status !== 307 && status !== 308) request = { ...rest, method: "GET" };
    }
    throw failed(`${first.url} was redirected more than ${webRedirectsMax} times`);
  };
  const inTime = async <Value>(
    host: string,
    signal: AbortSignal,
    act: (all: AbortSignal) => Promise<Value>,
  ) => {
    const late = AbortSignal.timeout(msMax);
    try {
      return await act(AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) throw error;
      throw failed(`${host} did not answer within ${msMax / 1000} s`);
    }
  };
  return {
    /** Like `request` with GET and titles, but resolves with the head of the response. The caller reads or closes its body. */
    open: (url: string, signal: AbortSignal): Promise<WebBody> =>
      inTime(urlOf(url).host, signal, (all) => follow({ method: "GET", url, hasTitles: true }, all)),
    /**
     * Resolves after a response with a status from 200 to 299. Throws `ServiceError`: `forbidden` for a URL that the
     * owner did not list, or `failed`. Throws the signal's reason if that aborts.
     */
    async request(asked: WebRequest, signal: AbortSignal): Promise<void> {
      await inTime(urlOf(asked.url).host, signal, async (all) => dropBody(await follow(asked, all), all));
    },
  };
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.parse(text, base);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw failed(`${text.slice(0, 200)} is no address: it begins with http:// or https://`);
  if (url.username !== "" || url.password !== "")
    throw failed("an address may hold no user name and no password");
  return url;
}

/** The host of a URL, without the brackets of an IPv6 address and the dot that may end a name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function unresolved(host: string, cause: unknown): never {
  throw failed(`there is no address for the name ${host}`, cause);
}

const words: Readonly<Record<Exclude<Reach, "public">, string>> = {
  loopback: "this device itself",
  "link-local": "the devices on this cable",
  private: "the home network",
  special: "no server",
};

/**
 * Throws `forbidden` for a local address, because a pattern such as `.*` must not allow it by accident. A pattern allows
 * it by the literal host: the address itself, `localhost`, or, in the home network, a name that only the home's router
 * gives. The owner of any other name could make it point to this network. The service's own ports must also be named.
 */
function checkAddress(
  url: URL,
  address: string,
  patterns: readonly string[],
  ownPorts: readonly number[],
  entry: string,
): void {
  const host = hostOf(url);
  const reach = reachOf(address);
  const names = patterns.map((pattern) => pattern.replaceAll("\\", "").toLowerCase());
  const isNamed = (name: string) => names.some((pattern) => holdsWord(pattern, name));
  const port = portOf(url);
  if (ownPorts.includes(port) && isOwnAddress(address) && !isNamed(`${url.hostname}:${port}`))
    throw refusal(url, "Tapdeck itself", entry);
  if (reach === "public") return;
  const isHome = reach === "private" && isHomeName(host);
  const isOwn = reach === "loopback" && host === "localhost";
  if ((isIP(host) > 0 || isHome || isOwn) && isNamed(url.hostname)) return;
  throw refusal(url, words[reach], entry);
}

/** True if the pattern contains `name` as a whole word: `my.nas` and `nas2` do not contain `nas`. */
function holdsWord(pattern: string, name: string): boolean {
  for (let at = pattern.indexOf(name); at >= 0; at = pattern.indexOf(name, at + 1)) {
    const [before = "", after = ""] = [pattern[at - 1], pattern[at + name.length]];
    if (!/[a-z0-9.-]/.test(before) && !/[a-z0-9-]/.test(after)) return true;
  }
  return false;
}

function refusal(url: URL, where: string, entry: string): ServiceError {
  const sentence = `${url.host} leads to ${where}, which ${entry} must name letter by letter`;
  return new ServiceError("forbidden", sentence);
}

/**
 * True for a name of the home network: RFC 6762 (.local), RFC 8375 (home.arpa), ICANN's reservation of .internal, and
 * other names that routers give.
 */
function isHomeName(host: string): boolean {
  return !host.includes(".") || /\.(local|lan|home|home\.arpa|internal|fritz\.box)$/.test(host);
}

/** A look-up cannot be cancelled. After an abort its result is ignored. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted.promise]);
}
