/**
 * A web server of a stranger, whose pages lead a visitor to the device without a click. As a program it serves the given
 * address, and prints its port: `bun stranger.ts 10.77.0.2`.
 */

/** The page of each way, which leads to `url`. */
const pages: Readonly<Record<string, (url: string) => string>> = {
  assign: (url) => `<script>location.assign("${url}")</script>`,
  href: (url) => `<script>location.href = "${url}"</script>`,
  replace: (url) => `<script>location.replace("${url}")</script>`,
  navigation: (url) => `<script>navigation.navigate("${url}")</script>`,
  refresh: (url) => `<meta http-equiv="refresh" content="0;url=${url}">`,
  "refresh without a referrer": (url) =>
    `<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}">`,
  "form get": (url) => `<form action="${url}"></form><script>document.forms[0].submit()</script>`,
  "form post": (url) =>
    `<form method="post" action="${url}"></form><script>document.forms[0].submit()</script>`,
  "link pressed by a script": (url) => `<a href="${url}">Link</a><script>document.links[0].click()</script>`,
  "link to a new window": (url) =>
    `<a target="_blank" href="${url}">Link</a><script>document.links[0].click()</script>`,
  "link to a download": (url) =>
    `<a download href="${url}">Link</a><script>document.links[0].click()</script>`,
  "window.open": (url) => `<script>open("${url}")</script>`,
  "sandboxed frame": (url) =>
    `<iframe sandbox="allow-scripts allow-top-navigation" srcdoc='<script>top.location = "${url}"</script>'></iframe>`,
};

/** Answers without a page that lead to `url`. */
const headers: Readonly<Record<string, (url: string) => ResponseInit>> = {
  redirect: (location) => ({ status: 302, headers: { location } }),
  "redirect that keeps the method": (location) => ({ status: 307, headers: { location } }),
  "Refresh header": (url) => ({ headers: { refresh: `0;url=${url}`, "content-type": "text/html" } }),
};

/** All ways by which a page or an answer of the stranger leads its visitor elsewhere. */
export const leadingWays: readonly string[] = [...Object.keys(pages), ...Object.keys(headers)];

/** The path that leads to `url` in this way. Any other path is a page with a link, `#link`, to an address of the test. */
export function pathOf(way: string, url: string): string {
  return `/${encodeURIComponent(way)}?${encodeURIComponent(url)}`;
}

export function serveStranger(hostname: string): Bun.Server<undefined> {
  return Bun.serve({
    hostname,
    port: 0,
    fetch({ url }) {
      const { pathname, search } = new URL(url);
      const [way, target] = [decodeURIComponent(pathname.slice(1)), decodeURIComponent(search.slice(1))];
      const bare = headers[way]?.(target);
      if (bare !== undefined) return new Response("<!doctype html>", bare);
      const html = `<!doctype html><title>Stranger</title><body><a id="link">A link</a>${pages[way]?.(target) ?? ""}`;
      return new Response(html, { headers: { "content-type": "text/html", connection: "close" } });
    },
  });
}

if (import.meta.main) process.stdout.write(`${serveStranger(Bun.argv[2] ?? "127.0.0.1").port}\n`);
