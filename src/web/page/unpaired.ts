/** The card that pairs this phone: instructions, and the form for the short code. */
import { pair } from "../../client/client.ts";
import { el } from "./dom.ts";
import { address, keep } from "./page-session.ts";
import { PageFault, say, sentenceOf } from "./page-texts.ts";

interface PairingFormParts {
  /** The reason to pair, in a sentence. */
  readonly why: string;
  /** A code from the address; it is tried at once. */
  readonly known: string | undefined;
  /** Called after the credentials are stored. */
  readonly onPaired: () => void;
}

/** The only card for a phone without rights. */
export function unpairedCard(parts: PairingFormParts): HTMLElement {
  return el(
    "section",
    { class: "alone", "aria-label": say.pairThis },
    el("h2", {}, say.pairThis),
    ...pairingForm(parts),
  );
}

/** A collapsed card below the others; it is open if there is a code to try. */
export function pairMoreCard(parts: PairingFormParts): HTMLElement {
  const title = say.pairMore;
  const summary = el("summary", {}, el("h2", {}, title));
  const details = el("details", {}, summary, ...pairingForm(parts));
  details.open = parts.known !== undefined;
  return el("section", { "aria-label": title }, details);
}

const digitsOfCode = 6;

function pairingForm({ why, known, onPaired }: PairingFormParts): readonly HTMLElement[] {
  const code = el("input", {
    class: "code",
    inputmode: "numeric",
    autocomplete: "one-time-code",
    "aria-label": say.digits,
    placeholder: "000 000",
    maxlength: "9",
    required: "",
  });
  const go = el("button", { class: "main wide" }, say.pair);
  const told = el("p", { class: "more bad", role: "alert" });
  const form = el("form", {}, el("p", {}, code), told, go);
  const tryCode = async () => {
    go.disabled = true;
    told.textContent = "";
    try {
      if (code.value.replace(/\D/g, "").length !== digitsOfCode) throw new PageFault(say.sixDigits);
      keep(await pair(address, code.value, { name: phoneName() }));
      onPaired();
    } catch (error) {
      told.textContent = sentenceOf(error);
      code.select();
    } finally {
      go.disabled = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void tryCode();
  });
  if (known !== undefined) {
    code.value = known;
    void tryCode();
  }
  const [first, ...others] = say.howToPair;
  // Most visitors have the code before them.
  return [
    el("p", {}, why),
    el("p", {}, first),
    form,
    ...others.map((sentence) => el("p", { class: "quiet" }, sentence)),
  ];
}

/** The name in the owner's list: the phone's system. */
function phoneName(): string {
  const system =
    /iPhone|iPad|Android|Windows|Mac OS|CrOS|Linux/.exec(navigator.userAgent)?.[0] ?? say.someBrowser;
  return system === "Mac OS" ? "Mac" : system;
}
