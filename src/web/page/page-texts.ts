/** The texts of the page in the visitor's language, with numbers, times and dates in its form. */
import { RpcError } from "../../client/link.ts";
import { UploadRefused } from "../../client/upload.ts";
import { messageOf } from "../../core/errors.ts";
import { filled, isRecord } from "../../core/text.ts";
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

/** Adds a language to `say`; the locale is that of numbers and dates. */
export function speak(texts: ((numbers: Numbers) => PageTexts) | undefined, newLocale: string): void {
  locale = newLocale;
  say = (texts ?? englishTexts)(inOwnForm);
}

/** An error whose sentence is in the page's language. */
export class PageFault extends Error {
  override readonly name = "PageFault";
}

/** The reason of a failed launch: in short words, or in English the service's sentence, which says more. */
export function reasonOf({
  reason = "",
  error,
}: {
  readonly reason?: string;
  readonly error?: string;
}): string {
  const known = textFor(reason, say.reasons, say.launches ?? {});
  return known ?? (say.launches === undefined ? error : undefined) ?? say.notStarted;
}

/**
 * The sentence for an error. English uses the sentences of the service and of the client, and each other language has its
 * own by code.
 */
export function sentenceOf(error: unknown): string {
  const { refusals, launches = {}, reasons } = say;
  if (error instanceof PageFault || refusals === undefined) return messageOf(error);
  const isAnswer = error instanceof RpcError || error instanceof UploadRefused;
  if (!isAnswer) return say.noAnswer;
  return refusalWords(error.data, refusals, reasons, launches) ?? refusals.failed;
}

/** The words for a refusal of the service, by the codes and facts of `data`. */
export function refusalWords(
  data: unknown,
  ...tables: readonly Readonly<Record<string, string>>[]
): string | undefined {
  if (!isRecord(data)) return undefined;
  const { refusal = "", cause = "", reason = "" } = data;
  const words =
    textFor(refusal, ...tables) ??
    textFor(cause, say.cards.causes) ??
    textFor(cause === "timeout" ? "write-timeout" : reason, ...tables);
  const { pattern, instead: override, label } = say.cards;
  const fields = { pattern, override, label };
  const facts = Object.entries(data).map(([name, value]) => [
    name,
    name === "field" ? (textFor(value, fields) ?? `${value}`) : `${value}`,
  ]);
  return words === undefined ? undefined : filled(words, Object.fromEntries(facts));
}

/** The text of a code in the first table that has it. A code of a later service may be in none. */
export function textFor(
  code: unknown,
  ...tables: readonly Readonly<Record<string, string>>[]
): string | undefined {
  const table = tables.find((one) => Object.hasOwn(one, String(code)));
  return table?.[String(code)];
}
