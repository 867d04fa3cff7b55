/**
 * The web server of the access point, for the phone that sets up the Wi-Fi. It requires no right, because a phone needs
 * the password on the screen to join.
 */

import { wifiFormBytesMax, wifiNameBytesMax } from "../core/console-limits.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { isWifiPassword, type WifiReport, type WifiRequest } from "../core/wifi-shapes.ts";
import { otherNetwork, wifiFormPage, wifiWaitPage } from "../web/wifi-page.ts";
import { wifiTexts } from "../web/wifi-texts.ts";

interface PointParts {
  /** The address of the access point. */
  readonly address: string;
  /** With 0 the kernel chooses a free port. */
  readonly port: number;
  readonly report: () => WifiReport;
  readonly join: (request: WifiRequest) => Promise<void>;
  readonly scan: () => Promise<void>;
  readonly log: Log;
}

/** Serves the page until closed. Throws if it cannot listen. */
export function servePointPage({ address, port, report, join, scan, log }: PointParts) {
  const languageOf = (request: Request) => wifiTexts(request.headers.get("accept-language"));
  const form = (request: Request, refused?: { why: string; id: string; name: string }) => {
    const state = report();
    return wifiFormPage({
      language: languageOf(request),
      state,
      networks: state.networks,
      ...(refused && { refused }),
    });
  };
  const joinBy = async (request: Request) => {
    const language = languageOf(request);
    const fields = new URLSearchParams(await request.text());
    const [id = "", typed = "", password = ""] = ["network", "name", "password"].map(
      (key) => fields.get(key) ?? "",
    );
    const isOther = id === otherNetwork;
    const chosen = isOther ? Buffer.from(typed).toString("hex") : id;
    const network = report().networks.find((one) => one.id === chosen);
    const refuse = (why: string) => form(request, { why, id, name: typed });
    if (chosen === "" || chosen.length > 2 * wifiNameBytesMax || (!isOther && network === undefined))
      return refuse(language.texts.nameRule);
    const isOpen = network === undefined ? password === "" : network.security === "open";
    if (!isOpen && !isWifiPassword(password)) return refuse(language.texts.passwordRule);
    await join({ id: chosen, password: isOpen ? "" : password });
    return wifiWaitPage(language, { network: network?.name ?? typed });
  };
  const server = Bun.serve({
    hostname: address,
    port,
    maxRequestBodySize: wifiFormBytesMax,
    idleTimeout: 10,
    fetch: async (request, { port: own }) => {
      const { method, url, headers } = request;
      const origin = own === 80 ? `http://${address}` : `http://${address}:${own}`;
      const { pathname } = new URL(url);
      // All names lead to this server. A phone shows the page if its own request is redirected.
      if (headers.get("host") !== new URL(origin).host)
        return new Response(null, {
          status: 302,
          headers: { location: `${origin}/`, "cache-control": "no-store" },
        });
      if (method !== "POST") return pathname === "/" ? form(request) : Response.redirect(`${origin}/`, 302);
      // A page of another site must not set up a network.
      if (![null, origin].includes(headers.get("origin"))) return new Response(null, { status: 403 });
      if (pathname === "/join") return joinBy(request);
      if (pathname !== "/search") return new Response(null, { status: 404 });
      await scan();
      return wifiWaitPage(languageOf(request), "search");
    },
    error(error) {
      log.warn("wifi", "a request was not answered", { error: messageOf(error) });
      return new Response(`${messageOf(error)}\n`, { status: 500 });
    },
  });
  return {
    address,
    port: server.port,
    close: () => void server.stop(true),
  };
}
