/**
 * The page that a browser gets for a launch link. It shows the text, and launches it when a person presses the button. A foreign
 * page can open it, but it can neither frame it nor press the button.
 */
import { launchShownCharsMax } from "../core/limits.ts";
import { printable } from "../core/text.ts";

/** Only the button's request has this header. */
export const pressHeader = "x-tapdeck-launch";

const enableAfterMs = 700; // A double-click that began on another page has ended: desktops allow 500 ms for one.

/**
 * The button is enabled after the page was visible and focused, without a key or button pressed, for `enableAfterMs`. A
 * foreign page may open this one under the pointer of a person who clicks on something else.
 */
const script = `
const [title, hint, button, said] = ["h1", "#hint", "button", "output"].map((name) => document.querySelector(name));
let timer;
let isSent = false;
const enableLater = () => {
  clearTimeout(timer);
  button.disabled = true;
  if (isSent || document.visibilityState !== "visible" || !document.hasFocus()) return;
  timer = setTimeout(() => { button.disabled = false; }, ${enableAfterMs});
};
const postpone = () => { if (button.disabled) enableLater(); };
for (const name of ["focus", "blur", "pageshow"]) addEventListener(name, enableLater);
for (const name of ["pointerdown", "keydown"]) addEventListener(name, postpone, true);
document.addEventListener("visibilitychange", enableLater);
button.addEventListener("click", async (event) => {
  if (!event.isTrusted || button.disabled || isSent) return;
  isSent = true;
  enableLater();
  said.textContent = "Launching …";
  try {
    const answer = await fetch(location.href, {
      headers: { "${pressHeader}": "1" }, mode: "same-origin", cache: "no-store", redirect: "error",
    });
    if (answer.ok) {
      title.textContent = "Launched.";
      said.textContent = "";
      hint.hidden = button.hidden = true;
      return;
    }
    said.textContent = "Not launched: " + (await answer.text()).trim() + ".";
  } catch {
    said.textContent = "Not launched: the device does not answer.";
  }
  isSent = false;
  enableLater();
});
enableLater();
`;

const style = `
:root { color-scheme: light dark; --ground: #f4f4fa; --card: #fff; --text: #14183a; --quiet: #565b7d; --line: #e0e1ee;
  --accent: #b93c0b; --on-accent: #fff; font: 100% / 1.45 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --ground: #14183a; --card: #1f2450; --text: #eef0fb; --quiet: #b9c0e8;
  --line: #363c74; --accent: #ff8a50; --on-accent: #2a0f02; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem; background: var(--ground); color: var(--text); }
main { max-width: 32rem; margin: 0 auto; padding: 1.25rem; border: 1px solid var(--line); border-radius: 0.9rem;
  background: var(--card); }
h1 { margin: 0 0 0.9rem; font-size: 1.35rem; }
p { margin: 0.9rem 0; color: var(--quiet); }
code { display: block; padding: 0.8rem; border: 1px solid var(--line);
  border-radius: 0.6rem; background: var(--ground); font: 1rem / 1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
button { width: 100%; min-height: 3.25rem; border: 0; border-radius: 0.7rem; background: var(--accent);
  color: var(--on-accent); font: 600 1.1rem system-ui, sans-serif; cursor: pointer; }
button:disabled { opacity: 0.45; pointer-events: none; }
button:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
[hidden] { display: none; }
output { display: block; margin-top: 0.9rem; overflow-wrap: anywhere; }
main > :nth-last-child(1 of :not([hidden], :empty)) { margin-bottom: 0; }
output:empty { display: none; }
`;

const hashOf = (text: string) => `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;

const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** The page for `text`. The page shows control characters as their numbers. */
export function launchPage(text: string): Response {
  const characters = [...text];
  const shown = Bun.escapeHTML(printable(characters.slice(0, launchShownCharsMax).join("")));
  const more = characters.length - launchShownCharsMax;
  const rest = more > 0 ? `<p>The text goes on: ${more} more characters are not shown.` : "";
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Launch? – Tapdeck</title>
<style>${style}</style>
<main>
<h1>Launch this?</h1>
<code dir="ltr">${shown}</code>${rest}
<p id="hint">A link or a QR code led here. Nothing starts until you press the button.</p>
<button type="button" disabled>Launch</button>
<output></output>
<noscript><p>The button needs JavaScript.</p></noscript>
</main>
<script>${script}</script>
</html>
`;
  return new Response(html, { headers });
}
