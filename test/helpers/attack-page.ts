/**
 * A hostile page in the browser of its visitor. It attacks the device's service. The page tries each way, and reports the
 * result of each. It runs in the browser, as text, so it may use nothing of this module.
 */

export interface AttackResult {
  readonly way: string;
  /** The text that it could read; empty if it could read nothing. */
  readonly read: string;
}

export interface Attack {
  /** The service's authority, such as `127.0.0.1:7497`. */
  readonly target: string;
  /** Tries each way whose number leaves this remainder when divided by `parts`. */
  readonly part: number;
  readonly parts: number;
}

export async function attack({ target, part, parts }: Attack): Promise<AttackResult[]> {
  const request = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "launch", params: "SNES/Game.sfc" });
  const path = "/l/SNES/Game.sfc";
  const results: AttackResult[] = [];
  const timeMs = 1500;
  let ways = 0;
  const tryOut = async (way: string, run: () => Promise<string>) => {
    ways += 1;
    if (ways % parts !== part) return;
    const late = new Promise<string>((resolve) => setTimeout(() => resolve(""), timeMs));
    const read = await Promise.race([run(), late]).catch(() => "");
    results.push({ way, read });
  };
  const text = async (answer: Response) => (answer.type === "opaque" ? "" : answer.ok ? answer.text() : "");
  const loaded = (element: HTMLElement, url: string) =>
    new Promise<string>((resolve) => {
      // Loading alone does not read anything. Only a launch would be a success of the attack.
      element.addEventListener("load", () => resolve(""));
      element.addEventListener("error", () => resolve(""));
      element.setAttribute(element.tagName === "LINK" ? "href" : "src", url);
      document.head.append(element);
    });

  const socket = (url: string) =>
    new Promise<string>((resolve) => {
      const line = new WebSocket(url);
      const heard: string[] = [];
      line.addEventListener("open", () => {
        heard.push("open");
        for (const one of ["ping", request]) line.send(one);
      });
      line.addEventListener("message", ({ data }) => heard.push(String(data)));
      line.addEventListener("close", () => resolve(heard.join(" ")));
      setTimeout(() => resolve(heard.join(" ")), timeMs - 200);
    });
  await Promise.all([
    tryOut("WebSocket", () => socket(`ws://${target}/api/v0.1`)),
    tryOut("WebSocket, by another path", () => socket(`ws://${target}/api`)),
    tryOut("EventSource", async () => {
      const events = new EventSource(`http://${target}/api/events`);
      return new Promise((resolve) => {
        events.addEventListener("open", () => resolve("open"));
        events.addEventListener("message", ({ data }) => resolve(String(data)));
        events.addEventListener("error", () => resolve(""));
      });
    }),
    tryOut("WebSocket to a launch", () => socket(`ws://${target}${path}`)),
    tryOut("EventSource of a launch", async () => {
      const events = new EventSource(`http://${target}${path}?events`);
      return new Promise((resolve) => {
        events.addEventListener("message", ({ data }) => resolve(String(data)));
        events.addEventListener("error", () => resolve(""));
      });
    }),
    tryOut("fetch a launch", async () => text(await fetch(`http://${target}${path}`))),
    tryOut("fetch a launch, no-cors", async () =>
      text(await fetch(`http://${target}${path}`, { mode: "no-cors", credentials: "include" })),
    ),
    tryOut("fetch a launch with the page's own header", async () =>
      text(await fetch(`http://${target}${path}`, { headers: { "x-tapdeck-launch": "1" } })),
    ),
    tryOut("fetch a launch as though it were followed", async () =>
      text(await fetch(`http://${target}${path}`, { mode: "no-cors", headers: { accept: "text/html" } })),
    ),
    tryOut("fetch the events", async () => text(await fetch(`http://${target}/api/v0.1/events`))),
    tryOut("fetch the page", async () => text(await fetch(`http://${target}/`))),
    tryOut("fetch the health", async () => text(await fetch(`http://${target}/health`))),
    ...["text/plain", "application/json", "application/x-www-form-urlencoded"].map((type) =>
      tryOut(`POST ${type}`, async () =>
        text(
          await fetch(`http://${target}/api/v0.1`, {
            method: "POST",
            body: request,
            headers: { "content-type": type },
          }),
        ),
      ),
    ),
    tryOut("POST no-cors", async () =>
      text(await fetch(`http://${target}/api/v0.1`, { method: "POST", mode: "no-cors", body: request })),
    ),
    tryOut("sendBeacon", async () => {
      navigator.sendBeacon(`http://${target}/api/v0.1`, request);
      return "";
    }),
    tryOut("image", () => loaded(document.createElement("img"), `http://${target}${path}?image`)),
    ...["", "v0.1/"].map((version) =>
      tryOut("image of the events", () =>
        loaded(document.createElement("img"), `http://${target}/api/${version}events`),
      ),
    ),
    tryOut("fetch the events, no-cors", async () =>
      text(await fetch(`http://${target}/api/events`, { mode: "no-cors", referrerPolicy: "no-referrer" })),
    ),
    ...["object", "embed", "frame"].map((tag) =>
      tryOut(tag, async () => {
        const element = document.createElement(tag);
        element.setAttribute(tag === "object" ? "data" : "src", `http://${target}${path}?${tag}`);
        document.body.append(element);
        return "";
      }),
    ),
    ...["video", "audio", "track"].map((tag) =>
      tryOut(tag, () => loaded(document.createElement(tag), `http://${target}${path}?${tag}`)),
    ),
    tryOut("styles, fonts and pictures of styles", async () => {
      const style = document.createElement("style");
      const urlOf = (what: string) => `url("http://${target}${path}?${what}")`;
      style.textContent = `@import ${urlOf("import")}; @font-face { font-family: x; src: ${urlOf("font")} }
        body { font-family: x; background: ${urlOf("background")} }`;
      document.head.append(style);
      return "";
    }),
    tryOut("module", async () => String(await import(`http://${target}${path}?module`))),
    tryOut("worker", async () => {
      new Worker(`http://${target}${path}?worker`);
      return "";
    }),
    tryOut("ping of a link", async () => {
      const link = document.createElement("a");
      link.href = "#";
      link.setAttribute("ping", `http://${target}${path}?ping`);
      document.body.append(link);
      link.click();
      return "";
    }),
    tryOut("frame with an opaque origin", async () => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts allow-forms");
      frame.srcdoc = `<script>
        fetch("http://${target}${path}?sandbox", { headers: { "x-tapdeck-launch": "1" } }).catch(() => {});
        fetch("http://${target}${path}?sandbox", { mode: "no-cors" }).catch(() => {});
        new WebSocket("ws://${target}/api/v0.1");
        location.href = "http://${target}${path}?sandbox";
      </script>`;
      document.body.append(frame);
      return "";
    }),
    tryOut("fetch a launch by a redirect", async () => {
      const there = encodeURIComponent(`http://${target}${path}?redirect`);
      return text(await fetch(`/redirect?${there}`, { mode: "no-cors" }));
    }),
    tryOut("script", () => loaded(document.createElement("script"), `http://${target}${path}?script`)),
    ...["prefetch", "preload", "stylesheet", "prerender", "icon", "manifest"].map((rel) =>
      tryOut(`link ${rel}`, async () => {
        const link = document.createElement("link");
        link.rel = rel;
        if (rel === "preload") link.setAttribute("as", "fetch");
        return loaded(link, `http://${target}${path}?${rel}`);
      }),
    ),
    tryOut("speculation rules", async () => {
      const rules = document.createElement("script");
      rules.type = "speculationrules";
      const urls = [`http://${target}${path}?speculation`, `http://${target}/api/events`];
      rules.textContent = JSON.stringify({
        prefetch: [{ source: "list", urls }],
        prerender: [{ source: "list", urls }],
      });
      document.head.append(rules);
      return "";
    }),
    ...[path, "/"].map((inner) =>
      tryOut(`iframe of ${inner}`, async () => {
        const frame = document.createElement("iframe");
        frame.src = `http://${target}${inner}`;
        const seen = new Promise<string>((resolve) => {
          frame.addEventListener("load", () => {
            try {
              // The browser replaces a refused frame by a page of its own, which has an opaque origin.
              resolve(frame.contentDocument?.body.textContent ?? "");
            } catch {
              resolve("");
            }
          });
        });
        document.body.append(frame);
        return seen;
      }),
    ),
    ...(["get", "post"] as const).flatMap((method) =>
      ["text/plain", "application/x-www-form-urlencoded"].map((enctype) =>
        tryOut(`form ${method} ${enctype}, into a frame`, async () => {
          const frame = document.createElement("iframe");
          frame.name = `frame-${method}-${enctype}`;
          const form = document.createElement("form");
          form.method = method;
          form.enctype = enctype;
          form.action = `http://${target}${method === "get" ? path : "/api/v0.1"}`;
          form.target = frame.name;
          const field = document.createElement("input");
          // With text/plain the body becomes JSON: {"jsonrpc":...,"x":"="}.
          field.name = `${request.slice(0, -1)},"x":"`;
          field.value = '"}';
          form.append(field);
          document.body.append(frame, form);
          form.submit();
          return "";
        }),
      ),
    ),
  ]);
  // After this time the last message has arrived.
  await new Promise((resolve) => setTimeout(resolve, 500));
  return results;
}
