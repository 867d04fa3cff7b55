/** The responses for the files of the device's page. Every caller may have them, because they hold no secret. */
import { bundlePage } from "./page-bundle.ts" with { type: "macro" };

const bundle = bundlePage();

/** The page may load resources of the device itself only, and other pages may not embed it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const unhashed: ReadonlySet<string> = new Set(["/", "/number-forms.js"]);

const headers = {
  "content-security-policy": policy,
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The response for a path; undefined if it is no file of the page. */
export function pageFile(path: string, { headers: asked, method }: Request): Response | undefined {
  const file = Object.hasOwn(bundle, path) ? bundle[path] : undefined;
  if (file === undefined) return undefined;
  const gzip = Buffer.from(file.gzip, "base64");
  const takesGzip = /\bgzip\b/.test(asked.get("accept-encoding") ?? "");
  const body = takesGzip ? gzip : Bun.gunzipSync(gzip);
  return new Response(method === "HEAD" ? null : body, {
    headers: {
      ...headers,
      ...(takesGzip ? { "content-encoding": "gzip" } : {}),
      "content-type": file.type,
      vary: "accept-encoding",
      // The content behind a name with a hash never changes.
      "cache-control": unhashed.has(path) ? "no-cache" : "public, max-age=31536000, immutable",
    },
  });
}
