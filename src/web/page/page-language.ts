/**
 * The page's language: the visitor's choice, which the browser keeps, or otherwise the first known language of the
 * browser's list.
 */
import { el } from "./dom.ts";
import type { PageTexts } from "./languages/english.ts";
import type { Numbers } from "./languages/forms.ts";
import { say, speak } from "./page-texts.ts";

interface Language {
  /** The name of the language in that language. */
  readonly name: string;
  /** Loads the texts; English is part of the page. */
  readonly load?: () => Promise<(numbers: Numbers) => PageTexts>;
}

export const languages: Readonly<Record<string, Language>> = {
  en: { name: "English" },
  de: { name: "Deutsch", load: async () => (await import("./languages/german.ts")).german },
  fr: { name: "Français", load: async () => (await import("./languages/french.ts")).french },
  es: { name: "Español", load: async () => (await import("./languages/spanish.ts")).spanish },
  pt: { name: "Português", load: async () => (await import("./languages/portuguese.ts")).portuguese },
  ja: { name: "日本語", load: async () => (await import("./languages/japanese.ts")).japanese },
};

const key = "tapdeck.language";
const codeOf = (tag: string) => tag.split("-")[0]?.toLowerCase() ?? "";
const chosen = () =>
  [localStorage.getItem(key) ?? "", ...navigator.languages].map(codeOf).find((code) => code in languages) ??
  "en";

/** Loads the language, and shows the page in it. If it cannot be loaded, the page keeps its present language. */
export async function loadLanguage(): Promise<void> {
  const code = chosen();
  const texts = await languages[code]?.load?.();
  // The browser's own tag also names a country, which decides the form of dates.
  speak(texts, navigator.languages.find((tag) => codeOf(tag) === code) ?? code);
  document.documentElement.lang = code;
}

/** The choice of the language; `onChosen` runs after the page is shown in it. */
export function languageChoice(onChosen: () => void): HTMLElement {
  const options = Object.entries(languages).map(([code, { name }]) =>
    el("option", { value: code, lang: code }, name),
  );
  const select = el("select", {}, ...options);
  select.value = chosen();
  const label = el("span", {}, say.language);
  select.addEventListener("change", () => {
    localStorage.setItem(key, select.value);
    void loadLanguage().then(() => {
      label.textContent = say.language;
      onChosen();
    });
  });
  return el("label", {}, label, select);
}
