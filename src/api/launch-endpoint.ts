/**
 * `GET /l/{text}`: as though a token with that text had been scanned, for QR codes and simple tests (decisions, "Launch
 * endpoint"). A link is all that it takes, so it heeds who asks: a person who follows it, never a page in the background.
 */
import type { Audit } from "../core/audit.ts";
import { messageOf, ServiceError } from "../core/errors.ts";
import type { TokenParams } from "../core/token.ts";
import { isFollowedLink, saysNoOrigin } from "./access.ts";
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
  readonly audit: Audit;
}

export function answerLaunch(
  { launch, allowLaunch, audit }: LaunchEndpoint,
  visit: Pick<Visit, "request" | "access" | "address">,
): Response {
  const { request, access, address } = visit;
  if (request.method !== "GET") return sentence(405, "a launch is a GET", { allow: "GET" });
  if (!isFollowedLink(request.headers))
    return sentence(403, "pages may not launch in the background: follow the link yourself");
  // Elsewhere than at addresses that browsers trust, an image looks much like a link: such a browser gets a page first, which
  // launches once it is shown, and which no frame may show.
  if (saysNoOrigin(request.headers) && !request.headers.has(ownHeader)) return steppingStone();
  const text = textOf(request.url);
  if (text === undefined) return sentence(400, "the text is badly encoded: it must be percent-encoded UTF-8");
  if (text.trim() === "") return sentence(400, "there is no text behind the slash");
  if (access !== "device" && !allowLaunch(text)) {
    audit.refused("launch-not-allowed", { address });
    return sentence(
      403,
      "launching from afar is off, or not for this text: see allow_launch in the settings",
    );
  }
  try {
    // Whoever follows a link did not write it, on the device or not.
    launch(toToken({ text }), { trusted: false });
    if (access !== "device") audit.launched({ address });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "forbidden") return sentence(403, messageOf(error));
    return sentence(error.data?.limit === "scriptBytesMax" ? 400 : 503, messageOf(error));
  }
  const wantsPage = (request.headers.get("accept") ?? "").includes("text/html");
  return wantsPage
    ? htmlPage("Launched.", "default-src 'none'; frame-ancestors 'none'")
    : json(200, '{"launched":true}');
}

/** What the device's own page alone can send along: others would have to ask first, and are refused. */
const ownHeader = "x-tapdeck-launch";

const stepScript = `fetch(location.href,{headers:{"${ownHeader}":"1"}}).then(async(a)=>{document.querySelector("p").textContent=a.ok?"Launched.":await a.text()})`;
const stepHash = new Bun.CryptoHasher("sha256").update(stepScript).digest("base64");

function steppingStone(): Response {
  return htmlPage(
    `Launching …<noscript> needs JavaScript in this browser.</noscript></p><script>${stepScript}</script>`,
    `default-src 'none'; script-src 'sha256-${stepHash}'; connect-src 'self'; frame-ancestors 'none'`,
  );
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

function htmlPage(body: string, policy: string): Response {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
  };
  const html = `<!doctype html><meta name="viewport" content="width=device-width"><title>Tapdeck</title><p>${body}`;
  return new Response(html, { headers });
}
