/** For those who were not let in yet: the short code, and how to get it. */
import { pair } from "../../client/client.ts";
import { keep } from "./credentials.ts";
import { el, sentenceOf } from "./dom.ts";
import { address } from "./session.ts";

/** A `known` code is tried at once. `onPaired` is called with the credentials kept. */
export function unpairedCard(why: string, known: string | undefined, onPaired: () => void): HTMLElement {
  const code = el("input", {
    class: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    "aria-label": "The six digits",
    placeholder: "000 000",
    maxlength: "9",
    required: "",
  });
  const go = el("button", { class: "main" }, "Pair");
  const told = el("p", { class: "more bad", role: "alert" });
  const form = el("form", {}, el("p", {}, code), told, go);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go.disabled = true;
    told.textContent = "";
    pair(address, code.value, { name: phoneName() })
      .then((identity) => {
        keep(identity);
        onPaired();
      })
      .catch((error: unknown) => {
        told.textContent = sentenceOf(error);
        code.select();
      })
      .finally(() => {
        go.disabled = false;
      });
  });
  if (known !== undefined) {
    code.value = known;
    // It is tried once it is in the page.
    queueMicrotask(() => form.requestSubmit());
  }
  return el(
    "section",
    { class: "alone", "aria-label": "Pair this phone" },
    el("h2", {}, "Pair this phone"),
    el("p", {}, why),
    el(
      "p",
      {},
      "On the device, “tapdeck pair” shows a QR code; “tapdeck pair --code”, or a card that says **pair, shows six digits to type here:",
    ),
    form,
  );
}

/** By which the owner knows it in the list: what it runs, in a word. */
function phoneName(): string {
  const system = /iPhone|iPad|Android|Windows|Mac OS|CrOS|Linux/.exec(navigator.userAgent)?.[0] ?? "browser";
  return system === "Mac OS" ? "Mac" : system;
}
