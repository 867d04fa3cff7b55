/**
 * `GET /l/{text}`: as though a token with that text had been scanned, for QR codes and simple tests (decisions, "Launch
 * endpoint"). A link is all that it takes, so it heeds who asks: a person who follows it, never a page in the background.
 */
import { messageOf, ServiceError } from "../core/errors.ts";
import type { TokenParams } from "../core/token.ts";
import { json, sentence, type Visit } from "./http.ts";
import { toToken } from "./schemas.ts";

/** What `allow_launch` says: whether a remote caller may launch this text. */
export type AllowLaunch = (text: string) => boolean;

const prefixes = ["/l/", "/run/", "/r/"] as const;

export function isLaunchPath(path: string): boolean {
  return prefixes.some((prefix) => path.startsWith(prefix));
}

export interface LaunchEndpoint {
  readonly launch: (token: TokenParams, from: { readonly trusted: boolean }) => void;
  readonly allowLaunch: AllowLaunch;
}

export function answerLaunch({ launch, allowLaunch }: LaunchEndpoint, visit: Visit): Response {
  const { request, access } = visit;
  if (request.method !== "GET") return sentence(405, "a launch is a GET", { allow: "GET" });
  if (isBackground(request.headers))
    return sentence(403, "pages may not launch in the background: follow the link yourself");
  const text = textOf(request.url);
  if (text === undefined) return sentence(400, "the text is badly encoded: it must be percent-encoded UTF-8");
  if (text.trim() === "") return sentence(400, "there is no text behind the slash");
  if (access !== "device" && !allowLaunch(text))
    return sentence(
      403,
      "launching from afar is off, or not for this text: see allow_launch in the settings",
    );
  try {
    // Whoever follows a link did not write it, on the device or not.
    launch(toToken({ text }), { trusted: false });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "forbidden") return sentence(403, messageOf(error));
    return sentence(error.data?.limit === "scriptBytesMax" ? 400 : 503, messageOf(error));
  }
  const wantsPage = (request.headers.get("accept") ?? "").includes("text/html");
  return wantsPage ? page() : json(200, '{"launched":true}');
}

/**
 * Prefetching, and whatever a page asks for without its reader having followed a link (Fetch Metadata Request Headers,
 * W3C). An older browser that sends none of these sends an Origin with its requests to others.
 */
function isBackground(headers: Headers): boolean {
  if (headers.has("sec-purpose") || headers.has("purpose") || headers.get("x-moz") === "prefetch")
    return true;
  const site = headers.get("sec-fetch-site");
  if (site !== "cross-site" && site !== "same-site") return false;
  const isFollowed =
    headers.get("sec-fetch-mode") === "navigate" &&
    (headers.get("sec-fetch-dest") ?? "document") === "document";
  return !isFollowed;
}

/** All behind the prefix, the query string too, percent-decoded once; undefined where that fails. */
function textOf(url: string): string | undefined {
  const rest = url.slice(url.indexOf("/", url.indexOf("://") + 3));
  const prefix = prefixes.find((one) => rest.startsWith(one)) ?? "";
  try {
    return decodeURIComponent(rest.slice(prefix.length));
  } catch {
    // A stray percent sign, or bytes that are no UTF-8.
    return undefined;
  }
}

function page(): Response {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
  };
  const html =
    '<!doctype html><meta name="viewport" content="width=device-width"><title>Tapdeck</title><p>Launched.';
  return new Response(html, { headers });
}
