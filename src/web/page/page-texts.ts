/** The texts of the page in the visitor's language, with numbers, times and dates in its form. */
import { englishTexts, type PageTexts } from "./languages/english.ts";
import type { Numbers } from "./languages/forms.ts";

export let locale = "en";

/** A form of the locale, kept: a slow phone takes some milliseconds to make one, and longer for the first (`number-forms.ts`). */
export function inLocale<Form>(make: (locale: string) => Form): () => Form {
  let kept: { readonly of: string; readonly form: Form } | undefined;
  return () => {
    if (kept?.of !== locale) kept = { of: locale, form: make(locale) };
    return kept.form;
  };
}

const numbers = inLocale((tag) => new Intl.NumberFormat(tag));
const plurals = inLocale((tag) => new Intl.PluralRules(tag));
const number = (value: number) => numbers().format(value);
const counted = (count: number, one: string, many: string) =>
  `${number(count)} ${plurals().select(count) === "one" ? one : many}`;

const inOwnForm: Numbers = { number, counted, moment: (time) => time.toLocaleString(locale) };

/** The texts in the page's language. */
export let say: PageTexts = englishTexts(inOwnForm);

/** Makes `say` a further language; the locale is that of numbers and dates. */
export function speak(texts: ((numbers: Numbers) => PageTexts) | undefined, newLocale: string): void {
  locale = newLocale;
  say = (texts ?? englishTexts)(inOwnForm);
}

/** The reason of a failed launch in short words, or the service's sentence. */
export function reasonOf({
  reason = "",
  error,
}: {
  readonly reason?: string;
  readonly error?: string;
}): string {
  const known = Object.entries(say.reasons).find(([code]) => code === reason);
  return known?.[1] ?? error ?? say.notStarted;
}
