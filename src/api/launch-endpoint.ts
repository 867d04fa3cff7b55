/**
 * `GET /l/{text}` launches its text as if a token with this text had been scanned, for QR codes and simple programs. A
 * program launches at once. A browser gets a page with a button (`launch-page.ts`), because no header of a browser proves
 * that a person wanted the request. If a foreign server redirects a typed address, Chromium still sends
 * `Sec-Fetch-Site: none` and `Sec-Fetch-User: ?1`.
 */
import type { Audit } from "../core/audit.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { TokenParams } from "../core/token.ts";
import { isBrowser, isPrefetch } from "./admission/access.ts";
import { json, sentence, tooMany, type Visit } from "./http.ts";
import { launchPage, pressHeader } from "./launch-page.ts";
import { toToken } from "./schemas.ts";

/** Whether the setting `allow_launch` lets a remote caller launch this text. */
export type AllowLaunch = (text: string) => boolean;

const prefixes = ["/l/", "/run/", "/r/"] as const;

export function isLaunchPath(path: string): boolean {
  return prefixes.some((prefix) => path.startsWith(prefix));
}

const againMs = 1000; // The time after which a caller may try again at a limit.

interface LaunchEndpoint {
  readonly launch: (token: TokenParams, from: { readonly trusted: boolean }) => void;
  readonly allowLaunch: AllowLaunch;
  readonly audit: Audit;
}

export function answerLaunch(
  { launch, allowLaunch, audit }: LaunchEndpoint,
  visit: Pick<Visit, "request" | "access" | "address">,
): Response {
  const { request, access, address } = visit;
  if (request.method !== "GET") return sentence(405, "a launch is a GET", { allow: "GET" });
  const manner = mannerOf(request.headers);
  if (manner === "background")
    return sentence(403, "pages may not launch in the background: open the link, and press its button");
  const text = textOf(request.url);
  if (text === undefined) return sentence(400, "the text is badly encoded: it must be percent-encoded UTF-8");
  if (text.trim() === "") return sentence(400, "there is no text after the slash");
  if (access !== "device" && !allowLaunch(text)) {
    audit.refused("launch-not-allowed", { address });
    return sentence(
      403,
      "remote launches are off, or not allowed for this text: see allow_launch in the settings",
    );
  }
  try {
    const token = toToken({ text });
    if (manner === "ask") return launchPage(text);
    // Anybody can write a link, so its text is untrusted even on the device.
    launch(token, { trusted: false });
    if (access !== "device") audit.launched({ address });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "forbidden") return sentence(403, messageOf(error));
    const limit = error.data?.limit;
    if (limit === undefined) return sentence(503, messageOf(error));
    return limit === "scriptBytesMax" ? sentence(400, messageOf(error)) : tooMany(messageOf(error), againMs);
  }
  return json(200, '{"launched":true}');
}

/**
 * The effect of a request: `launch` at once, `ask` a person with the page, or no effect for a request that a page sends
 * in the `background`. The header of the button's request proves its origin. A foreign page needs a CORS preflight to
 * send it (Fetch Standard, 4.8), which is never granted.
 */
function mannerOf(headers: Headers): "launch" | "ask" | "background" {
  if (isPrefetch(headers)) return "background";
  if (headers.has(pressHeader)) return isOwnPage(headers) ? "launch" : "background";
  if (!isBrowser(headers)) return "launch";
  const mode = headers.get("sec-fetch-mode") ?? "navigate";
  const dest = headers.get("sec-fetch-dest") ?? "document";
  return mode === "navigate" && dest === "document" ? "ask" : "background";
}

/** False if a header of the browser names another page as the sender. */
function isOwnPage(headers: Headers): boolean {
  const origin = headers.get("origin");
  const isForeign =
    origin !== null &&
    origin.toLowerCase().replace(/^https?:\/\//, "") !== headers.get("host")?.toLowerCase();
  return !isForeign && (headers.get("sec-fetch-site") ?? "same-origin") === "same-origin";
}

/** The rest after the prefix with the query string, percent-decoded once; undefined if it is malformed. */
function textOf(url: string): string | undefined {
  const rest = url.slice(url.indexOf("/", url.indexOf("://") + 3));
  const prefix = prefixes.find((one) => rest.startsWith(one)) ?? "";
  try {
    return decodeURIComponent(rest.slice(prefix.length));
  } catch {
    // The text has a stray percent sign, or is invalid UTF-8.
    return undefined;
  }
}
