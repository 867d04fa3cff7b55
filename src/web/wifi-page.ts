/**
 * The page of the access point. Phones show it in a small browser of their own, which keeps nothing and may run no scripts, so
 * it is one form.
 */

import { filled } from "../core/text.ts";
import type { WifiNetwork, WifiState } from "../core/wifi-shapes.ts";
import type { WifiTexts } from "./wifi-texts.ts";

const style = `
:root { color-scheme: light dark; --ground: #f4f4fa; --card: #fff; --text: #14183a; --quiet: #565b7d; --line: #c9cbe0;
  --accent: #b93c0b; --on-accent: #fff; --wrong: #a3123a; font: 100% / 1.45 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --ground: #14183a; --card: #1f2450; --text: #eef0fb; --quiet: #b9c0e8;
  --line: #4a5190; --accent: #ff8a50; --on-accent: #2a0f02; --wrong: #ff9db4; } }
body { margin: 0; background: var(--ground); color: var(--text); }
main { max-width: 30rem; margin: 0 auto; padding: 1.2rem 1rem 2rem; }
h1 { margin: 0 0 0.4rem; font-size: 1.5rem; }
p { margin: 0 0 1rem; color: var(--quiet); }
[role=alert] { color: var(--wrong); font-weight: 600; }
fieldset { margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 0.7rem; padding: 0; background: var(--card); }
legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
label { display: flex; gap: 0.7rem; align-items: center; min-height: 3rem; padding: 0 0.9rem; overflow-wrap: anywhere; }
fieldset label + label { border-top: 1px solid var(--line); }
label small { margin-left: auto; color: var(--quiet); text-align: right; }
input[type=radio] { flex: none; width: 1.2rem; height: 1.2rem; accent-color: var(--accent); }
.field { display: block; padding: 0; margin-bottom: 1rem; min-height: 0; }
.field input { box-sizing: border-box; width: 100%; min-height: 3rem; margin-top: 0.3rem; padding: 0 0.8rem;
  border: 1px solid var(--line); border-radius: 0.7rem; background: var(--card); color: inherit; font: inherit; }
button { width: 100%; min-height: 3.2rem; border: 0; border-radius: 0.7rem; background: var(--accent);
  color: var(--on-accent); font: 600 1.1rem system-ui, sans-serif; }
button.quiet { margin-top: 0.7rem; background: none; color: var(--text); border: 1px solid var(--line); }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
`;

const styleHash = new Bun.CryptoHasher("sha256").update(style).digest("base64");

const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

export interface WifiPageParts {
  readonly language: { readonly code: string; readonly texts: WifiTexts };
  readonly state: WifiState;
  readonly networks: readonly WifiNetwork[];
  /** A form that was not accepted: a sentence that says why, and the contents of its fields. */
  readonly refused?: { readonly why: string; readonly id: string; readonly name: string };
}

/** The form, with the reason why the last network did not work. */
export function wifiFormPage({ language, state, networks, refused }: WifiPageParts): Response {
  const { texts } = language;
  const { fault, network = "" } = state;
  const tried = fault === undefined ? "" : filled(texts.faults[fault], { network: quoted(network) });
  const wrong = refused?.why ?? tried;
  const [first] = networks.filter(({ security }) => security !== "other");
  const chosen =
    refused?.id ?? networks.find(({ name }) => name === network)?.id ?? first?.id ?? otherNetwork;
  const rows = networks.map((one) => networkRow(one, one.id === chosen, texts));
  const other = `<label><input type="radio" name="network" value="${otherNetwork}"${chosen === otherNetwork ? " checked" : ""}>${texts.other}</label>`;
  return page(language, texts.title, [
    wrong === "" ? "" : `<p role="alert">${Bun.escapeHTML(wrong)}</p>`,
    `<p>${networks.length === 0 ? texts.nothing : texts.hint}</p>`,
    `<form method="post" action="/join" autocomplete="off">`,
    `<fieldset><legend>${texts.name}</legend>${rows.join("")}${other}</fieldset>`,
    `<label class="field">${texts.other}: ${texts.name}<input name="name" maxlength="32" autocapitalize="none" autocorrect="off" spellcheck="false" value="${Bun.escapeHTML(refused?.name ?? "")}"></label>`,
    `<label class="field">${texts.password}<input name="password" type="text" maxlength="64" autocapitalize="none" autocorrect="off" spellcheck="false" autocomplete="off"></label>`,
    `<button>${texts.connect}</button></form>`,
    `<form method="post" action="/search"><button class="quiet">${texts.search}</button></form>`,
  ]);
}

/** The value of the network whose name is typed. */
export const otherNetwork = "other";

function networkRow({ id, name, security }: WifiNetwork, isChosen: boolean, texts: WifiTexts): string {
  const note = { open: texts.open, password: "", other: texts.notHere }[security];
  const attributes = security === "other" ? " disabled" : isChosen ? " checked" : "";
  return `<label><input type="radio" name="network" value="${id}"${attributes}>${Bun.escapeHTML(name)}${note === "" ? "" : `<small>${note}</small>`}</label>`;
}

/** A page that says that a network is being tried, or that networks are being searched. */
export function wifiWaitPage(
  language: WifiPageParts["language"],
  what: { readonly network: string } | "search",
): Response {
  const { texts } = language;
  return what === "search"
    ? page(language, texts.searching, [`<p role="status">${texts.searchingHint}</p>`])
    : page(language, filled(texts.trying, { network: quoted(what.network) }), [
        `<p role="status">${texts.tryingHint}</p>`,
      ]);
}

function quoted(name: string): string {
  return `“${name}”`;
}

function page({ code }: WifiPageParts["language"], title: string, rows: readonly string[]): Response {
  const html = `<!doctype html>
<html lang="${code}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tapdeck</title>
<style>${style}</style>
<main>
<h1>${Bun.escapeHTML(title)}</h1>
${rows.filter((row) => row !== "").join("\n")}
</main>
</html>
`;
  return new Response(html, { headers });
}
